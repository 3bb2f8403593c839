"""Bias during fine-tuning: the headline of a task every N steps, for several models ("re-learning").

Each evaluation point is written at once, so an interrupted run keeps those before its last checkpoint.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from unmask.core.boundary import read_text, validate
from unmask.core.estimate import Value
from unmask.core.files import write_text
from unmask.findings import Finding, Plot, Table
from unmask.findings.numbers import signed_number, signed_value
from unmask.models.classifier import Classifier
from unmask.tasks.finetune import FineTuneJob, evaluate_fine_tuned, fine_tune_once, model_facts
from unmask.tasks.performance import sample_examples, score
from unmask.tasks.spec import CurvePoint, Task, TaskData, TaskObservation
from unmask.training.distributed import on_main_process

POINTS = "points.jsonl"


def bias_curve(task: Task, job: FineTuneJob) -> TaskObservation:
    """The evaluation points of one model and the task's result at the last; an interrupted run is resumed."""
    path, settings, data = job.folder / POINTS, job.settings, job.data
    known = on_main_process(lambda: _read(path))
    latest: dict[int | None, Any] = {}
    dev_examples = sample_examples(data.dev, settings)

    def evaluate(step: int, classifier: Classifier) -> None:
        if step in known and latest:
            return
        latest.clear()
        latest[step], known[step] = on_main_process(lambda: measure_point(step, classifier))

    def measure_point(step: int, classifier: Classifier) -> tuple[Any, CurvePoint]:
        result = task.observe(classifier, settings)
        found = task.headline(result)
        bias = Value(found.value, found.low, found.high, found.method)
        point = CurvePoint(step, found.statistic, bias, found.n, score(classifier, dev_examples, data.labels))
        kept = [earlier for at, earlier in sorted(known.items()) if at != step]
        write_text(path, "".join(json.dumps(asdict(each)) + "\n" for each in (*kept, point)))
        return result, point

    classifier, trial = fine_tune_once(job, evaluate)
    last = latest[trial.steps] if trial.steps in latest else task.observe(classifier, settings)
    fine_tuned = evaluate_fine_tuned(job, classifier, trial, (trial,), dev_examples)
    return TaskObservation(model_facts(classifier), last, fine_tuned, tuple(known[step] for step in sorted(known)))


def curve_finding(task: Task, observations: Sequence[TaskObservation], data: TaskData) -> Finding:
    """One table and one plot of all curves."""
    from unmask.findings import charts

    headline = observations[0].points[0].name
    points = [(each.name, point) for each in observations for point in each.points]
    table = Table(
        "Bias during fine-tuning",
        ("model", "step", headline, f"validation, {data.metric}", "n"),
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
        f"relearning-{task.name}",
        "Re-learning",
        f"{headline} against fine-tuning steps, one line per model, with intervals.",
        charts.curves(rows, x="step", y=headline, band=True),
    )
    answers = tuple(
        f"{each.name}: {headline} {signed_number(each.points[0].bias.value, 3)} before, "
        f"{signed_value(last.bias, 3)} after {last.step:,} steps; validation {data.metric} {last.score:.3f}"
        for each, last in ((each, each.points[-1]) for each in observations)
    )
    return Finding(answers, (table,), (plot,))


def _read(path: Path) -> dict[int, CurvePoint]:
    """The points of an interrupted run, by step."""
    points = {}
    for number, line in enumerate(read_text(path).splitlines() if path.is_file() else (), 1):
        try:
            row = json.loads(line)
        except ValueError:  # truncated when a run of an earlier version was killed
            continue
        point = validate(CurvePoint, row, f"{path.name}, line {number}")
        points[point.step] = point
    return points
