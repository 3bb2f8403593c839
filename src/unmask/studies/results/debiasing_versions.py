"""The versions of the models of `debiasing`: their scores in every training, over trainings, and how they rank."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unmask.audit.result import load
from unmask.core.estimate import Value
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.stats.agreement import MIN_RANKED, RankTest, kendall, kendall_taus
from unmask.stats.bootstrap import RESAMPLES, percentile_interval
from unmask.stats.shares import signed_estimate
from unmask.studies.papers.debiasing import (
    AFTER,
    BEFORE,
    INTRINSIC,
    MEASURED,
    ORIGINAL,
    SEARCH,
    TUNED,
    ZERO_SHOT,
    DebiasingOptions,
    version_name,
)
from unmask.studies.spec import Outputs
from unmask.studies.steps.finetuning import TaskOutcome, load_outcome

METHOD_SETS = {"as published": ("at-code", "cda-kaneko", "DO"), "corrected": ("AT", "CDA", "DO")}
SIZES = "BiasBios, absolute gaps"  # the mean of absolute TPR gaps, beside that of signed ones
Scores = Mapping[str, tuple[Value, int]]  # by measure or task: the score and n


@dataclass(frozen=True, slots=True)
class TaskRun:
    """One version on one task."""

    curve: TaskOutcome | None  # bias tracked during fine-tuning; its last network is audited again
    final: TaskOutcome | None  # the best model of the search, else the end of the curve; or without fine-tuning
    intrinsic: Scores  # after fine-tuning, of the network at the end of the curve


@dataclass(frozen=True, slots=True)
class Training:
    """A version as one seed made it: mitigated once, and fine-tuned once on every task."""

    intrinsic: Scores  # before fine-tuning
    tasks: Mapping[str, TaskRun]

    def extrinsic(self, task: str, when: str = BEFORE) -> Scores:
        """Extrinsic scores; after fine-tuning of the very network whose intrinsic scores are compared with them."""
        run = self.tasks[task]
        outcome = run.curve if when == AFTER else run.final
        if outcome is None:
            return {}
        sizes = {SIZES: (outcome.absolute, outcome.n)} if outcome.absolute is not None else {}
        return {task: (outcome.bias, outcome.n), **sizes}

    @property
    def scores(self) -> dict[str, tuple[Value, int]]:
        """Intrinsic scores by measure, then extrinsic bias by task."""
        scores = dict(self.intrinsic)
        for task in self.tasks:
            scores |= self.extrinsic(task)
        return scores


@dataclass(frozen=True, slots=True)
class ModelVersion:
    """A model, original or mitigated, in all its trainings."""

    model: str
    version: str
    trainings: tuple[Training, ...]

    @property
    def name(self) -> str:
        """The name in steps and tables."""
        return version_name(self.model, self.version)

    def finals(self, task: str) -> list[TaskOutcome]:
        """The outcomes of all trainings on a task."""
        return [final for training in self.trainings if (final := training.tasks[task].final)]

    def values(self, measure: str) -> list[Value]:
        """The score of every training that has it."""
        return [training.scores[measure][0] for training in self.trainings if measure in training.scores]

    @property
    def counts(self) -> dict[str, int]:
        """By measure, the number of items of a score."""
        return {name: n for training in self.trainings for name, (_, n) in training.scores.items()}


def load_version(outputs: Outputs, model: str, version: str, options: DebiasingOptions) -> ModelVersion:
    """A version with the trainings that finished; an original needs no second one where nothing is trained."""
    first, trainings = str(options.seed), []
    for seed in map(str, options.training_seeds):
        once = first if version == ORIGINAL else seed
        runs = {}
        for task in options.tasks:
            curve, search, measured = (
                load_outcome(folder) if (folder := outputs.get((role, model, version, of_seed, task))) else None
                for role, of_seed in ((TUNED, seed), (SEARCH, seed), (MEASURED, once))
            )
            after = _intrinsic(outputs, (AFTER, model, version, seed, task))
            runs[task] = TaskRun(curve, measured or search or curve, after)
        trainings.append(Training(_intrinsic(outputs, (BEFORE, model, version, once)), runs))
    return ModelVersion(model, version, tuple(trainings))


def _intrinsic(outputs: Outputs, role: tuple[str, ...]) -> Scores:
    """Bias score less its null value, and n, by measure."""
    return {
        estimate.measure.upper(): (signed_estimate(estimate), estimate.n)
        for (*start, _), folder in outputs.items()
        if tuple(start) == role
        for estimate in load(folder).headlines(published=True)
        if estimate.measure in INTRINSIC and estimate.null is not None
    }


# ---------------------------------------------------------------------------------------------------- ranking


@dataclass(frozen=True, slots=True)
class RankCell:
    """How alike an intrinsic and an extrinsic measure rank the versions, at one time."""

    methods: str  # which mitigations: "as published"
    intrinsic: str
    extrinsic: str  # the task, or `SIZES`
    task: str
    when: str  # BEFORE or AFTER fine-tuning
    tau: Value
    unit: str  # what is resampled for its interval
    test: RankTest
    by_training: tuple[Value, ...]  # τ of every training alone
    resampled: Floats
    ranked: Mapping[str, tuple[float, float]]  # by version: the two scores, means over trainings

    @property
    def key(self) -> tuple[str, str, str]:
        """What is ranked, whenever."""
        return self.methods, self.intrinsic, self.extrinsic


def method_sets(methods: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The mitigations that are ranked together: the published ones, the corrected ones, and all if there are others."""
    complete: dict[str, tuple[str, ...]] = {name: of for name, of in METHOD_SETS.items() if set(of) <= set(methods)}
    others = set(methods) - {method for of in complete.values() for method in of}
    return {**complete, "chosen": tuple(methods)} if others or not complete else complete


def rank_cells(versions: Sequence[ModelVersion], methods: Sequence[str], seed: int) -> tuple[list[RankCell], list[str]]:
    """τ for all mitigations, measures, tasks and times; and notes on what could not be ranked."""
    cells: list[RankCell] = []
    notes: dict[str, None] = {}
    for name, chosen in method_sets(methods).items():
        used = [version for version in versions if version.version in (ORIGINAL, *chosen)]
        tasks = dict.fromkeys(task for version in used for training in version.trainings for task in training.tasks)
        for when in (BEFORE, AFTER):
            for task in (task for task in tasks if when == BEFORE or task not in ZERO_SHOT):
                of_task = [*_cells(used, name, task, when, seed)]
                few = f"{task}, {when} fine-tuning: fewer than {MIN_RANKED} versions can be ranked"
                notes |= {} if of_task else {few: None}
                cells += of_task
    return cells, list(notes)


def _cells(versions: Sequence[ModelVersion], methods: str, task: str, when: str, seed: int) -> Iterator[RankCell]:
    """The cells of one task at one time, over the versions all of whose trainings have scores."""
    scores: dict[tuple[str, str], dict[str, list[tuple[float, float]]]] = {}
    by_name = {version.name: version for version in versions}
    for version in versions:
        for training in version.trainings:
            inside = training.intrinsic if when == BEFORE else training.tasks[task].intrinsic
            for extrinsic, (outside, _) in training.extrinsic(task, when).items():
                for intrinsic, (score, _) in inside.items():
                    pairs = scores.setdefault((intrinsic, extrinsic), {}).setdefault(version.name, [])
                    pairs += [(score.value, abs(outside.value))] if math.isfinite(outside.value) else []
    for (intrinsic, extrinsic), by_version in scores.items():
        names = [name for name, pairs in by_version.items() if len(pairs) == len(by_name[name].trainings)]
        if len(names) < MIN_RANKED:
            continue
        table = np.array([by_version[name] for name in names])  # versions × trainings × (intrinsic, extrinsic)
        models, trainings = [by_name[name].model for name in names], table.shape[1]
        several = len(set(models)) >= MIN_RANKED
        resampled = resampled_taus(table, models if several else names, seed=seed, label=f"{intrinsic}/{extrinsic}")
        means = table.mean(axis=1)
        test = kendall(*means.T)
        unit = "models with their versions" if several else "versions, of too few models"
        unit = unit if trainings == 1 else f"{unit}, and over trainings"
        alone = kendall_taus(*np.moveaxis(table, (2, 1), (0, 1))).tolist() if trainings > 1 else ()
        tau = percentile_interval(resampled, test.value, unit)
        ranked = {name: (float(x), float(y)) for name, (x, y) in zip(names, means, strict=True)}
        of_trainings = tuple(map(Value, alone))
        yield RankCell(methods, intrinsic, extrinsic, task, when, tau, unit, test, of_trainings, resampled, ranked)


def resampled_taus(table: Floats, families: Sequence[str], *, seed: int, label: str) -> Floats:
    """τ in every resample: families of versions are drawn whole, and trainings within each version.

    `table` is versions × trainings × 2 measures; both scores of a training stay together.
    """
    rng, (versions, trainings, _) = generator(seed, label), table.shape
    names, family = np.unique(np.array(families), return_inverse=True)
    drawn = rng.integers(0, names.size, size=(RESAMPLES, names.size))
    times = (drawn[:, :, None] == np.arange(names.size)).sum(axis=1)[:, family].astype(np.float64)
    runs = rng.integers(0, trainings, size=(RESAMPLES, versions, trainings))
    means = table[np.arange(versions)[:, None], runs].mean(axis=2)  # resamples × versions × 2
    return kendall_taus(means[..., 0], means[..., 1], times)


def tau_changes(cells: Sequence[RankCell]) -> list[tuple[RankCell, Value]]:
    """By measure and task, τ after − τ before, over the same resamples of models and trainings."""
    before = {cell.key: cell for cell in cells if cell.when == BEFORE}
    changes = []
    for after in (cell for cell in cells if cell.when == AFTER):
        first = before.get(after.key)
        if first is not None and list(first.ranked) == list(after.ranked):
            change = after.test.value - first.test.value
            changes.append((after, percentile_interval(after.resampled - first.resampled, change, after.unit)))
    return changes
