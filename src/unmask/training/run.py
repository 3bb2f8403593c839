"""`train`: the one door to training; what is behind it is heavy and needs the extra `train`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmask.core.errors import DataError, ModelError
from unmask.training.spec import EvalCallback, ProgressCallback, TrainResult, TrainSettings

if TYPE_CHECKING:
    from unmask.training.spec import Collator, LossFunction


def train(  # noqa: PLR0913 - what a training is made of
    model: Any,
    rows: Sequence[Any],
    collate: Collator,
    settings: TrainSettings,
    folder: str | Path,
    *,
    loss: LossFunction | None = None,
    callbacks: Sequence[EvalCallback] = (),
    progress: ProgressCallback | None = None,
    on_epoch_begin: Callable[[int, Any], None] | None = None,
    key: str = "",
) -> TrainResult:
    """Train a model's weights in place, on its own device, going on from the last checkpoint in `folder`.

    Row order and everything `collate` draws are a function of the seed and the place in the training, so a
    run that was killed ends with the weights of one that was not. Checkpoints are removed at the end.

    Args:
        model: a torch module; without `loss` its output must have `.loss`, as transformers' models do.
        rows: what `collate` makes batches of, some at a time.
        collate: rows and a seeded generator to a batch of tensors.
        settings: how to train.
        folder: where checkpoints lie meanwhile.
        loss: of the model on a batch, in the place of the model's own.
        callbacks: who looks at the model, and how often.
        progress: told of every step.
        on_epoch_begin: called with the number of the epoch (from 0) and the model before its first step, and
            again when a killed training goes on in the middle of it.
        key: whatever else decides the result (data, method): a checkpoint made under another is refused.
    """
    if find_spec("accelerate") is None:
        raise ModelError('training needs accelerate: pip install "unmask[train]"')
    used = rows if settings.limit is None else rows[: settings.limit]
    if not len(used):
        raise DataError("nothing to train on: no text was left after reading and filtering")
    from unmask.training.trainer import TrainingJob, run

    return run(
        TrainingJob(
            model,
            used,
            collate,
            settings,
            Path(folder),
            loss,
            tuple(callbacks),
            progress,
            on_epoch_begin,
            key,
        )
    )
