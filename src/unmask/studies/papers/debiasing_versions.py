"""The nouns of `debiasing`: a model in its versions, each with its scores and the tasks it was taught."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from unmask.audit.result import load
from unmask.data import names as dataset_names
from unmask.findings import Value
from unmask.studies.spec import StudyOptions
from unmask.studies.steps import finetuning

ORIGINAL = "original"
INTRINSIC = ("sss", "cps", "aula")
Folders = Sequence[Path | None]


@dataclass(frozen=True, slots=True)
class TaskRun:
    """One version taught one task: followed, perhaps searched for, and audited afterwards."""

    curve_folder: Path | None
    search_folder: Path | None
    audit_folders: Folders

    @property
    def bias(self) -> tuple[Value, int] | None:
        """Of the best that was searched for, else at the last step."""
        if self.search_folder is not None:
            return finetuning.best_bias(self.search_folder)
        if self.curve_folder is None:
            return None
        last = finetuning.curve_points(self.curve_folder)[-1]
        return last.bias, last.n

    @property
    def task_score(self) -> finetuning.TaskScore | None:
        """How well the model of that bias does the task."""
        folder = self.search_folder or self.curve_folder
        return finetuning.task_score(folder) if folder is not None else None


@dataclass(frozen=True, slots=True)
class ModelVersion:
    """A model as it is, or mitigated."""

    model: str
    version: str
    audit_folders: Folders
    tasks: Mapping[str, TaskRun]

    @property
    def name(self) -> str:
        """As steps and tables call it."""
        return version_name(self.model, self.version)


def version_name(model: str, version: str) -> str:
    """A version of a model."""
    return model if version == ORIGINAL else f"{model} {version}"


def name_after_task(name: str, task: str) -> str:
    """A version after it was taught a task."""
    return f"{name} after {task}"


def pair_and_triple_data(options: StudyOptions) -> tuple[str, str]:
    """Pairs and triples; of one dataset alone both are it."""
    pairs = [one for one in options.data if one in dataset_names() or Path(one).is_file()]
    return (pairs[0], pairs[1]) if len(pairs) > 1 else (pairs[0], pairs[0])


def intrinsic_scores(folders: Folders) -> dict[str, tuple[Value, int]]:
    """Signed bias scores by measure."""
    found = {}
    for folder in folders:
        for one in load(folder).headlines() if folder else ():
            if one.measure in INTRINSIC and one.null is not None:
                shift = one.null
                score = Value(one.value - shift, one.low - shift, one.high - shift, one.method)
                found[one.measure] = (score, one.n)
    return found


def all_scores(row: ModelVersion) -> dict[str, tuple[Value, int]]:
    """Intrinsic, then extrinsic ones; the latter as sizes, since the sign of harm is not of interest."""
    made = {name.upper(): found for name, found in intrinsic_scores(row.audit_folders).items()}
    for task, run in row.tasks.items():
        bias = run.bias
        if bias is not None:
            made[task] = bias
    return made
