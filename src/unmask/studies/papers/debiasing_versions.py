"""The types of `debiasing`: versions of a model, with their scores and the tasks they were fine-tuned on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from unmask.audit.result import load
from unmask.data import names as dataset_names
from unmask.findings import Value
from unmask.stats import signed_estimate
from unmask.studies.spec import StudyOptions
from unmask.studies.steps import finetuning

ORIGINAL = "original"
INTRINSIC = ("sss", "cps", "aula")
Folders = Sequence[Path | None]


@dataclass(frozen=True, slots=True)
class TaskRun:
    """Output folders of one version fine-tuned on one task; the search is optional."""

    curve_folder: Path | None
    search_folder: Path | None
    audit_folders: Folders  # after fine-tuning

    @property
    def bias(self) -> tuple[Value, int] | None:
        """Bias and number of items: of the search's best model, else at the last step of the curve."""
        if self.search_folder is not None:
            return finetuning.best_bias(self.search_folder)
        if self.curve_folder is None:
            return None
        last = finetuning.curve_points(self.curve_folder)[-1]
        return last.bias, last.n

    @property
    def task_score(self) -> finetuning.TaskScore | None:
        """The validation score of the model that `bias` is of."""
        folder = self.search_folder or self.curve_folder
        return finetuning.task_score(folder) if folder is not None else None


@dataclass(frozen=True, slots=True)
class ModelVersion:
    """A model, original or mitigated."""

    model: str
    version: str
    audit_folders: Folders  # before fine-tuning
    tasks: Mapping[str, TaskRun]

    @property
    def name(self) -> str:
        """The name in steps and tables."""
        return version_name(self.model, self.version)


def version_name(model: str, version: str) -> str:
    """The name of a version of a model."""
    return model if version == ORIGINAL else f"{model} {version}"


def name_after_task(name: str, task: str) -> str:
    """The name of a version fine-tuned on a task."""
    return f"{name} after {task}"


def pair_and_triple_data(options: StudyOptions) -> tuple[str, str]:
    """The datasets of pairs and of triples; a single dataset serves as both."""
    names = [name for name in options.data if name in dataset_names() or Path(name).is_file()]
    return (names[0], names[1]) if len(names) > 1 else (names[0], names[0])


def intrinsic_scores(folders: Folders) -> dict[str, tuple[Value, int]]:
    """Bias score less its null value, and n, by measure."""
    scores: dict[str, tuple[Value, int]] = {}
    for folder in folders:
        for estimate in load(folder).headlines() if folder else ():
            if estimate.measure in INTRINSIC and estimate.null is not None:
                scores[estimate.measure] = (signed_estimate(estimate), estimate.n)
    return scores


def all_scores(version: ModelVersion) -> dict[str, tuple[Value, int]]:
    """Intrinsic scores by measure, then extrinsic bias by task."""
    scores = {name.upper(): score for name, score in intrinsic_scores(version.audit_folders).items()}
    for task, run in version.tasks.items():
        bias = run.bias
        if bias is not None:
            scores[task] = bias
    return scores
