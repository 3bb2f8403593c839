"""`train`, the entry point; the trainer behind it is imported lazily and needs the extra `train`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmask.core.errors import DataError, ModelError
from unmask.core.progress import Progress
from unmask.training.spec import EvalCallback, TrainResult, TrainSettings

if TYPE_CHECKING:
    from unmask.training.spec import Collator, LossFunction, PredictionCount


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
    key: str = "",
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
        key: identifies data and method; checkpoints made with another key are refused.
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
