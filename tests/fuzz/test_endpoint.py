"""If one of these fails, a damaged answer of an endpoint ends in a traceback, or is taken for an answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.fuzz.harness import BUDGET, Boundary, fuzz

from unmask.core.errors import ModelError
from unmask.core.options import Serving
from unmask.models.endpoint import _is_same, _known
from unmask.models.endpoint.client import Client, Refused, parse_address
from unmask.models.endpoint.completions import Completions
from unmask.models.endpoint.contract import Contract
from unmask.models.endpoint.lm import echo_answer

TEXT = "The nurse said so."
TOKENS, VALUES = ["<s>", "The", " nurse", " said", " so", ".", " He"], [None, -2.5, -7.0, -1.0, -3.5, -0.5, -2.0]
TOPS = [None, *({token: -0.25} for token in TOKENS[1:])]
LISTS = {"tokens": TOKENS, "token_logprobs": VALUES, "top_logprobs": TOPS, "text_offset": [0] * 7}
OBJECTS = [{"token": token, "logprob": value, "top_logprobs": []} for token, value in zip(TOKENS, VALUES, strict=True)]


def answer(logprobs: Any) -> dict[str, bytes]:
    choice = {"index": 0, "text": TEXT, "logprobs": logprobs, "finish_reason": "length"}
    return {"answer.json": json.dumps({"object": "text_completion", "model": "m", "choices": [choice]}).encode()}


def read_answer(folder: Path) -> None:
    """Take the bytes as the body of an answer; every log-probability that is accepted is a number."""
    content = (folder / "answer.json").read_bytes()
    log = folder.parent / "requests.jsonl"
    client = Client(parse_address("https://host.example/v1"), Serving(retries=0, request_log=log))
    client._http.close()
    client._http = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200, content=content)))
    try:
        for each in Completions(client, "m").complete([TEXT]):
            found = echo_answer(TEXT, each)
            if isinstance(found, str):
                continue
            assert all(isinstance(token.text, str) for token in found)
            assert all(token.logprob is None or -1000 < token.logprob <= 0 for token in found)
            assert all(token.logprob is not None for token in found[1:])
    except Refused as refused:
        raise ModelError(str(refused)) from None
    finally:
        client.close()


def read_digits(folder: Path) -> None:
    """Whatever is in the list of known digits, it can be compared with."""
    for each in _known(folder / "known.json"):
        _is_same(each, CONTRACT)


CONTRACT = Contract((-1.0, -2.0), ("a", "b"), None, 1, 1, 0.0)
KNOWN = [{"fingerprint": "0123456789abcdef" * 2, "tokens": ["a", "b"], "digits": [-1.0, -2.0]}]
BOUNDARIES = [
    Boundary("answers of an endpoint", lambda: [answer(LISTS), answer({"content": OBJECTS})], read_answer, share=16),
    Boundary("digits of an endpoint", lambda: [{"known.json": json.dumps(KNOWN).encode()}], read_digits, share=8),
]


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda each: each.name)
def test_damaged_input_is_accepted_or_refused(boundary: Boundary) -> None:
    fuzz(boundary, BUDGET)
