"""Tasks run: every model is opened, taught where it must be, looked at, and closed again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from unmask.audit.plan import Options, engine_for, opening_for, refuse_foreign, versions, write_json
from unmask.audit.session import Session
from unmask.core.errors import DataError
from unmask.findings import Finding, as_json
from unmask.models import open_lm
from unmask.models.builtin import BUILT_IN
from unmask.models.classifier import Classifier
from unmask.models.classifier_loading import is_classifier, open_classifier
from unmask.models.loading import Opening
from unmask.tasks.finetune import FineTuned, fine_tune
from unmask.tasks.spec import Task, TaskData, TaskObservation, TaskSettings
from unmask.training.distributed import on_main_process, world_size

SCHEMA = 1
RESULT, WORK = "task.json", "work"


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What a task found, of which models, and on which files."""

    task: Task
    finding: Finding
    observations: tuple[TaskObservation, ...]
    files: tuple[Mapping[str, Any], ...]


def run(
    task: Task,
    models: Sequence[str | Path] = (),
    *,
    settings: TaskSettings | None = None,
    out: str | Path | None = None,
    opening: Opening | None = None,
    options: Options | None = None,
) -> TaskResult:
    """Look at every model by one task; `out` gets `task.json` and, while teaching, what a killed run needs.

    A model that has a classification head already is judged as it is; others are taught by the task's lesson.
    With `settings.every` the bias is followed while they are taught, in the place of a search.
    """
    settings, options = settings or TaskSettings(), options or Options()
    how = opening_for(opening, options)
    if out is not None:
        refuse_foreign(Path(out), (RESULT, WORK))
    names = [str(one) for one in models] or [BUILT_IN]
    if out is None:
        if world_size() > 1:
            raise DataError("several processes need a folder that all of them see: give out")
        with TemporaryDirectory(prefix="unmask-task-") as passing:
            return _run(task, names, settings, Path(passing), how, options)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    done = _run(task, names, settings, folder / WORK, how, options)
    on_main_process(lambda: write_json(folder / RESULT, result_json(done, settings)))
    return done


def result_json(done: TaskResult, settings: TaskSettings) -> dict[str, Any]:
    """Everything that was found, in full precision; no path of the machine in it."""
    told = {key: _plain(value) for key, value in asdict(settings).items() if key != "data_dir"}
    return {
        "schema": SCHEMA,
        "unmask": version("unmask"),
        "task": done.task.name,
        "question": done.task.question,
        "models": [dict(one.model) for one in done.observations],
        "files": [dict(one) for one in done.files],
        "settings": told,
        "headlines": [_headline(done.task, one) for one in done.observations],
        "taught": [_taught(one) for one in done.observations if one.fine_tuned is not None],
        "versions": versions(),
        "finding": as_json(done.finding),
    }


def _run(
    task: Task, names: Sequence[str], settings: TaskSettings, folder: Path, how: Opening, options: Options
) -> TaskResult:
    from unmask.tasks.bias_curve import run_bias_curves

    if settings.every is not None:
        return run_bias_curves(task, names, settings, folder, how, options)
    taught = task.load_data is not None and any(not is_classifier(name, how) for name in names)
    lesson = task.load_data(settings) if task.load_data is not None and taught else None
    seen = tuple(
        evaluate_model(task, name, lesson, settings, folder / _slug(at, name), how, options)
        for at, name in enumerate(names)
    )
    finding = task.conclude(seen, settings)
    notes = (*finding.notes, *(lesson.notes if lesson else ()))
    files = {one.name: one.facts() for one in (*(lesson.sources if lesson else ()), *task.sources(settings))}
    return TaskResult(
        task, Finding(finding.answers, finding.tables, finding.plots, notes), seen, tuple(files.values())
    )


def evaluate_model(  # noqa: PLR0913, PLR0917 - what looking needs
    task: Task,
    name: str,
    lesson: TaskData | None,
    settings: TaskSettings,
    folder: Path,
    how: Opening,
    options: Options,
) -> TaskObservation:
    """One model by one task: asked, judged, or taught first."""
    if task.needs == "lm":
        lm = open_lm(name, how)
        with engine_for(lm, options) as engine:
            subject = Session(engine, options.progress)
            return TaskObservation(subject.facts, task.observe(subject, settings))
    if task.needs == "classifier" or is_classifier(name, how):
        judge = open_classifier(name, how, length=settings.length)
        return TaskObservation(classifier_facts(judge, name), task.observe(judge, settings))
    assert lesson is not None
    about = asdict(open_lm(name, how).facts)  # also refuses damaged weights before anything is taught
    folder.mkdir(parents=True, exist_ok=True)
    told = fine_tune(name, lesson, settings, folder, opening=how, tell=options.progress)
    return TaskObservation(about, on_main_process(lambda: task.observe(told.classifier, settings)), told)


def classifier_facts(judge: Classifier, name: str) -> dict[str, Any]:
    """What a result records of a classifier."""
    return {
        "id": Path(name).name if Path(name).is_dir() else name,
        "kind": "classifier",
        "architecture": type(judge.model).__name__,
        "parameters": sum(one.numel() for one in judge.model.parameters()),
        "labels": list(judge.labels),
        "device": str(next(judge.model.parameters()).device.type),
    }


def _taught(one: TaskObservation) -> dict[str, Any]:
    told: FineTuned = one.fine_tuned
    return {
        "model": one.model["id"],
        "metric": told.metric,
        "dev": _numbers(told.dev),
        "test": _numbers(told.test) if told.test else None,
        "commonest": told.majority_share,
        "chosen": _numbers(told.chosen),
        "trials": [_numbers(trial) for trial in told.trials],
        "rows": told.train_examples,
    }


def _headline(task: Task, one: TaskObservation) -> dict[str, Any]:
    found = task.headline(one.result)
    return {"model": one.model["id"], "name": found.name, **_numbers(found.number), "n": found.n}


def _numbers(one: Any) -> dict[str, Any]:
    """The fields of a record; None where a number is not known."""
    return {key: _plain(value) for key, value in asdict(one).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return value.name
    return None if isinstance(value, float) and value != value else value  # noqa: PLR0124 - NaN


def _slug(at: int, name: str) -> str:
    return f"{at}-{Path(name).name}"
