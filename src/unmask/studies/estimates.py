"""Expected duration of steps: operations from the sizes of data and model, over measured throughput."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from unmask.studies.graph import load_kind
from unmask.studies.sizes import UNKNOWN, weights_per_token
from unmask.studies.spec import Step


@dataclass(frozen=True, slots=True)
class DeviceSpeed:
    """The measured throughput of a device; see `docs/speed.md`."""

    name: str
    ops_per_second: float  # reached by an audit
    load_seconds: float  # for a model of BERT-base's size


CPU = DeviceSpeed("two CPU cores", 204e9, 3.0)
GPU = DeviceSpeed("one H200, fp32", 38e12, 3.0)
FORWARD, TRAINED = 2.0, 6.0  # operations per weight and token


@dataclass(frozen=True, slots=True)
class Duration:
    """Seconds on each device."""

    cpu: float
    gpu: float

    def __add__(self, other: Duration) -> Duration:
        """The duration of both in sequence."""
        return Duration(self.cpu + other.cpu, self.gpu + other.gpu)


def expected_duration(step: Step) -> Duration:
    """The expected duration of a step; a trained model is as large as the one it was trained from."""
    kind = load_kind(step)
    work = kind.estimate_work(step)
    size = max((weights_per_token(model) for model in root_models(step)), default=UNKNOWN)
    operations = size * (FORWARD * work.forward_tokens + TRAINED * work.train_tokens)
    loading = work.models_loaded * size / UNKNOWN if kind.runs_model else 0.0
    seconds = {
        device: operations / device.ops_per_second + loading * device.load_seconds for device in (CPU, GPU)
    }
    return Duration(seconds[CPU], seconds[GPU] if kind.runs_model else seconds[CPU])


def root_models(step: Step) -> Iterable[str]:
    """The external models that a step and its inputs start from."""
    yield from step.models
    for source in step.inputs.values():
        yield from root_models(source)


def total_duration(steps: Iterable[Step], done: Mapping[str, bool]) -> Duration:
    """The expected duration of all unfinished steps in sequence."""
    total = Duration(0.0, 0.0)
    for step in steps:
        if not done[step.name]:
            total += expected_duration(step)
    return total


def format_duration(seconds: float) -> str:
    """A duration in seconds, minutes or hours."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
