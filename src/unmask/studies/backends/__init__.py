"""Backends that run steps: sequentially in this process, or as Ray tasks on one or more machines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from unmask.studies.cache import failure_message, is_done, run_step
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


def run_locally(batch: StepBatch) -> Iterator[StepEvent]:
    """Run the missing steps in this process; a failed step yields an event and the rest continues."""
    failed: dict[str, str] = {}
    for step in batch.steps:
        key = batch.keys[step.name]
        if is_done(batch.root, key):
            yield StepEvent(step.name, "cached")
            continue
        event = skipped_event(step, failed)
        if event is None:
            try:
                seconds = run_step(step, key, batch.input_keys(step), batch.root, batch.runtime)
                event = StepEvent(step.name, "done", seconds)
            except Exception as error:
                event = StepEvent(step.name, "failed", message=failure_message(batch.root, key) or str(error))
        if event.state != "done":
            failed[step.name] = event.message
        yield event


def skipped_event(step: Step, failed: Mapping[str, str]) -> StepEvent | None:
    """The event of a step whose input failed; None if all its inputs are finished."""
    missing = [source.name for source in step.inputs.values() if source.name in failed]
    message = f"needs {missing[0]}, which is not finished" if missing else ""
    return StepEvent(step.name, "skipped", message=message) if missing else None
