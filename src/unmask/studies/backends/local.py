"""Steps one after the other, in this process."""

from __future__ import annotations

from collections.abc import Iterator

from unmask.studies.backends import Job, blocked
from unmask.studies.cache import failure, is_done, perform
from unmask.studies.spec import Event


def run(job: Job) -> Iterator[Event]:
    """Do what is missing; a failed step is told, and the rest goes on."""
    lost: dict[str, str] = {}
    for step in job.steps:
        key = job.keys[step.name]
        if is_done(job.root, key):
            yield Event(step.name, "kept")
            continue
        event = blocked(step, lost)
        if event is None:
            try:
                event = Event(
                    step.name,
                    "done",
                    perform(step, key, job.input_keys(step), job.root, job.place),
                )
            except Exception as error:
                event = Event(step.name, "failed", message=failure(job.root, key) or str(error))
        if event.state in ("failed", "blocked"):
            lost[step.name] = event.message
        yield event
