"""Ways to do steps: one after the other in this process, or as Ray tasks on one or many machines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from unmask.studies.spec import Runtime, Step, StepEvent

Backend = Callable[["StepBatch"], Iterator[StepEvent]]


@dataclass(frozen=True, slots=True)
class StepBatch:
    """Steps to do, inputs first, and where."""

    steps: Sequence[Step]
    keys: Mapping[str, str]
    root: Path
    runtime: Runtime

    def input_keys(self, step: Step) -> dict[str, str]:
        """The keys of the steps it reads, by role."""
        return {role: self.keys[one.name] for role, one in step.inputs.items()}


def blocked_event(step: Step, lost: Mapping[str, str]) -> StepEvent | None:
    """The event of a step whose input failed; None where all it reads is there."""
    gone = [one.name for one in step.inputs.values() if one.name in lost]
    return StepEvent(step.name, "blocked", message=f"needs {gone[0]}, which is not done") if gone else None
