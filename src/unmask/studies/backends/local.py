"""Run steps sequentially in this process."""

from __future__ import annotations

from collections.abc import Iterator

from unmask.studies.backends import StepBatch, blocked_event
from unmask.studies.cache import failure_message, is_done, run_step
from unmask.studies.spec import StepEvent


def run(batch: StepBatch) -> Iterator[StepEvent]:
    """Run the missing steps; a failed step yields an event and the rest continues."""
    failed: dict[str, str] = {}
    for step in batch.steps:
        key = batch.keys[step.name]
        if is_done(batch.root, key):
            yield StepEvent(step.name, "kept")
            continue
        event = blocked_event(step, failed)
        if event is None:
            try:
                event = StepEvent(
                    step.name,
                    "done",
                    run_step(step, key, batch.input_keys(step), batch.root, batch.runtime),
                )
            except Exception as error:
                event = StepEvent(step.name, "failed", message=failure_message(batch.root, key) or str(error))
        if event.state in ("failed", "blocked"):
            failed[step.name] = event.message
        yield event
