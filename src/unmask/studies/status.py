"""Where a study stands: every step of its folder, done or not."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from unmask.core.errors import ResultError
from unmask.studies.cache import about, failure, is_done, under_way
from unmask.studies.run import LOCK, SCHEMA, STUDY


@dataclass(frozen=True, slots=True)
class Standing:
    """One step of a study's folder."""

    name: str
    state: Literal["done", "failed", "under way", "interrupted", "waiting"]
    seconds: float | None
    message: str


@dataclass(frozen=True, slots=True)
class Progress:
    """A whole folder."""

    study: str
    running: bool
    steps: tuple[Standing, ...]

    def count(self, state: str) -> int:
        """How many steps are in a state."""
        return sum(one.state == state for one in self.steps)


def progress(folder: Path) -> Progress:
    """What a study's folder says."""
    meta, running = _meta(folder), _held(folder)
    return Progress(
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


def _standing(folder: Path, step: dict[str, Any], *, running: bool) -> Standing:
    key = step["key"]
    if is_done(folder, key):
        return Standing(step["name"], "done", float(about(folder, key)["seconds"]), "")
    why = failure(folder, key)
    if under_way(folder, key) and (running or why is None):
        return Standing(step["name"], "under way" if running else "interrupted", None, "")
    return Standing(step["name"], "failed" if why else "waiting", None, why or "")


def _held(folder: Path) -> bool:
    """Is somebody running it now?"""
    from filelock import FileLock, Timeout

    try:
        with FileLock(folder / LOCK, timeout=0):
            return False
    except Timeout:
        return True
