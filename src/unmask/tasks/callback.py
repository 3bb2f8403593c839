"""Log bias during any training: a callback for Hugging Face's Trainer.

    trainer = Trainer(model, args, …)
    trainer.add_callback(BiasCallback(trainer, "winobias", every=500))

Values are logged by the Trainer itself, so they go wherever it reports its losses: TensorBoard, W&B, MLflow.
The training is not affected: train mode, gradients and the RNG state are restored.
"""

from __future__ import annotations

import math
from typing import Any

from transformers.trainer_callback import TrainerCallback

from unmask.audit.session import Session
from unmask.core.errors import ModelError
from unmask.core.estimate import Estimate
from unmask.models import Engine
from unmask.models.classifier import Classifier
from unmask.models.loading import wrap_lm
from unmask.tasks import TASKS
from unmask.tasks.spec import Task, TaskSettings


class BiasCallback(TrainerCallback):
    """Logs the headline of a task with its interval every `every` steps and at the end of training.

    `winobias` and `winogender` need a language model in training; the other tasks a classifier with the
    labels of the task.
    """

    def __init__(
        self,
        trainer: Any,
        task: str | Task,
        *,
        every: int = 500,
        settings: TaskSettings | None = None,
        tokenizer: Any = None,
    ) -> None:
        self.trainer, self.every, self.task = trainer, every, TASKS.find(task)
        self.settings = settings or TaskSettings()
        self.tokenizer = tokenizer or getattr(trainer, "processing_class", None)
        self.headlines: dict[int, Estimate] = {}
        if self.tokenizer is None:
            raise ModelError(
                "the Trainer has no tokenizer: give it processing_class=, or give tokenizer= to the callback"
            )

    def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        """Evaluate every `every` steps."""
        if state.global_step % self.every == 0:
            self._evaluate(state.global_step, model)

    def on_train_end(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        """Evaluate the final model."""
        self._evaluate(state.global_step, model)

    def _evaluate(self, step: int, model: Any) -> None:
        """Log the value and the ends of its interval, where it has one."""
        if step in self.headlines:
            return
        from unmask.training.trainer import evaluation_mode

        task, settings = self.task, self.settings
        with evaluation_mode(model):
            if task.needs == "lm":
                result = task.observe(Session(Engine(wrap_lm(model, self.tokenizer))), settings)
            else:
                result = task.observe(Classifier(model, self.tokenizer, length=settings.length), settings)
            found = self.headlines[step] = task.headline(result)
        parts = {"": found.value, "_low": found.low, "_high": found.high}
        entries = {f"bias_{task.name}{end}": value for end, value in parts.items() if math.isfinite(value)}
        self.trainer.log(entries)
