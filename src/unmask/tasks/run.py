"""Run a task: open every model, fine-tune it where needed, and measure its bias."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from unmask.audit.session import Session, engine_for, unique_name
from unmask.core.errors import DataError
from unmask.core.estimate import Estimate
from unmask.core.options import Opening, Options, Serving, fill_groups
from unmask.core.request import with_request
from unmask.findings import Finding, Section
from unmask.findings.envelope import Result, build
from unmask.findings.folder import result_folder
from unmask.models import list_models, open_lm
from unmask.models.builtin import BUILT_IN
from unmask.models.classifier import is_classifier, open_classifier
from unmask.tasks import TASKS
from unmask.tasks.bias_curve import bias_curve, curve_finding
from unmask.tasks.finetune import FineTuneJob, fine_tune, model_facts
from unmask.tasks.label_bias import LabelBias, label_bias, label_table
from unmask.tasks.performance import performance_estimates, performance_table, unlearnt_notes
from unmask.tasks.spec import Task, TaskData, TaskObservation, TaskSettings
from unmask.training.distributed import is_main_process, on_main_process, world_size

WORK = "work"  # checkpoints to resume from
ADDING = "toxicity"  # the task that compares training with added data
Mode = Literal["lm", "classifier", "training", "curve"]
How = tuple[Opening, Serving]


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The finding of a task, the observations of each model, and the files that were read."""

    task: Task
    finding: Finding
    observations: tuple[TaskObservation, ...]
    files: tuple[Mapping[str, Any], ...]
    labels: LabelBias | None = None  # of the training data


@with_request("task", "models", target="name")
def task(
    name: str | Task,
    models: str | Path | Sequence[str | Path] = (),
    *,
    out: str | Path | None = None,
    on_observation: Callable[[TaskObservation], object] | None = None,
    **options: Any,
) -> Result:
    """Measure bias in a downstream task; several models are compared.

    A model that already has a classification head is evaluated as it is; others are fine-tuned on the task's
    data first. With `every` bias is measured during one fine-tuning instead of after a search.

    Args:
        name: the name of a task, or a `Task`.
        models: hub names, folders, or URLs of endpoints (winobias, winogender); default: the built-in model.
        out: the result folder, in which an interrupted run is resumed; None: nothing is written.
        on_observation: called for every model with what was observed, the fine-tuned classifier included.
        options: fields of `TaskSettings`, `Opening`, `Serving` and `Options`, or these groups themselves as
            `settings`, `opening`, `serving` and `options`.
    """
    settings, opening, serving, run = fill_groups(
        options, settings=TaskSettings, opening=Opening, serving=Serving, options=Options
    )
    names = [str(model) for model in list_models(models)]
    with result_folder(out, "task", also=(WORK,), lock=is_main_process()) as folder, _work_folder(out) as work:
        result = evaluate_models(TASKS.find(name), names or [BUILT_IN], work, settings, (opening, serving), run)
        if on_observation is not None:
            for observation in result.observations:
                on_observation(observation)
        meta = _content(result, settings)
        return on_main_process(lambda: folder.finish(meta))


def evaluate_models(
    task: Task, names: Sequence[str], folder: Path, settings: TaskSettings, how: How, options: Options
) -> TaskResult:
    """Measure the bias of every model in a task; checkpoints to resume from are written to `folder`."""
    if settings.every is not None and task.load_data is None:
        raise DataError(f"{task.name} does no fine-tuning, so `every` does not apply: leave it out")
    modes = [_mode(task, name, settings, how[0]) for name in names]
    trains = not {"training", "curve"}.isdisjoint(modes)
    if settings.added is not None and not (trains and task.name == ADDING):
        raise DataError(f"`added` text is for fine-tuning in {ADDING}: give `train` and a model without a classifier")
    data = task.load_data(settings) if trains and task.load_data is not None else None
    variants = task.variants(settings, data) if data else {"": None}
    data = variants[""]
    sources = (*(data.sources if data else ()), *task.sources(settings))  # refused before anything is trained
    observations: list[TaskObservation] = []
    for at, (name, mode) in enumerate(zip(names, modes, strict=True)):
        for label, part in variants.items():
            work = folder / f"{at}-{Path(name).name}{'-' * bool(label)}{label.replace(' ', '-')}"
            observation = _evaluate(task, name, mode, part, work, settings, how, options)
            title = f"{observation.name} {label}".strip()
            unique = unique_name(title, [other.name for other in observations])
            observations.append(replace(observation, model={**observation.model, "id": unique}))
    files = {source.name: source.facts() for source in sources}
    labels = label_bias(data.train, data.labels) if data else None
    finding = _conclude(task, observations, data, labels, settings)
    return TaskResult(task, finding, tuple(observations), tuple(files.values()), labels)


def _mode(task: Task, name: str, settings: TaskSettings, opening: Opening) -> Mode:
    """How a model is evaluated: as a language model, as a classifier, after fine-tuning, or during it."""
    if settings.every is not None:
        return "curve"
    if task.needs == "lm" or (task.needs == "classifier" and (task.load_data is None or settings.train is None)):
        return task.needs
    return "classifier" if is_classifier(name, opening) else "training"


def _evaluate(  # noqa: PLR0913, PLR0917 - the parts of a run
    task: Task,
    name: str,
    mode: Mode,
    data: TaskData | None,
    folder: Path,
    settings: TaskSettings,
    how: How,
    options: Options,
) -> TaskObservation:
    """Evaluate one model."""
    opening, _ = how
    if mode == "lm":
        lm = open_lm(name, *how)
        with engine_for(lm, replace(options, store=options.store and is_main_process())) as engine:
            session = Session(engine, options.progress)
            return TaskObservation(session.facts, task.observe(session, settings))
    if mode == "classifier":
        classifier = open_classifier(name, opening, length=settings.length)
        facts = {**model_facts(classifier), "labels": list(classifier.labels)}
        return TaskObservation(facts, task.observe(classifier, settings))
    assert data is not None
    job = FineTuneJob(name, data, settings, folder, opening, options.progress)
    if mode == "curve":
        return bias_curve(task, job)
    fine_tuned = fine_tune(job)
    result = on_main_process(lambda: task.observe(fine_tuned.classifier, settings))
    return TaskObservation(model_facts(fine_tuned.classifier), result, fine_tuned)


def _conclude(
    task: Task,
    observations: Sequence[TaskObservation],
    data: TaskData | None,
    labels: LabelBias | None,
    settings: TaskSettings,
) -> Finding:
    """The finding of the task, with task performance after its first table and the labels by gender at the end."""
    notes = data.notes if data else ()
    if settings.every is not None and data is not None:
        return replace(curve_finding(task, observations, data), notes=notes)
    finding = task.conclude(observations, settings)
    first, *others = finding.tables
    return replace(
        finding,
        tables=(first, *performance_table(observations), *others, *([label_table(labels)] if labels else ())),
        notes=(*unlearnt_notes(observations), *finding.notes, *notes),
    )


def _content(result: TaskResult, settings: TaskSettings) -> dict[str, Any]:
    """The content of `result.json`."""
    chosen = result.task
    foot = ", ".join(f"{file['name']} (sha256 {file['sha256'][:12]}…)" for file in result.files)
    models = ", ".join(observation.name for observation in result.observations)
    return build(
        "task",
        title=f"{chosen.title}: {models}",
        lead=chosen.question,
        models=[observation.model for observation in result.observations],
        options={"task": chosen.name, **{key: value for key, value in asdict(settings).items() if key != "data_dir"}},
        estimates=_estimates(result, settings),
        findings=[Section(chosen.name, chosen.title, chosen.question, result.finding, foot)],
        details={
            "task": chosen.name,
            "citation": chosen.citation,
            "files": result.files,
            "fine_tuned": [
                {"model": observation.name, **observation.fine_tuned.facts()}
                for observation in result.observations
                if observation.fine_tuned
            ],
            **({"labels": result.labels} if result.labels else {}),
            "curves": [
                {"model": observation.name, "points": observation.points}
                for observation in result.observations
                if observation.points
            ],
        },
    )


def _estimates(result: TaskResult, settings: TaskSettings) -> Iterator[Estimate]:
    """The numbers of every model, the headline first, then its task performance."""
    several = len(result.observations) > 1
    data = settings.data.name if settings.data else result.task.name
    for observation in result.observations:
        numbers = (*result.task.estimates(observation.result), *performance_estimates(observation))
        first = {(each.statistic, each.group): each for each in reversed(numbers)}
        for key in dict.fromkeys((each.statistic, each.group) for each in numbers):
            model = observation.name if several else ""
            yield replace(first[key], measure=result.task.name, data=data, model=model)


@contextmanager
def _work_folder(out: str | Path | None) -> Iterator[Path]:
    """The folder of checkpoints: in the result folder, or a temporary one."""
    if out is not None:
        yield Path(out) / WORK
        return
    if world_size() > 1:
        raise DataError("several processes need a folder that all of them can write to: give `out`")
    with TemporaryDirectory(prefix="unmask-task-") as temporary:
        yield Path(temporary)
