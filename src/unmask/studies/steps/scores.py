"""Steps that read published scores of real models, item by item, for the pages of studies."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unmask import data as datasets
from unmask.audit.session import load_datasets
from unmask.core.boundary import read_json, validate
from unmask.core.errors import ResultError
from unmask.core.files import write_json
from unmask.core.types import Floats
from unmask.studies.spec import Step, StepContext, StepKind

SCORES_FILE = "scores.json"


@dataclass(frozen=True, slots=True)
class ModelScores:
    """The scores of one model: items × wordings; None where an item was not scored."""

    model: str
    scores: list[list[float | None]]

    @property
    def matrix(self) -> Floats:
        """The scores as an array, NaN where there is none."""
        return np.array(self.scores, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class PublishedScores:
    """Published scores of several models on the same items; positive: towards the stereotype."""

    data: str  # the dataset that the items are of
    items: list[str]
    categories: list[str]
    targets: list[str]  # target terms of StereoSet; empty text where there is none
    models: list[ModelScores]

    def by_model(self) -> Mapping[str, Floats]:
        """The arrays by model."""
        return {each.model: each.matrix for each in self.models}


def write_scores(context: StepContext) -> None:
    """Write the published scores that the first dataset names; a second one has the target terms of the items."""
    name, *others = (context.runtime.place(each) for each in context.step.data)
    matrix = datasets.scores(name, data_dir=context.runtime.data_dir, offline=context.runtime.offline)
    known = load_datasets(others[0], context.options())[0] if others else matrix.data
    targets = {item.id: item.groups.get("target", "") for item in known.items}
    content = {
        "data": known.card.name,
        "items": list(matrix.items),
        "categories": list(matrix.categories or ("",) * len(matrix.items)),
        "targets": [targets.get(item, "") for item in matrix.items],
        "models": [
            {"model": model, "scores": [[_score(score) for score in row] for row in scores.tolist()]}
            for model, scores in zip(matrix.models, matrix.scores, strict=True)
        ],
    }
    write_json(context.folder / SCORES_FILE, content)


def _score(score: float) -> float | None:
    return None if math.isnan(score) else score


def load_scores(folder: Path) -> PublishedScores:
    """The output of a step."""
    path = folder / SCORES_FILE
    return validate(PublishedScores, read_json(path, ResultError), str(path), ResultError)


def step(*names: str) -> Step:
    """A step that reads published scores, and the dataset that has the target terms of their items, if any."""
    return Step(f"read {names[0]}", f"{__name__}:SCORES", data=names)


SCORES = StepKind(write_scores, runs_model=False)
