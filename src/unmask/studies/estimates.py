"""How long steps will take: operations by the size of data and model, over the rates that were measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from unmask.studies.graph import load_kind
from unmask.studies.sizes import UNKNOWN, weights_per_token
from unmask.studies.spec import Step


@dataclass(frozen=True, slots=True)
class DeviceSpeed:
    """What a machine was measured to do; `docs/speed.md` says how."""

    name: str
    ops_per_second: float  # operations a second reached by an audit
    load_seconds: float  # seconds to open a model of BERT-base's size


CPU = DeviceSpeed("two CPU cores", 204e9, 3.0)
GPU = DeviceSpeed("one H200, fp32", 38e12, 3.0)
FORWARD, TRAINED = 2.0, 6.0  # operations for a weight and a token


@dataclass(frozen=True, slots=True)
class Duration:
    """Seconds on either device."""

    cpu: float
    gpu: float

    def __add__(self, other: Duration) -> Duration:
        """Both, one after the other."""
        return Duration(self.cpu + other.cpu, self.gpu + other.gpu)


def expected_duration(step: Step) -> Duration:
    """Of one step; a model another step makes is as large as the one it was made from."""
    kind = load_kind(step)
    work = kind.estimate_work(step)
    size = max((weights_per_token(one) for one in root_models(step)), default=UNKNOWN)
    operations = size * (FORWARD * work.forward_tokens + TRAINED * work.train_tokens)
    opening = work.models_loaded * size / UNKNOWN if kind.runs_model else 0.0
    on = {device: operations / device.ops_per_second + opening * device.load_seconds for device in (CPU, GPU)}
    return Duration(on[CPU], on[GPU] if kind.runs_model else on[CPU])


def root_models(step: Step) -> Iterable[str]:
    """The models from outside that a step begins with."""
    yield from step.models
    for one in step.inputs.values():
        yield from root_models(one)


def total_duration(steps: Iterable[Step], done: Mapping[str, bool]) -> Duration:
    """Of all steps that are not done, one after the other."""
    whole = Duration(0.0, 0.0)
    for step in steps:
        if not done[step.name]:
            whole += expected_duration(step)
    return whole


def format_duration(seconds: float) -> str:
    """A duration for reading."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
