"""The step graph: topological order, and a cache key per step over everything its output depends on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

from unmask.core.errors import ResultError
from unmask.studies.identity import IdentityCache
from unmask.studies.spec import Step, StepKind


def topological_order(targets: Iterable[Step]) -> tuple[Step, ...]:
    """The steps and all their inputs, each once, inputs first."""
    by_name: dict[str, Step] = {}

    def visit(step: Step) -> None:
        for source in step.inputs.values():
            visit(source)
        known = by_name.setdefault(step.name, step)
        if known is not step and known != step:
            raise ResultError(f"two different steps are named {step.name!r}: step names must be unique")

    for step in targets:
        visit(step)
    return tuple(by_name.values())


def load_kind(step: Step) -> StepKind:
    """Import the step kind a step names."""
    module, _, name = step.kind.partition(":")
    kind = getattr(import_module(module), name, None)
    if not isinstance(kind, StepKind):
        raise ResultError(f"{step.name}: {step.kind} is not a StepKind")
    return kind


def cache_keys(steps: Sequence[Step], identities: IdentityCache) -> dict[str, str]:
    """Cache keys by step name; `steps` in topological order. Equal keys mean equal outputs."""
    keys: dict[str, str] = {}
    for step in steps:
        keys[step.name] = json_digest(
            {
                "task": step.kind,
                "version": load_kind(step).version,
                "parameters": dict(step.parameters),
                "models": [identities.model(model) for model in step.models],
                "data": [identities.data(name) for name in step.data],
                "inputs": {role: keys[source.name] for role, source in step.inputs.items()},
            }
        )
    return keys


def json_digest(value: Mapping[str, Any]) -> str:
    """The first 20 hex digits of the SHA-256 of a JSON value, whatever the order of its keys."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:20]
