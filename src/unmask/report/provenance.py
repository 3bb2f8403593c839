"""Where a result comes from: the command that repeats it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from unmask.audit.command import COMMAND
from unmask.audit.result import AuditResult


def repeat_command(result: AuditResult) -> str:
    """The command that repeats an audit, with the revision of the model that was measured.

    It is the one recorded. A result of objects of Python has none: the command is made of its
    facts, folders and files by their names, because a result records no paths.
    """
    model = result.meta.get("model") or {}
    recorded = (result.meta.get("details") or {}).get(COMMAND)
    if not recorded:
        return _from_facts(result)
    words = shlex.split(str(recorded))
    return shlex.join([_model(model) if word == model.get("id") else word for word in words])


def _from_facts(result: AuditResult) -> str:
    model, options = result.meta.get("model") or {}, result.meta.get("options") or {}
    words = ["unmask", "audit", _model(model)]
    words += ["--data", *(_data(card) for card in result.meta.get("data") or ())]
    measures = options.get("measures") or result.measures()
    words += ["--measure", *map(str, measures)] if measures else []
    words += [part for name in ("limit", "tokens") if options.get(name) for part in (f"--{name}", str(options[name]))]
    words += ["--seed", str(options["seed"])] if options.get("seed") else []
    words += ["--dtype", str(model["dtype"])] if model.get("dtype", "fp32") in ("bf16", "fp16") else []
    words += ["--independent"] if options.get("independent") else []
    return shlex.join(words)


def names_files(result: AuditResult) -> bool:
    """Whether the command names a folder or a file of the user."""
    model = result.meta.get("model") or {}
    local = not (model.get("revision") or model.get("built_in"))
    return local or any(card.get("verified") is None for card in result.meta.get("data") or ())


def _data(card: Mapping[str, Any]) -> str:
    """The name of a dataset, or of the user's file."""
    own = card.get("verified", True) is None and card.get("source")
    return str(card["source"] if own else card.get("name"))


def _model(facts: Mapping[str, Any]) -> str:
    name, revision = str(facts.get("id", "MODEL")), facts.get("revision")
    return f"{name}@{revision}" if revision else name
