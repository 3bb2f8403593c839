"""Where outputs lie: `DIR/steps/KEY/`, written whole or not at all.

DIR/study.json          what was asked, and every step with its key
DIR/steps/KEY/          the output of a step, with `step.json` beside it
DIR/steps/KEY.partial/  a step under way, or one that was interrupted
DIR/steps/KEY.failed    why a step failed
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

from unmask.audit.plan import versions
from unmask.core.errors import UnmaskError
from unmask.studies.graph import load_kind
from unmask.studies.spec import ParallelMap, Runtime, Step, StepContext

STEPS, RECORD = "steps", "step.json"


def step_folder(root: Path, key: str) -> Path:
    """The folder of a step's output."""
    return root / STEPS / key


def is_done(root: Path, key: str) -> bool:
    """Is the output there?"""
    return (step_folder(root, key) / RECORD).is_file()


def load_record(root: Path, key: str) -> dict[str, Any]:
    """What a done step recorded of itself."""
    return dict(json.loads((step_folder(root, key) / RECORD).read_text(encoding="utf-8")))


def failure_message(root: Path, key: str) -> str | None:
    """Why the step failed when it was last tried; None where it did not."""
    path = root / STEPS / f"{key}.failed"
    return path.read_text(encoding="utf-8").splitlines()[0] if path.is_file() else None


def is_partial(root: Path, key: str) -> bool:
    """Was it begun and not ended?"""
    return (root / STEPS / f"{key}.partial").is_dir()


def run_step(
    step: Step,
    key: str,
    inputs: Mapping[str, str],
    root: Path,
    runtime: Runtime,
    parallel_map: ParallelMap = map,
) -> float:
    """Do one step unless its output is there; its seconds. `inputs` are the keys of the steps it reads."""
    target, partial = step_folder(root, key), root / STEPS / f"{key}.partial"
    if is_done(root, key):
        return float(load_record(root, key)["seconds"])
    kind = load_kind(step)
    if not kind.resumable:
        shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True, exist_ok=True)
    _set_threads(runtime)
    began = time.perf_counter()
    try:
        kind.function(
            StepContext(
                step,
                partial,
                {role: step_folder(root, one) for role, one in inputs.items()},
                runtime,
                parallel_map,
            )
        )
    except Exception as error:
        told = str(error) if isinstance(error, UnmaskError) else f"{type(error).__name__}: {error}"
        whole = "\n".join([" ".join(told.split()), "", traceback.format_exc()])
        (root / STEPS / f"{key}.failed").write_text(whole, encoding="utf-8")
        raise
    seconds = time.perf_counter() - began
    facts = {
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
    (partial / RECORD).write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    _put(partial, target)
    (root / STEPS / f"{key}.failed").unlink(missing_ok=True)
    return seconds


def _put(partial: Path, target: Path) -> None:
    """Give the output its name; where somebody else was quicker, theirs stays."""
    try:
        partial.rename(target)
    except OSError:
        if not (target / RECORD).is_file():
            raise
        shutil.rmtree(partial, ignore_errors=True)


def _set_threads(runtime: Runtime) -> None:
    """The same number of threads everywhere, so that the same digits come out everywhere."""
    if runtime.threads is not None:
        import torch

        torch.set_num_threads(runtime.threads)
