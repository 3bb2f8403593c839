"""The status of a study folder, step by step."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from unmask.core.errors import ResultError
from unmask.studies.cache import failure_message, is_done, is_partial, load_record
from unmask.studies.run import LOCK, SCHEMA, STUDY


@dataclass(frozen=True, slots=True)
class StepStatus:
    """The state of one step."""

    name: str
    state: Literal["done", "failed", "under way", "interrupted", "waiting"]
    seconds: float | None
    message: str


@dataclass(frozen=True, slots=True)
class StudyStatus:
    """The state of a study folder."""

    study: str
    running: bool
    steps: tuple[StepStatus, ...]

    def count(self, state: str) -> int:
        """The number of steps in this state."""
        return sum(step.state == state for step in self.steps)


def study_status(folder: Path) -> StudyStatus:
    """Read the status of a study folder."""
    meta, running = _meta(folder), _is_locked(folder)
    return StudyStatus(
        meta["study"], running, tuple(_step_status(folder, step, running=running) for step in meta["steps"])
    )


def _meta(folder: Path) -> dict[str, Any]:
    path = folder / STUDY
    if not path.is_file():
        raise ResultError(f"no {STUDY} in {folder}: give a folder that `unmask study` wrote")
    try:
        meta = dict(json.loads(path.read_text(encoding="utf-8")))
    except ValueError as error:
        raise ResultError(f"{path} is not JSON ({error}): run the study again") from error
    if meta.get("schema") != SCHEMA:
        raise ResultError(f"{path} has schema {meta.get('schema')!r}; this unmask reads schema {SCHEMA}")
    return meta


def _step_status(folder: Path, step: dict[str, Any], *, running: bool) -> StepStatus:
    key = step["key"]
    if is_done(folder, key):
        return StepStatus(step["name"], "done", float(load_record(folder, key)["seconds"]), "")
    why = failure_message(folder, key)
    if is_partial(folder, key) and (running or why is None):
        return StepStatus(step["name"], "under way" if running else "interrupted", None, "")
    return StepStatus(step["name"], "failed" if why else "waiting", None, why or "")


def _is_locked(folder: Path) -> bool:
    """Whether a process is running the study now."""
    from filelock import FileLock, Timeout

    try:
        with FileLock(folder / LOCK, timeout=0):
            return False
    except Timeout:
        return True
