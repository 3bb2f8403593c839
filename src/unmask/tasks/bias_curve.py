"""Bias during fine-tuning: the headline of a task every N steps, for several models ("re-learning").

Each evaluation point is written at once, so an interrupted run keeps those before its last checkpoint.
`BiasCallback` logs bias during any training:

    trainer = Trainer(model, args, …)
    trainer.add_callback(BiasCallback(trainer, "winobias", every=500))

Values are logged by the Trainer itself, so they go wherever it reports its losses: TensorBoard, W&B, MLflow.
The training is not affected: train mode, gradients and the RNG state are restored.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from transformers.trainer_callback import TrainerCallback

from unmask.audit.session import Session
from unmask.core.boundary import read_text, validate
from unmask.core.errors import ModelError
from unmask.core.estimate import Estimate, Value
from unmask.core.files import write_text
from unmask.findings import Conclusion, Plot, Table, charts
from unmask.models import Engine
from unmask.models.classifier import Classifier
from unmask.models.loading import wrap_lm
from unmask.tasks import TASKS
from unmask.tasks.finetune import FineTuneJob, evaluate_fine_tuned, fine_tune_once, model_facts
from unmask.tasks.performance import sample_examples, score
from unmask.tasks.spec import CurvePoint, FineTuningOptions, Task, TaskObservation, TaskOptions
from unmask.training.distributed import on_main_process
from unmask.training.trainer import evaluation_mode

POINTS = "points.jsonl"


def bias_curve(task: Task, job: FineTuneJob) -> TaskObservation:
    """The evaluation points of one model and the task's result at the last; an interrupted run is resumed."""
    path, options, data = job.folder / POINTS, job.options, job.data
    known = on_main_process(lambda: _read(path))
    latest: dict[int | None, Any] = {}
    dev_examples = sample_examples(data.dev, options)

    def evaluate(step: int, classifier: Classifier) -> None:
        if step in known and latest:
            return
        latest.clear()
        latest[step], known[step] = on_main_process(lambda: measure_point(step, classifier))

    def measure_point(step: int, classifier: Classifier) -> tuple[Any, CurvePoint]:
        result = task.observe(classifier, options)
        headline = task.headline(result)
        bias = Value(headline.value, headline.low, headline.high, headline.method)
        point = CurvePoint(step, headline.statistic, bias, headline.n, score(classifier, dev_examples, data.labels))
        kept = [earlier for at, earlier in sorted(known.items()) if at != step]
        write_text(path, "".join(json.dumps(asdict(each)) + "\n" for each in (*kept, point)))
        return result, point

    classifier, trial = fine_tune_once(job, evaluate)
    last = latest[trial.steps] if trial.steps in latest else task.observe(classifier, options)
    fine_tuned = evaluate_fine_tuned(job, classifier, trial, (trial,), dev_examples)
    return TaskObservation(model_facts(classifier), last, fine_tuned, tuple(known[step] for step in sorted(known)))


def with_curve(conclusion: Conclusion, task: str, observations: Sequence[TaskObservation]) -> Conclusion:
    """A conclusion about the end of fine-tuning, with the bias during it."""
    points = [(observation.name, point) for observation in observations for point in observation.points]
    headline = points[0][1].name
    table = Table(
        "Bias during fine-tuning",
        ("model", "step", headline, "validation score", "n"),
        tuple((name, point.step, point.bias, point.score, point.n) for name, point in points),
        "At step 0 the head is random, so its bias says nothing about the model. Intervals are over the test "
        "items, not over fine-tuning runs: another seed gives another curve.",
        digits=3,
    )
    rows = [
        {"x": at.step, "y": at.bias.value, "low": at.bias.low, "high": at.bias.high, "series": name}
        for name, at in points
    ]
    plot = Plot(
        f"relearning-{task}",
        "Re-learning",
        f"{headline} against fine-tuning steps, one line per model, with intervals.",
        charts.curves(rows, x="step", y=headline, band=True),
    )
    finding = conclusion.finding
    curves = [
        {"model": observation.name, "points": observation.points} for observation in observations if observation.points
    ]
    return replace(
        conclusion,
        finding=replace(finding, tables=(table, *finding.tables), plots=(plot, *finding.plots)),
        details={**conclusion.details, "curves": curves},
    )


def _read(path: Path) -> dict[int, CurvePoint]:
    """The points of an interrupted run, by step."""
    points = {}
    for number, line in enumerate(read_text(path).splitlines() if path.is_file() else (), 1):
        try:
            row = json.loads(line)
        except ValueError:  # truncated when a run was killed
            continue
        point = validate(CurvePoint, row, f"{path.name}, line {number}")
        points[point.step] = point
    return points


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
        options: TaskOptions | None = None,
        tokenizer: Any = None,
    ) -> None:
        self.trainer, self.every, self.task = trainer, every, TASKS.find(task)
        self.options = options or self.task.options()
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
        task, options = self.task, self.options
        with evaluation_mode(model):
            if task.needs == "lm":
                result = task.observe(Session(Engine(wrap_lm(model, self.tokenizer))), options)
            else:
                assert isinstance(options, FineTuningOptions)
                result = task.observe(Classifier(model, self.tokenizer, length=options.length), options)
        headline = self.headlines[step] = task.headline(result)
        parts = {"": headline.value, "_low": headline.low, "_high": headline.high}
        entries = {f"bias_{task.name}{end}": value for end, value in parts.items() if math.isfinite(value)}
        self.trainer.log(entries)
