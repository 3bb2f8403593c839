"""The nouns of a training: how to train, what one moment of it looks like, what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from unmask.core.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    Batch = Mapping[str, Tensor]
    Collator = Callable[[Sequence[Any], np.random.Generator], Batch]  # draws only from the generator given
    LossFunction = Callable[[Any, Batch], Tensor]  # model and batch; None: the model's own loss


@dataclass(frozen=True, slots=True)
class TrainSettings:
    """How to train; the defaults are those of the published mitigations (Kaneko et al. 2022)."""

    epochs: float = 3.0
    rate: float = 5e-5
    batch: int = 32  # rows on each device at once
    seed: int = 0  # of order, hidden tokens and dropout
    warmup: int = 0  # steps until the rate is reached
    decay: float = 0.0  # of weights
    clip: float = 1.0  # largest norm of a gradient
    save_every: int = 500  # steps between two checkpoints to go on from
    limit: int | None = None  # only the first rows
    steps: int | None = None  # stop after so many, if that is sooner
    accumulate: int = 1  # batches whose gradients make one step
    schedule: Literal["linear", "constant"] = "linear"  # of the rate, after the warm-up
    bf16: bool = False  # products in bfloat16; for GPUs
    epsilon: float = 1e-8  # of Adam
    report_to: str = "none"  # "tensorboard", "wandb", …: where else losses are logged

    def __post_init__(self) -> None:
        """Refuse what cannot be trained with."""
        least = {"epochs": 0.0, "rate": 0.0, "clip": 0.0}
        for name, bound in least.items():
            if not getattr(self, name) > bound:
                raise DataError(f"{name} {getattr(self, name):g}: give a number above {bound:g}")
        counts = {"batch": 1, "save_every": 1, "accumulate": 1, "seed": 0, "warmup": 0}
        counts |= {name: 1 for name in ("limit", "steps") if getattr(self, name) is not None}
        for name, fewest in counts.items():
            if getattr(self, name) < fewest:
                raise DataError(f"{name} {getattr(self, name)}: give a number of at least {fewest}")


@dataclass(frozen=True, slots=True)
class TrainStep:
    """Where a training stands; `loss` is the mean since the last that was told, NaN before the first."""

    step: int
    steps: int
    loss: float


@dataclass(frozen=True, slots=True)
class EvalCallback:
    """Somebody who looks at the model every so many steps; the training does not notice."""

    every: int
    evaluate: Callable[[int, Any], None]  # step and model, in evaluation mode


@dataclass(frozen=True, slots=True)
class TrainResult:
    """What a training took, and how its loss went."""

    steps: int
    rows: int  # different ones
    losses: tuple[tuple[int, float], ...]  # (step, mean loss since the last one told)
    resumed: int = 0  # the step it went on from; 0: it was not interrupted
    facts: Mapping[str, Any] = field(default_factory=dict)  # whatever else the method wants to record


ProgressCallback = Callable[[TrainStep], None]
