"""Language models that are served over HTTP: OpenAI-compatible completions with log-probabilities of the prompt.

client (address, retries, rate limits, request log) ──► completions ──► contract check ──► `EndpointLm`

A server that does not answer what was asked is refused before anything is measured (`endpoint.contract`). Answers are
kept in the same store as readings, by text, so that nothing is asked twice but to compare the answers.

The fingerprint is a hash of address, name, and the log-probabilities of the known prompts. Servers do not repeat all
digits, so a list in the cache says which digits have which fingerprint: those within `SAME_MODEL` are the same model.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path, PurePath
from typing import Any

from unmask.core.errors import ModelError, quote
from unmask.core.files import cache_dir, make_folder, write_json
from unmask.core.options import Opening, Serving
from unmask.models.endpoint.client import Address, Client, Refused, parse_address
from unmask.models.endpoint.completions import Completions
from unmask.models.endpoint.contract import Contract, check_contract
from unmask.models.endpoint.lm import BEGIN, EndpointLm
from unmask.models.lm import SERVED, ModelFacts

SAME_MODEL = 0.02  # nats
_FINGERPRINT = re.compile("[0-9a-f]{32}")
REMEMBERED = 20  # models that were behind one name


def open_endpoint(url: str, how: Opening, serving: Serving) -> EndpointLm:
    """Open the model behind an endpoint; ModelError with the reason if its answers cannot be used."""
    if how.kind == "masked":
        raise ModelError(f"{quote(url)} is an endpoint, which serves causal models: leave out the kind")
    if how.dtype != "fp32" or how.device is not None or how.tf32:
        raise ModelError(f"{quote(url)} is an endpoint, which computes as it likes: leave out dtype, device and tf32")
    address = parse_address(url, offline=how.offline, allow_http=serving.allow_http)
    client = Client(address, serving)
    try:
        server = Completions(client, serving.served_model or _only_model(client))
        contract = check_contract(server)
        server.batch = contract.batch
        fingerprint = _fingerprint(address, server.model, contract)
    except BaseException:
        client.close()
        raise
    facts = _facts(address, server.model, contract, fingerprint)
    namespace = f"endpoint-{fingerprint}"
    begin = None if contract.begin is None else BEGIN
    return EndpointLm(server, contract, facts=facts, namespace=namespace, begin=begin, start=BEGIN)


def _facts(address: Address, model: str, contract: Contract, fingerprint: str) -> ModelFacts:
    if contract.begin is None:
        begin_rule = "the server scores no first token: it is context only"
    elif contract.begin:
        begin_rule = f"the server puts {contract.begin} in front of every sentence"
    else:
        begin_rule = "the server puts a token in front of every sentence, which it does not show"
    return ModelFacts(
        id=PurePath(model).name if model.startswith(("/", "\\")) else model,  # the server's own file
        revision=None,
        kind="causal",
        architecture="endpoint",
        parameters=None,
        fingerprint=fingerprint,
        dtype=SERVED,
        device=address.host,
        max_length=10**9,
        begin_rule=begin_rule,
        built_in=False,
        warnings=("read through an endpoint: which weights it serves, and in which precision, is not known",),
        origin={"endpoint": address.url, "contract": contract.detail()},
    )


def _only_model(client: Client) -> str:
    """The model of a server that has one."""
    try:
        listed = client.ask("/models")
    except (Refused, ModelError) as error:
        raise ModelError(f"{client.address.url} does not list its models ({error}): name one by served_model") from None
    rows = listed.get("data") if isinstance(listed, dict) else None
    names = [row.get("id") for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    found = [name for name in names if isinstance(name, str)]
    if len(found) != 1:
        some = f"{len(found)} models ({quote(', '.join(found[:8]))})" if found else "no list of models"
        raise ModelError(f"{client.address.url} has {some}: name one by served_model")
    return found[0]


def _fingerprint(address: Address, model: str, contract: Contract) -> str:
    """The fingerprint of the digits nearest to these, or a new one."""
    name = hashlib.sha256(f"{address.url}\0{model}".encode()).hexdigest()
    path = cache_dir() / "endpoints" / f"{name[:32]}.json"
    known = _known(path)
    for model_seen in known:
        if _is_same(model_seen, contract):
            return str(model_seen["fingerprint"])
    rounded = [f"{digit:.2f}" for digit in contract.digits]
    content = json.dumps([address.url, model, rounded, contract.tokens])
    fingerprint = hashlib.sha256(content.encode()).hexdigest()[:32]
    new = {"fingerprint": fingerprint, "tokens": list(contract.tokens), "digits": list(contract.digits)}
    make_folder(path.parent)
    write_json(path, [new, *known][:REMEMBERED])
    return fingerprint


def _known(path: Path) -> list[dict[str, Any]]:
    """The models seen behind one name; none if the file is missing or damaged."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return [row for row in rows if _FINGERPRINT.fullmatch(row["fingerprint"]) and _is_digits(row["digits"])]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []


def _is_digits(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, float) for value in values)


def _is_same(known: dict[str, Any], contract: Contract) -> bool:
    """Whether these are the tokens and digits of a model that was seen before."""
    digits = known["digits"]
    if known.get("tokens") != list(contract.tokens) or len(digits) != len(contract.digits):
        return False
    return all(abs(a - b) <= SAME_MODEL for a, b in zip(digits, contract.digits, strict=True))
