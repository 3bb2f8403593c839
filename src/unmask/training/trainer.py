"""The training itself: Hugging Face's Trainer over an order of rows that depends on the seed alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.utils.data import Dataset, SequentialSampler
from transformers import Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_callback import PrinterCallback
from transformers.utils import logging as logs

from unmask.core.errors import ModelError
from unmask.training.checkpoints import claim_folder, last_complete_checkpoint, remove_checkpoints
from unmask.training.distributed import PROCESS_TIMEOUT, on_main_process, world_size
from unmask.training.spec import EvalCallback, ProgressCallback, TrainResult, TrainSettings, TrainStep

if TYPE_CHECKING:
    from unmask.training.spec import Batch, Collator, LossFunction

_TOLD = 100  # losses recorded in a training, about
_WHOLE = "whole_batch"  # the name under which a wrapped model is given all that a loss looks at


@dataclass(frozen=True, slots=True)
class TrainingJob:
    """A training: what `train` was given."""

    model: Any
    rows: Sequence[Any]
    collate: Collator
    settings: TrainSettings
    folder: Path
    loss: LossFunction | None
    callbacks: tuple[EvalCallback, ...]
    progress: ProgressCallback | None
    on_epoch_begin: Callable[[int, Any], None] | None
    key: str

    @property
    def steps(self) -> int:
        """How many steps all epochs take, or how many were asked for if that is fewer."""
        whole = math.ceil(len(self.order) / (self.settings.batch * self.settings.accumulate * world_size()))
        return min(whole, self.settings.steps or whole)

    @property
    def order(self) -> range:
        """The places of the training: every row once an epoch."""
        return range(max(1, round(self.settings.epochs * len(self.rows))))


class ShuffledRows(Dataset[tuple[int, Any]]):
    """Every row once an epoch, each epoch in an order of its own, with its place in the whole training."""

    def __init__(self, rows: Sequence[Any], places: range, seed: int) -> None:
        self.rows, self.places, self.seed = rows, places, seed
        self._shuffled: tuple[int, Any] = (-1, None)

    def __len__(self) -> int:
        """Places in all epochs."""
        return len(self.places)

    def __getitem__(self, place: int) -> tuple[int, Any]:
        """The place, and the row whose turn it is."""
        epoch, number = divmod(place, len(self.rows))
        if self._shuffled[0] != epoch:
            self._shuffled = epoch, np.random.default_rng((self.seed, epoch)).permutation(len(self.rows))
        return place, self.rows[int(self._shuffled[1][number])]


def run(job: TrainingJob) -> TrainResult:
    """Train, from the last whole checkpoint if there is one."""

    def begun() -> Path | None:
        claim_folder(job.folder, job.settings, len(job.rows), job.key)
        return last_complete_checkpoint(job.folder)

    last = on_main_process(begun)
    with quiet_trainer(), _loss_inside(job):
        trainer = _Trainer(job)
        trainer.train(resume_from_checkpoint=str(last) if last else None)
    job.model.eval()
    losses = tuple(
        (int(one["step"]), float(one["loss"])) for one in trainer.state.log_history if "loss" in one
    )
    if not all(torch.isfinite(one).all() for one in job.model.parameters()) or not _finite(losses):
        raise ModelError("the training diverged (a weight or loss is not a number): give a lower --lr")
    on_main_process(lambda: remove_checkpoints(job.folder))
    resumed = int(last.name.rpartition("-")[2]) if last else 0
    return TrainResult(int(trainer.state.global_step), len(job.rows), losses, resumed)


class _Trainer(Trainer):
    """Rows in our order, our loss where there is one."""

    def __init__(self, job: TrainingJob) -> None:
        self._job = job
        self._order = ShuffledRows(job.rows, job.order, job.settings.seed)
        super().__init__(
            model=job.model,
            args=_arguments(job),
            train_dataset=self._order,
            data_collator=self._batch,
            callbacks=[_StepCallback(job)],
        )
        self.remove_callback(PrinterCallback)
        self.model_accepts_loss_kwargs = (
            False  # our losses are means over a batch, to be averaged over batches
        )

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        return SequentialSampler(self._order)

    def compute_loss(
        self, model: Any, inputs: Batch, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """The loss of a batch, a mean; a model that is wrapped for several processes finds it inside."""
        if self._job.loss is None:
            return model(**inputs).loss
        return model(**{_WHOLE: inputs}) if hasattr(model, "module") else self._job.loss(model, inputs)

    def _batch(self, placed: Sequence[tuple[int, Any]]) -> dict[str, Any]:
        dice = np.random.default_rng((self._job.settings.seed, placed[0][0], 1))
        return dict(self._job.collate([row for _, row in placed], dice))


class _StepCallback(TrainerCallback):
    """Tells of every step, calls who wants to look, and marks where an epoch begins."""

    def __init__(self, job: TrainingJob) -> None:
        self._job = job
        self._epoch = -1

    def on_step_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        """Before the first step of an epoch, and before the first after going on."""
        ahead = state.global_step * args.train_batch_size * args.gradient_accumulation_steps * args.world_size
        epoch = ahead // len(self._job.rows)
        if epoch != self._epoch:
            self._epoch = epoch
            if self._job.on_epoch_begin is not None:
                with _evaluation_mode(model):
                    self._job.on_epoch_begin(epoch, model)

    def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        """After a step."""
        for one in self._job.callbacks:
            if state.global_step % one.every == 0:
                with _evaluation_mode(model):
                    one.evaluate(state.global_step, model)
        if self._job.progress is not None:
            told = next((one["loss"] for one in reversed(state.log_history) if "loss" in one), math.nan)
            self._job.progress(TrainStep(state.global_step, state.max_steps, float(told)))


def _arguments(job: TrainingJob) -> TrainingArguments:
    chosen, device = job.settings, next(job.model.parameters()).device
    made = TrainingArguments(
        output_dir=str(job.folder),
        max_steps=job.steps,
        learning_rate=chosen.rate,
        per_device_train_batch_size=chosen.batch,
        gradient_accumulation_steps=chosen.accumulate,
        seed=chosen.seed,
        warmup_steps=chosen.warmup,
        weight_decay=chosen.decay,
        max_grad_norm=chosen.clip,
        adam_epsilon=chosen.epsilon,
        lr_scheduler_type=chosen.schedule
        if not (chosen.warmup and chosen.schedule == "constant")
        else "constant_with_warmup",
        optim="adamw_torch",
        bf16=chosen.bf16,
        save_strategy="steps",
        save_steps=chosen.save_every,
        save_total_limit=1,
        logging_strategy="steps",
        logging_steps=max(1, job.steps // _TOLD),
        logging_nan_inf_filter=False,
        disable_tqdm=True,
        report_to=chosen.report_to,
        remove_unused_columns=False,
        dataloader_pin_memory=device.type != "cpu",
        use_cpu=device.type == "cpu",
        ddp_timeout=int(PROCESS_TIMEOUT.total_seconds()),
    )
    if made.n_gpu > 1:  # several GPUs are for `accelerate launch`, one process each
        made._n_gpu = 1
    return made


def _finite(losses: Sequence[tuple[int, float]]) -> bool:
    return all(math.isfinite(loss) for _, loss in losses)


@contextmanager
def _loss_inside(job: TrainingJob) -> Iterator[None]:
    """While several processes train, the loss is computed within the model's one call.

    The wrapper that gathers gradients sees calls of the whole model alone, and only one a step.
    """
    if world_size() == 1 or job.loss is None:
        yield
        return
    plain, loss = job.model.forward, job.loss

    def forward(*args: Any, **inputs: Any) -> Any:
        return loss(job.model, inputs[_WHOLE]) if _WHOLE in inputs else plain(*args, **inputs)

    job.model.forward = forward
    try:
        yield
    finally:
        vars(job.model).pop("forward", None)


@contextmanager
def _evaluation_mode(model: Any) -> Iterator[None]:
    """Somebody looks at the model: dropout off, no gradients, and the dice where they were."""
    training = model.training
    model.eval()
    devices = [one.device for one in [next(model.parameters())] if one.device.type == "cuda"]
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=devices):
            yield
    finally:
        model.train(training)


@contextmanager
def quiet_trainer() -> Iterator[None]:
    """The libraries' own logs and bars are not for the user."""
    level, bars = logs.get_verbosity(), logs.is_progress_bar_enabled()
    logs.set_verbosity_error()
    logs.disable_progress_bar()
    try:
        yield
    finally:
        logs.set_verbosity(level)
        if bars:
            logs.enable_progress_bar()
