"""The cache of step outputs, `DIR/steps/KEY/`, and the status of a study folder; outputs appear atomically.

DIR/study.json          the options, and every step with its key
DIR/steps/KEY/          the output of a finished step, with `step.json`
DIR/steps/KEY.partial/  a running or interrupted step
DIR/steps/KEY.failed    the error of a failed step
"""

from __future__ import annotations

import json
import shutil
import socket
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from unmask.core.errors import ResultError, UnmaskError
from unmask.core.files import write_json, write_text
from unmask.findings.envelope import versions
from unmask.studies.graph import load_kind
from unmask.studies.spec import ParallelMap, Runtime, Step, StepContext

SCHEMA, STUDY, LOCK = 1, "study.json", "study.lock"
STEPS, RECORD = "steps", "step.json"


def step_folder(root: Path, key: str) -> Path:
    """The output folder of a step."""
    return root / STEPS / key


def is_done(root: Path, key: str) -> bool:
    """Whether the step is finished."""
    return (step_folder(root, key) / RECORD).is_file()


def step_seconds(root: Path, key: str) -> float:
    """How long a finished step took."""
    return float(json.loads((step_folder(root, key) / RECORD).read_text(encoding="utf-8"))["seconds"])


def failure_message(root: Path, key: str) -> str | None:
    """The error of the step's last attempt; None if it did not fail."""
    path = root / STEPS / f"{key}.failed"
    return path.read_text(encoding="utf-8").splitlines()[0] if path.is_file() else None


def run_step(
    step: Step, key: str, inputs: Mapping[str, str], root: Path, runtime: Runtime, parallel_map: ParallelMap = map
) -> float:
    """Run one step unless it is cached; return its seconds. `inputs` are the keys of its input steps."""
    partial, failed = (root / STEPS / f"{key}.{state}" for state in ("partial", "failed"))
    if is_done(root, key):
        return step_seconds(root, key)
    kind = load_kind(step)
    if not kind.resumable:
        shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True, exist_ok=True)
    if runtime.threads is not None:  # the last digits depend on it
        import torch

        torch.set_num_threads(runtime.threads)
    start = time.perf_counter()
    folders = {role: step_folder(root, input_key) for role, input_key in inputs.items()}
    try:
        kind.function(StepContext(step, partial, folders, runtime, parallel_map))
    except Exception as error:
        message = str(error) if isinstance(error, UnmaskError) else f"{type(error).__name__}: {error}"
        write_text(failed, "\n".join([" ".join(message.split()), "", traceback.format_exc()]))
        raise
    seconds = time.perf_counter() - start
    record = {
        "name": step.name,
        "task": step.kind,
        "version": kind.version,
        "parameters": dict(step.parameters),
        "models": list(step.models),
        "data": list(step.data),
        "inputs": dict(inputs),
        "seconds": seconds,
        "threads": runtime.threads,
        "host": socket.gethostname(),
        "versions": versions(),
    }
    write_json(partial / RECORD, record)
    try:
        partial.rename(step_folder(root, key))
    except OSError:  # another process finished the step first: keep its output
        if not is_done(root, key):
            raise
        shutil.rmtree(partial, ignore_errors=True)
    failed.unlink(missing_ok=True)
    return seconds


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


def study_status(folder: Path) -> StudyStatus:
    """Read the status of a study folder."""
    path = folder / STUDY
    if not path.is_file():
        raise ResultError(f"no {STUDY} in {folder}: give a folder that `unmask study` wrote")
    try:
        meta = dict(json.loads(path.read_text(encoding="utf-8")))
    except ValueError as error:
        raise ResultError(f"{path} is not JSON ({error}): run the study again") from error
    if meta.get("schema") != SCHEMA:
        raise ResultError(f"{path} has schema {meta.get('schema')!r}; this unmask reads schema {SCHEMA}")
    running = True
    try:
        with lock(folder):
            running = False
    except ResultError:
        pass
    steps = (_step_status(folder, step, running=running) for step in meta["steps"])
    return StudyStatus(meta["study"], running, tuple(steps))


def _step_status(folder: Path, step: dict[str, Any], *, running: bool) -> StepStatus:
    name, key = step["name"], step["key"]
    if is_done(folder, key):
        return StepStatus(name, "done", step_seconds(folder, key), "")
    why = failure_message(folder, key)
    if (folder / STEPS / f"{key}.partial").is_dir() and (running or why is None):
        return StepStatus(name, "under way" if running else "interrupted", None, "")
    return StepStatus(name, "failed" if why else "waiting", None, why or "")


@contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Lock the folder against a second run; the lock is released even if the process is killed."""
    from filelock import FileLock, Timeout

    try:
        with FileLock(folder / LOCK, timeout=0):
            yield
    except Timeout as error:
        raise ResultError(f"{folder} is in use by another run of this study: wait for it to end") from error
