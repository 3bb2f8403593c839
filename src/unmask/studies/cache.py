"""The cache of step outputs, `DIR/steps/KEY/`; an output folder appears atomically.

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
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unmask.core.errors import UnmaskError
from unmask.findings.envelope import versions
from unmask.studies.graph import load_kind
from unmask.studies.spec import ParallelMap, Runtime, Step, StepContext

STEPS, RECORD = "steps", "step.json"


def step_folder(root: Path, key: str) -> Path:
    """The output folder of a step."""
    return root / STEPS / key


def is_done(root: Path, key: str) -> bool:
    """Whether the step is finished."""
    return (step_folder(root, key) / RECORD).is_file()


def load_record(root: Path, key: str) -> dict[str, Any]:
    """The `step.json` of a finished step."""
    return dict(json.loads((step_folder(root, key) / RECORD).read_text(encoding="utf-8")))


def failure_message(root: Path, key: str) -> str | None:
    """The error of the step's last attempt; None if it did not fail."""
    path = root / STEPS / f"{key}.failed"
    return path.read_text(encoding="utf-8").splitlines()[0] if path.is_file() else None


def is_partial(root: Path, key: str) -> bool:
    """Whether the step was started and is not finished."""
    return (root / STEPS / f"{key}.partial").is_dir()


def run_step(
    step: Step,
    key: str,
    inputs: Mapping[str, str],
    root: Path,
    runtime: Runtime,
    parallel_map: ParallelMap = map,
) -> float:
    """Run one step unless it is cached; return its seconds. `inputs` are the keys of its input steps."""
    target, partial = step_folder(root, key), root / STEPS / f"{key}.partial"
    if is_done(root, key):
        return float(load_record(root, key)["seconds"])
    kind = load_kind(step)
    if not kind.resumable:
        shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True, exist_ok=True)
    _set_threads(runtime)
    start = time.perf_counter()
    try:
        kind.function(
            StepContext(
                step,
                partial,
                {role: step_folder(root, input_key) for role, input_key in inputs.items()},
                runtime,
                parallel_map,
            )
        )
    except Exception as error:
        message = str(error) if isinstance(error, UnmaskError) else f"{type(error).__name__}: {error}"
        report = "\n".join([" ".join(message.split()), "", traceback.format_exc()])
        (root / STEPS / f"{key}.failed").write_text(report, encoding="utf-8")
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
    (partial / RECORD).write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    _publish(partial, target)
    (root / STEPS / f"{key}.failed").unlink(missing_ok=True)
    return seconds


def _publish(partial: Path, target: Path) -> None:
    """Rename the partial folder; if another process finished the step first, keep its output."""
    try:
        partial.rename(target)
    except OSError:
        if not (target / RECORD).is_file():
            raise
        shutil.rmtree(partial, ignore_errors=True)


def _set_threads(runtime: Runtime) -> None:
    """Fix the thread count, on which the last digits depend."""
    if runtime.threads is not None:
        import torch

        torch.set_num_threads(runtime.threads)
