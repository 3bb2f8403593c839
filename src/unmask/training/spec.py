"""A training run: settings, callbacks, the result, and `train`; the trainer behind it needs the extra `train`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from unmask.core.errors import DataError, ModelError
from unmask.core.options import MAX_SEED, OptionGroup, common, option
from unmask.core.progress import Progress

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


def train(  # noqa: PLR0913 - the parameters of a training run
    model: Any,
    rows: Sequence[Any],
    collate: Collator,
    settings: TrainSettings,
    folder: str | Path,
    *,
    loss: LossFunction | None = None,
    callbacks: Sequence[EvalCallback] = (),
    progress: Progress | None = None,
    on_epoch_begin: Callable[[int, Any], None] | None = None,
    key: Any = "",
    count: PredictionCount | None = None,
) -> TrainResult:
    """Train a model in place, on its own device, resuming from the last checkpoint in `folder`.

    Row order and all random choices of `collate` depend only on the seed and the step, so a run that was
    killed and resumed ends with the same weights. Checkpoints are removed at the end.

    Args:
        model: a torch module; without `loss` its output must have `.loss`, as in transformers.
        rows: training examples, batched by `collate`.
        collate: maps rows and a seeded generator to a batch of tensors.
        settings: hyper-parameters.
        folder: where checkpoints are kept during training.
        loss: loss of the model on a batch; None: the model's own.
        callbacks: evaluations to run every so many steps.
        progress: called after every step, with the last logged loss as its note.
        on_epoch_begin: called with the epoch (from 0) and the model before its first step, and again when a
            run resumes in the middle of an epoch.
        key: JSON that identifies data and method; checkpoints made with another key are refused.
        count: the number of predictions in a batch, if its loss is their mean: a batch is then run in parts of
            rows of similar length where that saves padding, with the same loss; None: batches are run whole.
    """
    if find_spec("accelerate") is None:
        raise ModelError('training needs accelerate: pip install "unmask[train]"')
    if not len(rows):
        raise DataError("nothing to train on: no text is left after filtering")
    from unmask.training.trainer import TrainingJob, run

    chosen = settings.for_device(next(model.parameters()).device)
    evaluations = tuple(callbacks)
    return run(
        TrainingJob(model, rows, collate, chosen, Path(folder), loss, evaluations, progress, on_epoch_begin, key, count)
    )
