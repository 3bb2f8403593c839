"""The types of a training run: settings, callbacks and the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self

from unmask.core.errors import DataError
from unmask.core.options import MAX_SEED, OptionGroup, common, option

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    Batch = Mapping[str, Tensor]
    # a collator makes random choices only from the given generator
    Collator = Callable[[Sequence[Any], np.random.Generator], Batch]
    LossFunction = Callable[[Any, Batch], Tensor]  # of model and batch
    PredictionCount = Callable[[Batch], int]  # how many predictions the loss of a batch is the mean of

# the options of everything that trains
BF16_HELP, BF16_DEFAULT = "Train in bfloat16 autocast; the weights stay in fp32.", "where the GPU has it"

PRECISIONS = {False: "fp32", True: "bf16 autocast"}  # what a result calls them


def uses_bf16(asked: bool | None, device: Any) -> bool:
    """Whether a device trains in bfloat16 autocast: as asked, else where it is a GPU that has the format."""
    import torch

    has = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    if asked and not has:
        raise DataError(
            f"bf16 was asked for, but {device} does not compute in bfloat16: train on another, or without it"
        )
    return has if asked is None else asked


@dataclass(frozen=True)
class TrainSettings(OptionGroup):
    """Hyper-parameters; the defaults are those of the published mitigations (Kaneko et al. 2022)."""

    epochs: float = option(3.0, "Number of epochs.")
    lr: float = option(5e-5, "Initial learning rate; it decays to zero.")
    batch: int = option(32, "Batch size per device.", least=1)
    seed: int = option(0, "Random seed (data order, masking, dropout, samples).", least=0, most=MAX_SEED)
    warmup: int = option(0, least=0)  # warm-up steps of the learning rate
    decay: float = 0.0  # weight decay
    clip: float = 1.0  # maximum gradient norm
    save_every: int = common(500, "Steps between checkpoints to resume from.", least=1)
    steps: int | None = option(None, least=1)  # maximum number of steps
    accumulate: int = option(1, least=1)  # gradient accumulation: batches per step
    schedule: Literal["linear", "constant"] = "linear"  # of the learning rate, after warm-up
    bf16: bool | None = common(None, BF16_HELP, flag="--bf16/--no-bf16", shown=BF16_DEFAULT)
    epsilon: float = 1e-8  # of Adam
    report_to: str = common("none", "Log the training loss to tensorboard, wandb, …")

    def __post_init__(self) -> None:
        """Refuse invalid values."""
        super().__post_init__()
        for name in ("epochs", "lr", "clip"):
            if not getattr(self, name) > 0:
                raise DataError(f"{name} is {getattr(self, name):g}, expected a number above 0")

    def for_device(self, device: Any) -> Self:
        """These settings with the precision that a device trains in."""
        return replace(self, bf16=uses_bf16(self.bf16, device))


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
    precision: str = "fp32"  # of the forward and backward passes; weights are in fp32
