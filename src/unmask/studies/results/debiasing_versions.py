"""The versions of the models of `debiasing`: their scores in every training, and over trainings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from unmask.audit.result import load
from unmask.core.estimate import Estimate, Value
from unmask.stats.shares import signed_estimate
from unmask.studies.papers.debiasing import (
    AFTER,
    BEFORE,
    INTRINSIC,
    MEASURED,
    ORIGINAL,
    SEARCH,
    TUNED,
    DebiasingOptions,
    version_name,
)
from unmask.studies.spec import Outputs
from unmask.studies.steps.finetuning import TaskOutcome, load_outcome

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
        return {
            **self.intrinsic,
            **{name: score for task in self.tasks for name, score in self.extrinsic(task).items()},
        }


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
    """A version with the trainings that finished."""
    first = _intrinsic(outputs, (BEFORE, model, version, str(options.seed)))
    trainings = []
    for seed in map(str, options.training_seeds):
        runs = {}
        once = str(options.seed) if version == ORIGINAL else seed  # of what needs no training
        for task in options.tasks:
            curve, search, measured = (
                load_outcome(folder) if (folder := outputs.get((role, model, version, of_seed, task))) else None
                for role, of_seed in ((TUNED, seed), (SEARCH, seed), (MEASURED, once))
            )
            final = measured or search or curve
            runs[task] = TaskRun(curve, final, _intrinsic(outputs, (AFTER, model, version, seed, task)))
        intrinsic = first if version == ORIGINAL else _intrinsic(outputs, (BEFORE, model, version, seed))
        trainings.append(Training(intrinsic, runs))
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


def group_part(estimate: Estimate, part: int = 0) -> str:
    """What the group of an estimate says: of `words=x, fine-tuning=y` the first is x."""
    return estimate.group.split(", ")[part].partition("=")[2]
