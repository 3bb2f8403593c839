"""Bias during fine-tuning: the headline of a task every N steps, for several models ("re-learning").

Each evaluation point is written at once, so an interrupted run keeps those before its last checkpoint.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmask.core.errors import DataError
from unmask.core.options import Opening, Options
from unmask.findings import Finding, Plot, Table, Value
from unmask.models.classifier import Classifier
from unmask.tasks.finetune import fine_tune_once
from unmask.tasks.metrics import sample_examples, score
from unmask.tasks.spec import Task, TaskData, TaskObservation, TaskSettings
from unmask.training.distributed import on_main_process

if TYPE_CHECKING:
    from unmask.tasks.run import TaskResult

POINTS = "points.jsonl"


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One evaluation point: the bias with its interval, and the validation score at that step."""

    step: int
    name: str
    bias: Value
    n: int
    score: float


@dataclass(frozen=True, slots=True)
class BiasCurve:
    """All evaluation points of one model, the task's result at the last, and the fine-tuned classifier."""

    points: tuple[CurvePoint, ...]
    last: Any
    classifier: Classifier


def run_bias_curves(
    task: Task, names: Sequence[str], settings: TaskSettings, folder: Path, opening: Opening, options: Options
) -> TaskResult:
    """Fine-tune every model with the same settings and measure its bias along the way."""
    from unmask.tasks.run import TaskResult, model_facts

    if task.load_data is None:
        raise DataError(f"{task.name} does no fine-tuning, so `every` does not apply: leave it out")
    data = task.load_data(settings)
    observations: list[TaskObservation] = []
    curves: list[tuple[str, BiasCurve]] = []
    for at, name in enumerate(names):
        curve = bias_curve(task, name, data, settings, folder / f"{at}-{Path(name).name}", opening, options)
        facts = model_facts(curve.classifier)
        if any(observation.model["id"] == facts["id"] for observation in observations):
            facts["id"] = name
        observations.append(TaskObservation(facts, curve.last))
        curves.append((str(facts["id"]), curve))
    files = {source.name: source.facts() for source in (*data.sources, *task.sources(settings))}
    return TaskResult(task, curve_finding(task, curves, data), tuple(observations), tuple(files.values()))


def bias_curve(  # noqa: PLR0913, PLR0917 - the parts of a run
    task: Task,
    name: str,
    data: TaskData,
    settings: TaskSettings,
    folder: Path,
    opening: Opening,
    options: Options,
) -> BiasCurve:
    """The evaluation points of one model; those of an interrupted run are read from its file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / POINTS
    known = on_main_process(lambda: _read(path))
    latest: dict[int, Any] = {}
    dev_examples = sample_examples(data.dev, settings)

    def evaluate(step: int, classifier: Classifier) -> None:
        if step in known and latest:
            return
        latest.clear()
        latest[step], known[step] = on_main_process(lambda: measure_point(step, classifier))

    def measure_point(step: int, classifier: Classifier) -> tuple[Any, CurvePoint]:
        result = task.observe(classifier, settings)
        headline = task.headline(result)
        dev_score = score(classifier, dev_examples, data.labels)
        point = CurvePoint(step, headline.name, headline.number, headline.n, dev_score)
        with path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(asdict(point)) + "\n")
        return result, point

    classifier, steps = fine_tune_once(
        name, data, settings, folder, opening=opening, evaluate=evaluate, progress=options.progress
    )
    last = latest[steps] if steps in latest else task.observe(classifier, settings)
    return BiasCurve(tuple(known[step] for step in sorted(known)), last, classifier)


def curve_finding(task: Task, curves: Sequence[tuple[str, BiasCurve]], data: TaskData) -> Finding:
    """One table and one plot of all curves."""
    from unmask.findings import charts

    headline = curves[0][1].points[0].name
    table = Table(
        "Bias during fine-tuning",
        ("model", "step", headline, f"development, {data.metric}", "n"),
        tuple(
            (name, point.step, point.bias, point.score, point.n)
            for name, curve in curves
            for point in curve.points
        ),
        "At step 0 the head is random, so its bias says nothing about the model. Intervals are over the test "
        "items, not over fine-tuning runs: another seed gives another curve.",
        digits=3,
    )
    rows = [
        {
            "x": point.step,
            "y": point.bias.value,
            "low": point.bias.low,
            "high": point.bias.high,
            "series": name,
        }
        for name, curve in curves
        for point in curve.points
    ]
    description = f"{headline} against fine-tuning steps, one line per model, with intervals."
    plot = Plot(
        f"relearning-{task.name}",
        "Re-learning",
        description,
        charts.curves(rows, x="step", y=headline, band=True),
    )
    answers = tuple(
        f"{name}: {headline} {curve.points[0].bias.value:+.3f} before, {curve.points[-1].bias.value:+.3f} "
        f"({curve.points[-1].bias.low:+.3f} to {curve.points[-1].bias.high:+.3f}) after "
        f"{curve.points[-1].step:,} steps; validation {data.metric} {curve.points[-1].score:.3f}"
        for name, curve in curves
    )
    return Finding(answers, (table,), (plot,), data.notes)


def _read(path: Path) -> dict[int, CurvePoint]:
    if not path.is_file():
        return {}
    points = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:  # truncated when the run was killed
            continue
        points[row["step"]] = CurvePoint(**{**row, "bias": Value(**row["bias"])})
    return points
