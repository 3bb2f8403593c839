"""Where a study stands: every step of its folder, done or not."""

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
    """One step of a study's folder."""

    name: str
    state: Literal["done", "failed", "under way", "interrupted", "waiting"]
    seconds: float | None
    message: str


@dataclass(frozen=True, slots=True)
class StudyStatus:
    """A whole folder."""

    study: str
    running: bool
    steps: tuple[StepStatus, ...]

    def count(self, state: str) -> int:
        """How many steps are in a state."""
        return sum(one.state == state for one in self.steps)


def study_status(folder: Path) -> StudyStatus:
    """What a study's folder says."""
    meta, running = _meta(folder), _held(folder)
    return StudyStatus(
        meta["study"], running, tuple(_standing(folder, one, running=running) for one in meta["steps"])
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


def _standing(folder: Path, step: dict[str, Any], *, running: bool) -> StepStatus:
    key = step["key"]
    if is_done(folder, key):
        return StepStatus(step["name"], "done", float(load_record(folder, key)["seconds"]), "")
    why = failure_message(folder, key)
    if is_partial(folder, key) and (running or why is None):
        return StepStatus(step["name"], "under way" if running else "interrupted", None, "")
    return StepStatus(step["name"], "failed" if why else "waiting", None, why or "")


def _held(folder: Path) -> bool:
    """Is somebody running it now?"""
    from filelock import FileLock, Timeout

    try:
        with FileLock(folder / LOCK, timeout=0):
            return False
    except Timeout:
        return True
