"""Where a result comes from: the command that repeats it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from unmask.audit.result import AuditResult
from unmask.core.request import Request


def repeat_command(result: AuditResult) -> str:
    """The command that repeats an audit, with the revision of the model that was measured.

    It is made of the request. Objects of Python have no names in it: those of the facts stand there, folders and
    files by their names, because a result records no paths.
    """
    request = result.request or Request("audit", options={"data": None, "measures": list(result.measures())})
    options = dict(request.options)
    if not _is_named(options.get("data", "")):
        options["data"] = [_data(card) for card in result.meta.get("data") or ()]
    return replace(request, on={"model": _model(result.meta.get("model") or {})}, options=options).command_line()


def _is_named(value: Any) -> bool:
    return value is not None and not (isinstance(value, list) and None in value)


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
