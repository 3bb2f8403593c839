"""How long steps will take: operations by the size of data and model, over the rates that were measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from unmask.studies.graph import task_of
from unmask.studies.sizes import UNKNOWN, weights
from unmask.studies.spec import Step


@dataclass(frozen=True, slots=True)
class Device:
    """What a machine was measured to do; `docs/speed.md` says how."""

    name: str
    rate: float  # operations a second reached by an audit
    opening: float  # seconds to open a model of BERT-base's size


CPU = Device("two CPU cores", 204e9, 3.0)
GPU = Device("one H200, fp32", 38e12, 3.0)
FORWARD, TRAINED = 2.0, 6.0  # operations for a weight and a token


@dataclass(frozen=True, slots=True)
class Expected:
    """Seconds on either device."""

    cpu: float
    gpu: float

    def __add__(self, other: Expected) -> Expected:
        """Both, one after the other."""
        return Expected(self.cpu + other.cpu, self.gpu + other.gpu)


def expected(step: Step) -> Expected:
    """Of one step; a model another step makes is as large as the one it was made from."""
    task = task_of(step)
    work = task.work(step)
    size = max((weights(one) for one in roots(step)), default=UNKNOWN)
    operations = size * (FORWARD * work.forward + TRAINED * work.trained)
    opening = work.models * size / UNKNOWN if task.network else 0.0
    on = {device: operations / device.rate + opening * device.opening for device in (CPU, GPU)}
    return Expected(on[CPU], on[GPU] if task.network else on[CPU])


def roots(step: Step) -> Iterable[str]:
    """The models from outside that a step begins with."""
    yield from step.models
    for one in step.inputs.values():
        yield from roots(one)


def total(steps: Iterable[Step], done: Mapping[str, bool]) -> Expected:
    """Of all steps that are not done, one after the other."""
    whole = Expected(0.0, 0.0)
    for step in steps:
        if not done[step.name]:
            whole += expected(step)
    return whole


def spoken(seconds: float) -> str:
    """A duration for reading."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
