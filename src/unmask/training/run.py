"""`train`: the one door to training; what is behind it is heavy and needs the extra `train`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmask.core.errors import DataError, ModelError
from unmask.training.spec import Telling, Trained, TrainSettings, Watcher

if TYPE_CHECKING:
    from unmask.training.spec import Collate, Loss


def train(  # noqa: PLR0913 - what a training is made of
    model: Any,
    rows: Sequence[Any],
    collate: Collate,
    settings: TrainSettings,
    folder: str | Path,
    *,
    loss: Loss | None = None,
    watchers: Sequence[Watcher] = (),
    progress: Telling | None = None,
    each_epoch: Callable[[int, Any], None] | None = None,
    key: str = "",
) -> Trained:
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
        watchers: who looks at the model, and how often.
        progress: told of every step.
        each_epoch: called with the number of the epoch (from 0) and the model before its first step, and
            again when a killed training goes on in the middle of it.
        key: whatever else decides the result (data, method): a checkpoint made under another is refused.
    """
    if find_spec("accelerate") is None:
        raise ModelError('training needs accelerate: pip install "unmask[train]"')
    used = rows if settings.limit is None else rows[: settings.limit]
    if not len(used):
        raise DataError("nothing to train on: no text was left after reading and filtering")
    from unmask.training.trainer import Job, run

    return run(
        Job(model, used, collate, settings, Path(folder), loss, tuple(watchers), progress, each_epoch, key)
    )
