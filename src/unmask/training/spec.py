"""The types of a training run: settings, callbacks and the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from unmask.core.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    Batch = Mapping[str, Tensor]
    Collator = Callable[
        [Sequence[Any], np.random.Generator], Batch
    ]  # random choices only from the given generator
    LossFunction = Callable[[Any, Batch], Tensor]  # of model and batch


@dataclass(frozen=True, slots=True)
class TrainSettings:
    """Hyper-parameters; the defaults are those of the published mitigations (Kaneko et al. 2022)."""

    epochs: float = 3.0
    rate: float = 5e-5  # learning rate
    batch: int = 32  # rows per device and batch
    seed: int = 0  # of data order, masking and dropout
    warmup: int = 0  # warm-up steps of the learning rate
    decay: float = 0.0  # weight decay
    clip: float = 1.0  # maximum gradient norm
    save_every: int = 500  # steps between checkpoints
    limit: int | None = None  # train on the first rows only
    steps: int | None = None  # maximum number of steps
    accumulate: int = 1  # gradient accumulation: batches per step
    schedule: Literal["linear", "constant"] = "linear"  # of the learning rate, after warm-up
    bf16: bool = False  # bfloat16 autocast; for GPUs
    epsilon: float = 1e-8  # of Adam
    report_to: str = "none"  # "tensorboard", "wandb", …: where losses are also logged

    def __post_init__(self) -> None:
        """Refuse invalid values."""
        positive = {"epochs": 0.0, "rate": 0.0, "clip": 0.0}
        for name, bound in positive.items():
            if not getattr(self, name) > bound:
                raise DataError(f"{name} {getattr(self, name):g}: give a number above {bound:g}")
        counts = {"batch": 1, "save_every": 1, "accumulate": 1, "seed": 0, "warmup": 0}
        counts |= {name: 1 for name in ("limit", "steps") if getattr(self, name) is not None}
        for name, minimum in counts.items():
            if getattr(self, name) < minimum:
                raise DataError(f"{name} {getattr(self, name)}: give a number of at least {minimum}")


@dataclass(frozen=True, slots=True)
class TrainStep:
    """Progress of a training run; `loss` is the last one logged, NaN before the first."""

    step: int
    steps: int
    loss: float


@dataclass(frozen=True, slots=True)
class EvalCallback:
    """Evaluates the model every so many steps, without affecting the training."""

    every: int
    evaluate: Callable[[int, Any], None]  # step and model, in evaluation mode


@dataclass(frozen=True, slots=True)
class TrainResult:
    """The steps and losses of a finished training run."""

    steps: int
    rows: int  # distinct rows
    losses: tuple[tuple[int, float], ...]  # (step, mean loss since the previous entry)
    resumed: int = 0  # the step it resumed from; 0: not interrupted
    facts: Mapping[str, Any] = field(default_factory=dict)  # other facts the method records


ProgressCallback = Callable[[TrainStep], None]
