"""Run a task: open every model, fine-tune it where needed, and measure its bias."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from unmask.audit.plan import engine_for
from unmask.audit.session import Session
from unmask.core.errors import DataError
from unmask.core.files import write_json
from unmask.core.options import Opening, Options
from unmask.findings import Finding, as_json
from unmask.findings.envelope import refuse_foreign, versions
from unmask.models import open_lm
from unmask.models.builtin import BUILT_IN
from unmask.models.classifier import Classifier
from unmask.models.loading import is_classifier, open_classifier
from unmask.tasks.finetune import FineTuned, fine_tune
from unmask.tasks.spec import Task, TaskData, TaskObservation, TaskSettings
from unmask.training.distributed import on_main_process, world_size

SCHEMA = 1
RESULT, WORK = "task.json", "work"


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The finding of a task, the observations of each model, and the files that were read."""

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
    """Run a task on every model; `out` receives `task.json` and the checkpoints to resume from.

    A model that already has a classification head is evaluated as it is; others are fine-tuned on the task's
    data first. With `settings.every` bias is measured during one fine-tuning instead of after a search.
    """
    settings, options = settings or TaskSettings(), options or Options()
    opening = opening or Opening(offline=options.offline)
    if out is not None:
        refuse_foreign(Path(out), (RESULT, WORK))
    names = [str(model) for model in models] or [BUILT_IN]
    if out is None:
        if world_size() > 1:
            raise DataError("several processes need a folder that all of them can write to: give `out`")
        with TemporaryDirectory(prefix="unmask-task-") as temporary:
            return _run(task, names, settings, Path(temporary), opening, options)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    result = _run(task, names, settings, folder / WORK, opening, options)
    on_main_process(lambda: write_json(folder / RESULT, result_json(result, settings)))
    return result


def result_json(result: TaskResult, settings: TaskSettings) -> dict[str, Any]:
    """The result as JSON, in full precision and without local paths."""
    settings_json = {key: _plain(value) for key, value in asdict(settings).items() if key != "data_dir"}
    return {
        "schema": SCHEMA,
        "unmask": version("unmask"),
        "task": result.task.name,
        "question": result.task.question,
        "models": [dict(observation.model) for observation in result.observations],
        "files": [dict(file) for file in result.files],
        "settings": settings_json,
        "headlines": [_headline_json(result.task, observation) for observation in result.observations],
        "taught": [_training_json(each) for each in result.observations if each.fine_tuned is not None],
        "versions": versions(),
        "finding": as_json(result.finding),
    }


def _run(
    task: Task, names: Sequence[str], settings: TaskSettings, folder: Path, opening: Opening, options: Options
) -> TaskResult:
    from unmask.tasks.bias_curve import run_bias_curves

    if settings.every is not None:
        return run_bias_curves(task, names, settings, folder, opening, options)
    needs_training = task.load_data is not None and any(not is_classifier(name, opening) for name in names)
    data = task.load_data(settings) if task.load_data is not None and needs_training else None
    observations = tuple(
        evaluate_model(task, name, data, settings, folder / _slug(at, name), opening, options)
        for at, name in enumerate(names)
    )
    finding = task.conclude(observations, settings)
    notes = (*finding.notes, *(data.notes if data else ()))
    sources = (*(data.sources if data else ()), *task.sources(settings))
    files = {source.name: source.facts() for source in sources}
    finding = Finding(finding.answers, finding.tables, finding.plots, notes)
    return TaskResult(task, finding, observations, tuple(files.values()))


def evaluate_model(  # noqa: PLR0913, PLR0917 - the parts of a run
    task: Task,
    name: str,
    data: TaskData | None,
    settings: TaskSettings,
    folder: Path,
    opening: Opening,
    options: Options,
) -> TaskObservation:
    """Observe one model: as a language model, as a classifier, or after fine-tuning."""
    if task.needs == "lm":
        lm = open_lm(name, opening)
        with engine_for(lm, options) as engine:
            session = Session(engine, options.progress)
            return TaskObservation(session.facts, task.observe(session, settings))
    if task.needs == "classifier" or is_classifier(name, opening):
        classifier = open_classifier(name, opening, length=settings.length)
        facts = {**model_facts(classifier), "labels": list(classifier.labels)}
        return TaskObservation(facts, task.observe(classifier, settings))
    assert data is not None
    folder.mkdir(parents=True, exist_ok=True)
    fine_tuned = fine_tune(name, data, settings, folder, opening=opening, progress=options.progress)
    result = on_main_process(lambda: task.observe(fine_tuned.classifier, settings))
    return TaskObservation(model_facts(fine_tuned.classifier), result, fine_tuned)


def model_facts(classifier: Classifier) -> dict[str, Any]:
    """The facts about the checkpoint a classifier was opened from or is fine-tuned from."""
    assert classifier.facts is not None
    return asdict(classifier.facts)


def _training_json(observation: TaskObservation) -> dict[str, Any]:
    fine_tuned: FineTuned = observation.fine_tuned
    return {
        "model": observation.model["id"],
        "metric": fine_tuned.metric,
        "dev": _numbers(fine_tuned.dev),
        "test": _numbers(fine_tuned.test) if fine_tuned.test else None,
        "commonest": fine_tuned.majority_share,
        "chosen": _numbers(fine_tuned.chosen),
        "trials": [_numbers(trial) for trial in fine_tuned.trials],
        "rows": fine_tuned.train_examples,
    }


def _headline_json(task: Task, observation: TaskObservation) -> dict[str, Any]:
    headline = task.headline(observation.result)
    return {
        "model": observation.model["id"],
        "name": headline.name,
        **_numbers(headline.number),
        "n": headline.n,
    }


def _numbers(record: Any) -> dict[str, Any]:
    """The fields of a dataclass; NaN becomes None."""
    return {key: _plain(value) for key, value in asdict(record).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return value.name
    return None if isinstance(value, float) and value != value else value  # noqa: PLR0124 - NaN


def _slug(at: int, name: str) -> str:
    return f"{at}-{Path(name).name}"
