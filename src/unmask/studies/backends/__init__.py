"""Backends that run steps: sequentially in this process, or as Ray tasks on one or more machines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from unmask.studies.spec import Runtime, Step, StepEvent

Backend = Callable[["StepBatch"], Iterator[StepEvent]]


@dataclass(frozen=True, slots=True)
class StepBatch:
    """Steps to run in topological order, and where."""

    steps: Sequence[Step]
    keys: Mapping[str, str]
    root: Path
    runtime: Runtime

    def input_keys(self, step: Step) -> dict[str, str]:
        """The cache keys of a step's inputs, by role."""
        return {role: self.keys[source.name] for role, source in step.inputs.items()}


def blocked_event(step: Step, failed: Mapping[str, str]) -> StepEvent | None:
    """The event of a step whose input failed; None if all its inputs are finished."""
    missing = [source.name for source in step.inputs.values() if source.name in failed]
    return (
        StepEvent(step.name, "blocked", message=f"needs {missing[0]}, which is not finished")
        if missing
        else None
    )
