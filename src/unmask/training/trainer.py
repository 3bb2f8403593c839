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
from unmask.core.files import writing
from unmask.core.progress import Progress
from unmask.core.seeds import generator
from unmask.core.signals import keep
from unmask.models.folder import quiet
from unmask.training.checkpoints import claim_folder, last_complete_checkpoint, remove_checkpoints, write_digests
from unmask.training.collators import split_batch
from unmask.training.distributed import PROCESS_TIMEOUT, on_main_process, world_size
from unmask.training.spec import PRECISIONS, EvalCallback, TrainResult, TrainSettings

if TYPE_CHECKING:
    from unmask.training.spec import Batch, Collator, LossFunction, PredictionCount

DIVERGED = "the training diverged (a weight or loss is not finite): use a lower learning rate"
_LOGGED = 100  # losses logged per training run, about
PARTS = "parts_of_batch"  # the keyword of the parts of a batch, also through a DDP-wrapped model


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
    key: Any
    count: PredictionCount | None = None  # None: batches are run whole

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
    resumed = int(checkpoint.name.rpartition("-")[2]) if checkpoint else 0
    if resumed:
        keep(f"the training up to step {resumed}")
    with quiet(), _loss_in_forward(job):
        trainer = _Trainer(job)
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    job.model.eval()
    losses = tuple((int(entry["step"]), float(entry["loss"])) for entry in trainer.state.log_history if "loss" in entry)
    if not all(torch.isfinite(weight).all() for weight in job.model.parameters()):
        raise ModelError(DIVERGED)
    on_main_process(lambda: remove_checkpoints(job.folder))
    steps, precision = int(trainer.state.global_step), PRECISIONS[bool(job.settings.bf16)]
    return TrainResult(steps, len(job.rows), losses, resumed, precision)


class _Trainer(Trainer):
    """A Trainer with a fixed data order and an optional custom loss.

    Its own `bf16` would patch the forward method of the model for good: evaluations during and after the training
    would be in bfloat16, and a custom loss that calls parts of the model would not.
    """

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

    def _save_checkpoint(self, *args: Any, **kwargs: Any) -> None:
        """Save a checkpoint; a full disk is one line."""
        with writing(self._job.folder):
            super()._save_checkpoint(*args, **kwargs)
        self.accelerator.wait_for_everyone()  # every process writes a file of its own
        checkpoint = self._job.folder / f"checkpoint-{self.state.global_step}"
        on_main_process(lambda: write_digests(checkpoint))

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        return SequentialSampler(self._dataset)

    def compute_loss(
        self, model: Any, inputs: Batch, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """The mean loss of a batch; a DDP-wrapped model computes it in its forward."""
        with torch.autocast(self.args.device.type, torch.bfloat16, enabled=bool(self._job.settings.bf16)):
            return model(**inputs) if hasattr(model, "module") else _mean_loss(self._job, model, inputs[PARTS])

    def _batch(self, examples: Sequence[tuple[int, Any]]) -> dict[str, Any]:
        rng = generator(self._job.settings.seed, examples[0][0], 1)
        batch, count = self._job.collate([row for _, row in examples], rng), self._job.count
        if count is None:
            return {PARTS: [(1.0, batch)]}
        return {PARTS: split_batch(batch, count, gpu=self.args.device.type == "cuda")}


def _mean_loss(job: TrainingJob, model: Any, parts: Any) -> Any:
    """The mean loss of a batch, from its parts and their shares of its predictions."""
    return sum(share * (model(**part).loss if job.loss is None else job.loss(model, part)) for share, part in parts)


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

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Let an interrupted command say from where it resumes."""
        keep(f"the training up to step {state.global_step}")

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Stop at a loss that is not finite, before a checkpoint is written."""
        if not math.isfinite((logs or {}).get("loss", 0.0)):
            raise ModelError(DIVERGED)

    def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        """Run evaluations and report progress after a step; after the last one no checkpoint is of use."""
        if state.global_step >= state.max_steps:
            control.should_save = False
        for callback in self._job.callbacks:
            if state.global_step % callback.every == 0:
                with evaluation_mode(model):
                    callback.evaluate(state.global_step, model)
        if self._job.progress is not None:
            losses = [entry["loss"] for entry in state.log_history if "loss" in entry]
            note = f"loss {losses[-1]:.3f}" if losses else ""
            self._job.progress("training", state.global_step / state.max_steps, state.max_steps, note)


def _arguments(job: TrainingJob) -> TrainingArguments:
    settings, device = job.settings, next(job.model.parameters()).device.type
    gpu = device == "cuda"
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
        optim="adamw_torch_fused" if gpu else "adamw_torch",
        save_strategy="steps",
        save_steps=settings.save_every,
        save_total_limit=1,
        logging_strategy="steps",
        logging_steps=max(1, job.steps // _LOGGED),
        logging_nan_inf_filter=False,
        disable_tqdm=True,
        report_to=settings.report_to,
        remove_unused_columns=False,
        dataloader_pin_memory=gpu,
        accelerator_config={"non_blocking": gpu},
        use_cpu=device == "cpu",
        ddp_timeout=int(PROCESS_TIMEOUT.total_seconds()),
    )
    if arguments.n_gpu > 1:  # several GPUs need `accelerate launch`, one process each
        arguments._n_gpu = 1
    return arguments


@contextmanager
def _loss_in_forward(job: TrainingJob) -> Iterator[None]:
    """With several processes, compute the loss of a batch inside the model's forward.

    DDP synchronises gradients only for calls of the wrapped model, and expects one per step.
    """
    if world_size() == 1:
        yield
        return
    original = job.model.forward

    def forward(*args: Any, **inputs: Any) -> Any:
        return _mean_loss(job, job.model, inputs[PARTS]) if PARTS in inputs else original(*args, **inputs)

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
