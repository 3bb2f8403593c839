"""The training loop: Hugging Face's Trainer with a data order that depends on the seed alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import Dataset, SequentialSampler
from transformers import Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_callback import PrinterCallback

from unmask.core.errors import ModelError
from unmask.core.progress import Progress
from unmask.core.seeds import generator
from unmask.models.loading import quiet
from unmask.training.checkpoints import claim_folder, last_complete_checkpoint, remove_checkpoints
from unmask.training.distributed import PROCESS_TIMEOUT, on_main_process, world_size
from unmask.training.spec import EvalCallback, TrainResult, TrainSettings

if TYPE_CHECKING:
    from unmask.training.spec import Batch, Collator, LossFunction

_LOGGED = 100  # losses logged per training run, about
_BATCH = "whole_batch"  # the keyword that passes the batch of a custom loss through a DDP-wrapped model


@dataclass(frozen=True, slots=True)
class TrainingJob:
    """The arguments of `train`."""

    model: Any
    rows: Sequence[Any]
    collate: Collator
    settings: TrainSettings
    folder: Path
    loss: LossFunction | None
    callbacks: tuple[EvalCallback, ...]
    progress: Progress | None
    on_epoch_begin: Callable[[int, Any], None] | None
    key: str

    @property
    def steps(self) -> int:
        """The number of steps: those of all epochs, or `settings.steps` if fewer."""
        total = math.ceil(len(self.indices) / (self.settings.batch * self.settings.accumulate * world_size()))
        return min(total, self.settings.steps or total)

    @property
    def indices(self) -> range:
        """Example indices of all epochs: every row once per epoch."""
        return range(max(1, round(self.settings.epochs * len(self.rows))))


class ShuffledRows(Dataset[tuple[int, Any]]):
    """All rows once per epoch, each epoch shuffled differently, with their index in the whole run."""

    def __init__(self, rows: Sequence[Any], indices: range, seed: int) -> None:
        self.rows, self.indices, self.seed = rows, indices, seed
        self._permutation: tuple[int, Any] = (-1, None)

    def __len__(self) -> int:
        """The number of examples in all epochs."""
        return len(self.indices)

    def __getitem__(self, index: int) -> tuple[int, Any]:
        """The index, and the row at that index."""
        epoch, offset = divmod(index, len(self.rows))
        if self._permutation[0] != epoch:
            self._permutation = epoch, generator(self.seed, epoch).permutation(len(self.rows))
        return index, self.rows[int(self._permutation[1][offset])]


def run(job: TrainingJob) -> TrainResult:
    """Train, resuming from the last complete checkpoint if there is one."""

    def prepare() -> Path | None:
        claim_folder(job.folder, job.settings, len(job.rows), job.key)
        return last_complete_checkpoint(job.folder)

    checkpoint = on_main_process(prepare)
    with quiet(), _loss_in_forward(job):
        trainer = _Trainer(job)
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    job.model.eval()
    losses = tuple((int(entry["step"]), float(entry["loss"])) for entry in trainer.state.log_history if "loss" in entry)
    finite = all(math.isfinite(loss) for _, loss in losses)
    if not finite or not all(torch.isfinite(weight).all() for weight in job.model.parameters()):
        raise ModelError("the training diverged (a weight or loss is not finite): use a lower learning rate")
    on_main_process(lambda: remove_checkpoints(job.folder))
    resumed = int(checkpoint.name.rpartition("-")[2]) if checkpoint else 0
    return TrainResult(int(trainer.state.global_step), len(job.rows), losses, resumed)


class _Trainer(Trainer):
    """A Trainer with a fixed data order and an optional custom loss."""

    def __init__(self, job: TrainingJob) -> None:
        self._job = job
        self._dataset = ShuffledRows(job.rows, job.indices, job.settings.seed)
        super().__init__(
            model=job.model,
            args=_arguments(job),
            train_dataset=self._dataset,
            data_collator=self._batch,
            callbacks=[_StepCallback(job)],
        )
        self.remove_callback(PrinterCallback)
        self.model_accepts_loss_kwargs = False  # losses are means over a batch, to be averaged over batches

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        return SequentialSampler(self._dataset)

    def compute_loss(
        self, model: Any, inputs: Batch, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """The mean loss of a batch; a DDP-wrapped model computes a custom loss in its forward."""
        if self._job.loss is None:
            return model(**inputs).loss
        return model(**{_BATCH: inputs}) if hasattr(model, "module") else self._job.loss(model, inputs)

    def _batch(self, examples: Sequence[tuple[int, Any]]) -> dict[str, Any]:
        rng = generator(self._job.settings.seed, examples[0][0], 1)
        return dict(self._job.collate([row for _, row in examples], rng))


class _StepCallback(TrainerCallback):
    """Reports every step, runs the evaluation callbacks, and announces epochs."""

    def __init__(self, job: TrainingJob) -> None:
        self._job = job
        self._epoch = -1

    def on_step_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        """Announce an epoch before its first step, and after resuming."""
        rows_per_step = args.train_batch_size * args.gradient_accumulation_steps * args.world_size
        epoch = state.global_step * rows_per_step // len(self._job.rows)
        if epoch != self._epoch:
            self._epoch = epoch
            if self._job.on_epoch_begin is not None:
                with evaluation_mode(model):
                    self._job.on_epoch_begin(epoch, model)

    def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        """Run evaluations and report progress after a step."""
        for callback in self._job.callbacks:
            if state.global_step % callback.every == 0:
                with evaluation_mode(model):
                    callback.evaluate(state.global_step, model)
        if self._job.progress is not None:
            losses = [entry["loss"] for entry in state.log_history if "loss" in entry]
            note = f"loss {losses[-1]:.3f}" if losses else ""
            self._job.progress("training", state.global_step / state.max_steps, state.max_steps, note)


def _arguments(job: TrainingJob) -> TrainingArguments:
    settings, device = job.settings, next(job.model.parameters()).device
    constant_with_warmup = settings.warmup and settings.schedule == "constant"
    arguments = TrainingArguments(
        output_dir=str(job.folder),
        max_steps=job.steps,
        learning_rate=settings.lr,
        per_device_train_batch_size=settings.batch,
        gradient_accumulation_steps=settings.accumulate,
        seed=settings.seed,
        warmup_steps=settings.warmup,
        weight_decay=settings.decay,
        max_grad_norm=settings.clip,
        adam_epsilon=settings.epsilon,
        lr_scheduler_type="constant_with_warmup" if constant_with_warmup else settings.schedule,
        optim="adamw_torch",
        bf16=settings.bf16,
        save_strategy="steps",
        save_steps=settings.save_every,
        save_total_limit=1,
        logging_strategy="steps",
        logging_steps=max(1, job.steps // _LOGGED),
        logging_nan_inf_filter=False,
        disable_tqdm=True,
        report_to=settings.report_to,
        remove_unused_columns=False,
        dataloader_pin_memory=device.type != "cpu",
        use_cpu=device.type == "cpu",
        ddp_timeout=int(PROCESS_TIMEOUT.total_seconds()),
    )
    if arguments.n_gpu > 1:  # several GPUs need `accelerate launch`, one process each
        arguments._n_gpu = 1
    return arguments


@contextmanager
def _loss_in_forward(job: TrainingJob) -> Iterator[None]:
    """With several processes, compute a custom loss inside the model's forward.

    DDP synchronises gradients only for calls of the wrapped model, and expects one per step.
    """
    if world_size() == 1 or job.loss is None:
        yield
        return
    original, loss = job.model.forward, job.loss

    def forward(*args: Any, **inputs: Any) -> Any:
        return loss(job.model, inputs[_BATCH]) if _BATCH in inputs else original(*args, **inputs)

    job.model.forward = forward
    try:
        yield
    finally:
        vars(job.model).pop("forward", None)


@contextmanager
def evaluation_mode(model: Any) -> Iterator[None]:
    """Evaluation mode without gradients; training mode and RNG state are restored on exit."""
    training, device = model.training, next(model.parameters()).device
    model.eval()
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            yield
    finally:
        model.train(training)
