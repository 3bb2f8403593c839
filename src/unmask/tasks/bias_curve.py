"""Re-learning: the bias of a task every so many steps of fine-tuning, for several models (C9 of the papers).

Each look is written down at once, so a run that was killed keeps those before its last checkpoint.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmask.audit.plan import Options
from unmask.core.errors import DataError
from unmask.findings import Finding, Plot, Table, Value
from unmask.models import open_lm
from unmask.models.classifier import Classifier
from unmask.models.loading import Opening
from unmask.tasks.finetune import fine_tune_once
from unmask.tasks.metrics import sample_examples, score
from unmask.tasks.spec import Task, TaskData, TaskObservation, TaskSettings
from unmask.training.distributed import on_main_process

if TYPE_CHECKING:
    from unmask.tasks.run import TaskResult

POINTS = "points.jsonl"


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One look: the bias with its interval, and how well the task is done by then."""

    step: int
    name: str
    bias: Value
    n: int
    score: float


@dataclass(frozen=True, slots=True)
class BiasCurve:
    """All looks at one model, and what the task saw at the last."""

    points: tuple[CurvePoint, ...]
    last: Any


def run_bias_curves(
    task: Task, names: Sequence[str], settings: TaskSettings, folder: Path, how: Opening, options: Options
) -> TaskResult:
    """Fine-tune every model alike and follow its bias."""
    from unmask.tasks.run import TaskResult

    if task.load_data is None:
        raise DataError(f"{task.name} teaches nothing, so there is nothing to follow: leave --every out")
    lesson = task.load_data(settings)
    seen: list[TaskObservation] = []
    curves: list[tuple[str, BiasCurve]] = []
    for at, name in enumerate(names):
        about = asdict(open_lm(name, how).facts)
        if any(one.model["id"] == about["id"] for one in seen):
            about["id"] = name
        curve = bias_curve(task, name, lesson, settings, folder / f"{at}-{Path(name).name}", how, options)
        seen.append(TaskObservation(about, curve.last))
        curves.append((str(about["id"]), curve))
    files = {one.name: one.facts() for one in (*lesson.sources, *task.sources(settings))}
    return TaskResult(task, curve_finding(task, curves, lesson), tuple(seen), tuple(files.values()))


def bias_curve(  # noqa: PLR0913, PLR0917 - what teaching needs
    task: Task,
    name: str,
    lesson: TaskData,
    settings: TaskSettings,
    folder: Path,
    how: Opening,
    options: Options,
) -> BiasCurve:
    """One model's points, from the file where an earlier run left some."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / POINTS
    known = on_main_process(lambda: _read(path))
    seen: dict[int, Any] = {}
    judged = sample_examples(lesson.dev, settings)

    def look(step: int, judge: Classifier) -> None:
        if step in known and seen:
            return
        seen.clear()
        seen[step], known[step] = on_main_process(lambda: looked(step, judge))

    def looked(step: int, judge: Classifier) -> tuple[Any, CurvePoint]:
        what = task.observe(judge, settings)
        head = task.headline(what)
        point = CurvePoint(step, head.name, head.number, head.n, score(judge, judged, lesson.labels))
        with path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(asdict(point)) + "\n")
        return what, point

    judge, steps = fine_tune_once(
        name, lesson, settings, folder, opening=how, look=look, tell=options.progress
    )
    last = seen[steps] if steps in seen else task.observe(judge, settings)
    return BiasCurve(tuple(known[step] for step in sorted(known)), last)


def curve_finding(task: Task, curves: Sequence[tuple[str, BiasCurve]], lesson: TaskData) -> Finding:
    """One table, one plot."""
    from unmask.findings import charts

    head = curves[0][1].points[0].name
    table = Table(
        "Bias while the task is learnt",
        ("model", "step", head, f"development, {lesson.metric}", "n"),
        tuple(
            (name, point.step, point.bias, point.score, point.n)
            for name, curve in curves
            for point in curve.points
        ),
        "Step 0: the head is random, so the bias there says nothing of the model. Intervals are of the items "
        "asked, not of other fine-tunings: another seed gives another curve.",
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
    told = f"{head} against steps of fine-tuning, a line for every model, with intervals."
    plot = Plot(
        f"relearning-{task.name}", "Re-learning", told, charts.curves(rows, x="step", y=head, band=True)
    )
    answers = tuple(
        f"{name}: {head} {curve.points[0].bias.value:+.3f} before, {curve.points[-1].bias.value:+.3f} "
        f"({curve.points[-1].bias.low:+.3f} to {curve.points[-1].bias.high:+.3f}) after "
        f"{curve.points[-1].step:,} steps; development {lesson.metric} {curve.points[-1].score:.3f}"
        for name, curve in curves
    )
    return Finding(answers, (table,), (plot,), lesson.notes)


def _read(path: Path) -> dict[int, CurvePoint]:
    if not path.is_file():
        return {}
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:  # cut short by a kill
            continue
        found[row["step"]] = CurvePoint(**{**row, "bias": Value(**row["bias"])})
    return found
