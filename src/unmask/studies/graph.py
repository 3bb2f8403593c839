"""Steps in order, and the key of each: a hash of everything its output depends on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

from unmask.core.errors import ResultError
from unmask.studies.identity import IdentityCache
from unmask.studies.spec import Step, StepKind


def topological_order(wanted: Iterable[Step]) -> tuple[Step, ...]:
    """The steps and all they need, each once, inputs first."""
    found: dict[str, Step] = {}

    def visit(step: Step) -> None:
        for one in step.inputs.values():
            visit(one)
        known = found.setdefault(step.name, step)
        if known is not step and known != step:
            raise ResultError(f"two different steps are named {step.name!r}: a plan must name each once")

    for step in wanted:
        visit(step)
    return tuple(found.values())


def load_kind(step: Step) -> StepKind:
    """The task a step names by import path."""
    module, _, name = step.kind.partition(":")
    found = getattr(import_module(module), name, None)
    if not isinstance(found, StepKind):
        raise ResultError(f"{step.name}: {step.kind} is no task")
    return found


def cache_keys(steps: Sequence[Step], identities: IdentityCache) -> dict[str, str]:
    """By step name; `steps` in order. Equal keys mean equal outputs."""
    made: dict[str, str] = {}
    for step in steps:
        made[step.name] = json_digest(
            {
                "task": step.kind,
                "version": load_kind(step).version,
                "parameters": dict(step.parameters),
                "models": [identities.model(one) for one in step.models],
                "data": [identities.data(one) for one in step.data],
                "inputs": {role: made[one.name] for role, one in step.inputs.items()},
            }
        )
    return made


def json_digest(value: Mapping[str, Any]) -> str:
    """Twenty hex digits of a JSON value, the same however its keys are ordered."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:20]
