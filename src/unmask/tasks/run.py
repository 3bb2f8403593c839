"""Run a task: open every model, fine-tune it where needed, and measure its bias."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from unmask.audit.session import Session, engine_for, unique_name
from unmask.core.errors import DataError
from unmask.core.estimate import Estimate
from unmask.core.options import Opening, Options, Serving, fill_groups
from unmask.core.request import with_request
from unmask.findings import Conclusion, Section
from unmask.findings.envelope import Result, build
from unmask.findings.folder import result_folder
from unmask.models import list_models, open_lm
from unmask.models.builtin import BUILT_IN
from unmask.models.classifier import is_classifier, open_classifier
from unmask.tasks import TASKS
from unmask.tasks.bias_curve import bias_curve, with_curve
from unmask.tasks.finetune import FineTuneJob, fine_tune, model_facts
from unmask.tasks.performance import with_training
from unmask.tasks.spec import FineTuningOptions, Task, TaskData, TaskObservation, TaskOptions
from unmask.training.distributed import is_main_process, on_main_process, world_size

WORK = "work"  # checkpoints to resume from


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The conclusion of a task, the observations of each model, and the files that were read."""

    task: Task
    conclusion: Conclusion
    observations: tuple[TaskObservation, ...]
    files: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class TaskEvaluation:
    """A task with its options, and how models are opened and run."""

    task: Task
    options: TaskOptions
    opening: Opening
    serving: Serving
    run: Options

    @property
    def every(self) -> int | None:
        """The steps between evaluations during fine-tuning; None: bias is measured after a search."""
        return self.options.every if isinstance(self.options, FineTuningOptions) else None

    def trains(self, name: str) -> bool:
        """Whether a model is fine-tuned: it has no head of its own, or bias during fine-tuning is asked for."""
        if self.every is not None:
            if self.task.load_data is None:
                raise DataError(f"{self.task.name} does no fine-tuning, so `every` does not apply: leave it out")
            return True
        if self.task.needs == "lm" or self.task.load_data is None:
            return False
        without_data = self.task.needs == "classifier" and not self.task.training(self.options)
        return not without_data and not is_classifier(name, self.opening)

    def observe(self, name: str) -> TaskObservation:
        """Evaluate a language model, or a classifier as it is."""
        if self.task.needs == "lm":
            lm = open_lm(name, self.opening, self.serving)
            with engine_for(lm, replace(self.run, store=self.run.store and is_main_process())) as engine:
                session = Session(engine, self.run.progress)
                return TaskObservation(session.facts, self.task.observe(session, self.options))
        assert isinstance(self.options, FineTuningOptions)
        classifier = open_classifier(name, self.opening, length=self.options.length)
        facts = {**model_facts(classifier), "labels": list(classifier.labels)}
        return TaskObservation(facts, self.task.observe(classifier, self.options))

    def observe_fine_tuned(self, name: str, data: TaskData, folder: Path) -> TaskObservation:
        """Fine-tune a language model, and evaluate the classifier after a search or, with `every`, during training."""
        assert isinstance(self.options, FineTuningOptions)
        job = FineTuneJob(name, data, self.options, folder, self.opening, self.run.progress)
        if self.every is not None:
            return bias_curve(self.task, job)
        fine_tuned = fine_tune(job)
        result = on_main_process(lambda: self.task.observe(fine_tuned.classifier, self.options))
        return TaskObservation(model_facts(fine_tuned.classifier), result, fine_tuned)


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
        options: fields of the task's own options, `Opening`, `Serving` and `Options`, or these groups themselves as
            `settings`, `opening`, `serving` and `options`.
    """
    chosen = TASKS.find(name)
    groups = fill_groups(options, settings=chosen.options, opening=Opening, serving=Serving, options=Options)
    names = [str(model) for model in list_models(models)]
    with result_folder(out, "task", also=(WORK,), lock=is_main_process()) as folder, _work_folder(out) as work:
        result = evaluate_models(TaskEvaluation(chosen, *groups), names or [BUILT_IN], work)
        if on_observation is not None:
            for observation in result.observations:
                on_observation(observation)
        meta = _content(result, groups[0])
        return on_main_process(lambda: folder.finish(meta))


def evaluate_models(run: TaskEvaluation, names: Sequence[str], folder: Path) -> TaskResult:
    """Measure the bias of every model in a task; checkpoints to resume from are written to `folder`."""
    task, options = run.task, run.options
    trained = {name: run.trains(name) for name in names}
    if task.needs == "classifier" and task.training(options) and not any(trained.values()):
        raise DataError("`train` is for fine-tuning, and these models are classifiers already: leave it out")
    variants: Mapping[str, TaskData | None] = {"": None}
    if task.load_data is not None and any(trained.values()):
        variants = task.variants(options, task.load_data(options))
    data = variants[""]
    sources = (*(data.sources if data else ()), *task.sources(options))  # refused before anything is trained
    observations: list[TaskObservation] = []
    for at, name in enumerate(names):
        for label, part in variants.items():
            work = folder / f"{at}-{Path(name).name}{'-' * bool(label)}{label.replace(' ', '-')}"
            if part is not None and trained[name]:
                observation = run.observe_fine_tuned(name, part, work)
            else:
                observation = run.observe(name)
            title = f"{observation.name} {label}".strip()
            unique = unique_name(title, [other.name for other in observations])
            observations.append(replace(observation, model={**observation.model, "id": unique}))
    conclusion = with_training(task.conclude(observations, options), observations, data)
    if run.every is not None:
        conclusion = with_curve(conclusion, task.name, observations)
    files = {source.name: source.facts() for source in sources}
    return TaskResult(task, conclusion, tuple(observations), tuple(files.values()))


def _content(result: TaskResult, options: TaskOptions) -> dict[str, Any]:
    """The content of `result.json`."""
    chosen = result.task
    foot = ", ".join(f"{file['name']} (sha256 {file['sha256'][:12]}…)" for file in result.files)
    models = ", ".join(observation.name for observation in result.observations)
    return build(
        "task",
        title=f"{chosen.title}: {models}",
        lead=chosen.question,
        models=[observation.model for observation in result.observations],
        options={"task": chosen.name, **{key: value for key, value in asdict(options).items() if key != "data_dir"}},
        estimates=_estimates(result, getattr(options, "data", None)),
        findings=[Section(chosen.name, chosen.title, chosen.question, result.conclusion.finding, foot)],
        details={
            "task": chosen.name,
            "citation": chosen.citation,
            "files": result.files,
            "fine_tuned": [],
            "curves": [],
            **result.conclusion.details,
        },
    )


def _estimates(result: TaskResult, data: Path | None) -> list[Estimate]:
    """The numbers of every model, each once."""
    several = len(result.observations) > 1
    first: dict[tuple[str, str, str], Estimate] = {}
    for estimate in result.conclusion.estimates:
        first.setdefault((estimate.model, estimate.statistic, estimate.group), estimate)
    name = result.task.name
    return [
        replace(estimate, measure=name, data=data.name if data else name, model=estimate.model if several else "")
        for estimate in first.values()
    ]


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
