"""Fine-tuning steps: fine-tune a model on a task, track its bias, and put its encoder back into the LM."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from unmask.audit.result import load
from unmask.core.errors import ModelError, UnmaskError
from unmask.core.estimate import Value
from unmask.core.files import partial_file
from unmask.corpus import count
from unmask.corpus.counting import count_files
from unmask.data.examples import Source
from unmask.findings.storage import load_value
from unmask.models import open_lm
from unmask.studies.backends.ray import count_on_ray
from unmask.studies.forecast import OPTIMIZER, TOKENS
from unmask.studies.graph import MISSING
from unmask.studies.spec import Runtime, Step, StepContext, StepKind, WorkEstimate
from unmask.studies.texts import find_text_file
from unmask.tasks import Grid, TaskOptions, find
from unmask.tasks.biasbios import ABSOLUTE
from unmask.tasks.performance import beats_baseline
from unmask.tasks.run import WORK, task
from unmask.tasks.spec import CurvePoint, TaskObservation
from unmask.training.checkpoints import save_model

COUNTS = "counts"  # the result folder of a TALLIED step
FILES = ("train", "dev", "data")  # settings that name a file of the user
LISTS = "lists"  # one that names two
LENGTHS = {"stsbias": 35.0, "nlibias": 35.0, "biasbios": 90.0}  # mean tokens per example, approximate
VALIDATION = {"stsbias": 1500, "nlibias": 1700, "biasbios": 130}  # examples of the data at hand
BIAS_ITEMS = {"biasbios": 130, "sentiment": 1320, "toxicity": 2000, "winobias": 3168, "winogender": 1440}  # inputs
SIDES = ("accuracy, pro, %", "accuracy, anti, %")  # of pronouns that are resolved without fine-tuning
HOST_SECONDS = 4.0  # of data and resampling, at every training
GPU_START = 7.0  # seconds, at every training
ANSWER_PASSES = 4.0  # per sentence and answer, approximate


def finetune_and_track(context: StepContext) -> None:
    """Fine-tune once, record the bias every `every` steps, and save the resulting language model."""

    def save_lm(observation: TaskObservation) -> None:
        assert observation.fine_tuned is not None
        lm, encoder = open_lm(context.model, context.opening), observation.fine_tuned.classifier.model.base_model
        model = lm.network.model  # its LM head is unchanged
        missing, _ = model.base_model.load_state_dict(encoder.state_dict(), strict=False)
        if missing:
            raise ModelError(f"the fine-tuned model has no weights for {', '.join(missing[:3])}")
        save_model(model, lm.tokenizer, context.folder)

    finetune(context, save_lm)


def finetune(context: StepContext, on_observation: Callable[[TaskObservation], None] = lambda _: None) -> None:
    """Fine-tune by the settings, as in the paper by greedy search on the validation set; save the bias."""
    name = context.parameters["task"]
    if find(name).load_data is None:
        raise ModelError(f"{name} is zero-shot: name a task with fine-tuning")
    for path in context.folder.iterdir():  # of an attempt interrupted after training: rewritten below
        if path.is_file():
            path.unlink()
    how = {"settings": _settings(context), "opening": context.opening, "offline": context.runtime.offline}
    task(name, context.model, out=context.folder, on_observation=on_observation, **how)
    shutil.rmtree(context.folder / WORK, ignore_errors=True)


def measure_zero_shot(context: StepContext) -> None:
    """Measure the bias of a language model in a task without fine-tuning."""
    how: dict[str, Any] = {"opening": context.opening, "offline": context.runtime.offline, "store": False}
    task(context.parameters["task"], context.model, out=context.folder, settings=_settings(context), **how)


def count_gendered_words(context: StepContext) -> None:
    """Count gendered words in a task's training data (Table 1), those of the package or of the files `lists`."""
    chosen, settings = find(context.parameters["task"]), _settings(context)
    assert chosen.load_data is not None
    path = context.folder / "texts.txt"
    with partial_file(path) as partial, partial.open("w", encoding="utf-8") as file:
        for example in chosen.load_data(settings).train:
            file.write(" ".join(f"{example.text} {example.second or ''}".split()) + "\n")
    how: dict[str, Any] = {"count_with": count_files if context.parallel_map is map else count_on_ray, "processes": 1}
    if lists := context.parameters.get(LISTS):  # as the paper counts
        how |= {
            "lists": [_file(name, context.runtime) for name in lists],
            "names": ("feminine", "masculine"),
            "whitespace": True,
        }
    count(path, out=context.folder / COUNTS, professions=False, seed=settings.seed, **how)
    path.unlink()


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """The output of a step that runs a task: bias during and after fine-tuning, and task performance."""

    points: tuple[CurvePoint, ...]  # empty after a search, and without fine-tuning
    bias: Value  # of the best model of a search, or at the last point
    n: int
    score: Value  # accuracy or Pearson's r on the validation set; without fine-tuning the accuracy of the better side
    majority_share: float  # the score of a constant prediction
    absolute: Value | None = None  # of BiasBios the mean of absolute gaps, where `bias` is that of signed ones

    @property
    def beats_baseline(self) -> bool:
        """Whether the score is significantly above the baseline; otherwise the bias is not interpretable."""
        return beats_baseline(self.score, self.majority_share)


def load_outcome(folder: Path) -> TaskOutcome:
    """The output of a FOLLOWED, SEARCHED or MEASURED step."""
    result = load(folder)
    headline = result.estimates[0]
    if not result.meta["details"]["fine_tuned"]:
        sides = [each for each in result.estimates if each.statistic in SIDES and each.group == headline.group]
        best = max(sides, key=lambda each: each.value)
        score = Value(best.value / 100, best.low / 100, best.high / 100, best.method)
        return TaskOutcome((), headline, headline.n, score, 0.5)
    (fine_tuned,) = result.meta["details"]["fine_tuned"]
    points = tuple(
        CurvePoint(**{**row, "bias": load_value(row["bias"])})
        for curve in result.meta["details"]["curves"]
        for row in curve["points"]
    )
    score = next(each for each in result.estimates if each.group == "split=validation")
    bias, n = (points[-1].bias, points[-1].n) if points else (headline, headline.n)
    absolute = next((each for each in result.estimates if each.statistic == ABSOLUTE), None)
    return TaskOutcome(points, bias, n, score, fine_tuned["majority_share"] or 0.0, absolute)


def training_digests(step: Step, runtime: Runtime) -> list[str]:
    """The digests of the files of a task's training data: the user's, or those in the data folder."""
    return _digests(find(step.parameters["task"]).training, step, runtime)


def task_digests(step: Step, runtime: Runtime) -> list[str]:
    """The digests of all files of a task: of its training data, and of what its bias is measured on."""
    return [*training_digests(step, runtime), *_digests(find(step.parameters["task"]).sources, step, runtime)]


def _digests(sources: Callable[[TaskOptions], Sequence[Source]], step: Step, runtime: Runtime) -> list[str]:
    try:
        found = sources(find(step.parameters["task"]).pick_options(_files(step.parameters["settings"], runtime)))
    except UnmaskError:  # the step reports it
        return [MISSING]
    return [f"{source.name}:{source.sha256}" for source in found]


def _settings(context: StepContext) -> TaskOptions:
    chosen = dict(context.parameters["settings"])
    grid = Grid(**{name: tuple(values) for name, values in chosen.pop("grid", {}).items()})
    files = _files(chosen, context.runtime)
    return find(context.parameters["task"]).pick_options(
        {**chosen, **files, "seed": context.parameters["seed"], "grid": grid}
    )


def _files(settings: Mapping[str, Any], runtime: Runtime) -> dict[str, Any]:
    """The settings that name files, by path or within the data folder, and that folder."""
    files: dict[str, Any] = {name: _file(settings[name], runtime) for name in FILES if settings.get(name)}
    lists = {LISTS: tuple(_file(name, runtime) for name in settings[LISTS])} if settings.get(LISTS) else {}
    return {**files, **lists, "data_dir": runtime.data_dir}


def _file(name: str, runtime: Runtime) -> Path:
    place = runtime.place(name)
    return find_text_file(place, runtime.data_dir) or Path(place)


def zero_shot_work(step: Step) -> WorkEstimate:
    """Every sentence with both answers."""
    chosen = step.parameters["settings"]
    items = chosen.get("limit") or BIAS_ITEMS.get(step.parameters["task"], 1000)
    return WorkEstimate(forward_tokens=2.0 * items * TOKENS * ANSWER_PASSES)


def work_estimate(step: Step) -> WorkEstimate:
    """Training steps × batch size; at every evaluation the validation set and the items of the bias."""
    task, chosen = step.parameters["task"], step.parameters["settings"]
    batch = (chosen.get("grid") or {"batch": [32]})["batch"][0]
    steps = chosen.get("steps") or 5500
    trials = 7 if step.kind.endswith(":SEARCHED") else 1
    evaluations = trials if trials > 1 else 1 + steps // (chosen.get("every") or steps)
    length = min(LENGTHS.get(task, 60.0), chosen.get("length") or 128)
    validation = min(VALIDATION.get(task, 1000), chosen.get("rows") or 10**9)
    forward = evaluations * (validation + _bias_items(task, chosen)) * length
    trained = trials * steps * (batch * length + OPTIMIZER)
    return WorkEstimate(forward, trained, HOST_SECONDS * trials, trials * steps, GPU_START * trials)


def _bias_items(task: str, chosen: Mapping[str, Any]) -> int:
    """How many inputs the bias of a task is measured on."""
    if task == "stsbias":  # templates × professions × two sentences
        return int(chosen.get("limit") or 275) * 60 * 2
    return 2 * int(chosen.get("triples") or 10_000) if task == "nlibias" else BIAS_ITEMS.get(task, 1000)


def step(  # noqa: PLR0913, PLR0917 - the parts of a fine-tuning
    kind: str,
    name: str,
    task: str,
    settings: Mapping[str, Any],
    seed: int,
    model: str | Step | None = None,
    lists: tuple[str, ...] = (),
) -> Step:
    """A step of this kind (FOLLOWED, SEARCHED, MEASURED or TALLIED) for one task; the user's files are its data."""
    parameters = {"task": task, "seed": seed, "settings": dict(settings), **({LISTS: list(lists)} if lists else {})}
    planned = Step.of(name, f"{__name__}:{kind}", parameters, model=model)
    files = [settings[name] for name in FILES if settings.get(name)]
    return replace(planned, data=(*files, *(settings.get(LISTS) or ()), *lists))


TUNED: dict[str, Any] = {"version": 6, "estimate_work": work_estimate, "resumable": True, "digests": task_digests}
FOLLOWED, SEARCHED = StepKind(finetune_and_track, **TUNED), StepKind(finetune, **TUNED)
MEASURED = StepKind(measure_zero_shot, estimate_work=zero_shot_work, digests=task_digests)
TALLIED = StepKind(
    count_gendered_words, version=2, runs_model=False, has_parts=lambda _: True, digests=training_digests
)
