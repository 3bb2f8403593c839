"""The cache of step outputs, `DIR/steps/KEY/`, and the status of a study folder; outputs appear atomically.

DIR/study.json          the options, and every step with its key
DIR/steps/KEY/          the output of a finished step, with `step.json`
DIR/steps/KEY.partial/  a running or interrupted step
DIR/steps/KEY.failed    the error of a failed step
"""

from __future__ import annotations

import shutil
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from unmask.core.boundary import read_json, read_text, validate
from unmask.core.errors import OutputError, ResultError, UnmaskError, quote
from unmask.core.files import lock_folder, make_folder, write_json, write_text, writing
from unmask.findings.envelope import versions
from unmask.studies.graph import load_kind, step_content
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
    path = step_folder(root, key) / RECORD
    return validate(FinishedStep, read_json(path, ResultError), str(path), ResultError)["seconds"]


def failure_message(root: Path, key: str) -> str | None:
    """The error of the step's last attempt; None if it did not fail."""
    path = root / STEPS / f"{key}.failed"
    return next(iter(read_text(path, ResultError).splitlines()), "") if path.is_file() else None


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
    make_folder(partial)
    start = time.perf_counter()
    folders = {role: step_folder(root, input_key) for role, input_key in inputs.items()}
    try:
        with _threads(runtime.threads):
            kind.function(StepContext(step, partial, folders, runtime, parallel_map))
    except Exception as error:
        message = str(error) if isinstance(error, UnmaskError) else f"{type(error).__name__}: {error}"
        frames = traceback.extract_tb(error.__traceback__)
        lines = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]
        write_text(failed, "\n".join([" ".join(runtime.without_paths(message).split()), "", *lines]))
        raise
    seconds = time.perf_counter() - start
    facts = {"name": step.name, "seconds": seconds, "threads": runtime.threads, "versions": versions()}
    write_json(partial / RECORD, {**step_content(step, step.models, step.data, inputs), **facts})
    with writing(step_folder(root, key)):
        try:
            partial.rename(step_folder(root, key))
        except OSError:  # another process finished the step first: keep its output
            if not is_done(root, key):
                raise
            shutil.rmtree(partial, ignore_errors=True)
        failed.unlink(missing_ok=True)
    return seconds


@contextmanager
def _threads(count: int | None) -> Iterator[None]:
    """Let torch compute with so many threads, on which the last digits depend, and afterwards as before."""
    if count is None:
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


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
    plan, running = read_plan(folder), True
    with suppress(OutputError), lock_folder(folder):
        running = False
    steps = (_step_status(folder, step, running=running) for step in plan["steps"])
    return StudyStatus(plan["study"], running, tuple(steps))


class FinishedStep(TypedDict):
    """What the status reads of `step.json`."""

    seconds: float


class PlannedStep(TypedDict):
    """A step as `study.json` names it."""

    name: str
    key: Annotated[str, Field(pattern=r"^\w+$")]


class PlannedStudy(TypedDict):
    """What the status reads of `study.json`."""

    study: str
    steps: list[PlannedStep]


def read_plan(folder: Path) -> PlannedStudy:
    """The content of `study.json`."""
    path = folder / STUDY
    if not path.is_file():
        raise ResultError(f"no {STUDY} in {folder}: give a folder that `unmask study` wrote")
    plan = read_json(path, ResultError)
    if isinstance(plan, dict) and plan.get("schema") != SCHEMA:
        raise ResultError(f"{path} has schema {quote(plan.get('schema'))}; this unmask reads schema {SCHEMA}")
    return validate(PlannedStudy, plan, str(path), ResultError)


def _step_status(folder: Path, step: PlannedStep, *, running: bool) -> StepStatus:
    name, key = step["name"], step["key"]
    if is_done(folder, key):
        return StepStatus(name, "done", step_seconds(folder, key), "")
    why = failure_message(folder, key)
    if (folder / STEPS / f"{key}.partial").is_dir() and (running or why is None):
        return StepStatus(name, "under way" if running else "interrupted", None, "")
    return StepStatus(name, "waiting" if why is None else "failed", None, why or "")


def own_files(folder: Path) -> tuple[str, ...]:
    """The names that an unfinished study has in its folder; none if its `study.json` is not one."""
    try:
        read_plan(folder)
    except ResultError:
        return ()
    return STUDY, STEPS, LOCK
