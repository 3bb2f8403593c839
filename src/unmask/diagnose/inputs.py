"""What a diagnosis is given: models to open and data to observe them on, or scores that were computed before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from unmask import data as datasets
from unmask.audit.session import Data, load_datasets
from unmask.core.options import Options
from unmask.core.types import Dataset
from unmask.data.matrices import ScoreMatrix
from unmask.diagnose.score_matrices import is_run, observe_run
from unmask.diagnose.spec import DiagnosisObservation
from unmask.models import Model, TextModel


@dataclass(frozen=True, slots=True)
class Inputs:
    """Models and datasets, and in the place of both: result folders of audits, and tables of scores."""

    models: tuple[Model, ...]
    data: tuple[Dataset, ...]
    runs: tuple[str | Path, ...]
    matrices: tuple[ScoreMatrix, ...]

    @classmethod
    def of(cls, models: Sequence[Model], data: Sequence[Data | ScoreMatrix], options: Options) -> Self:
        """Sort what was given, and load the data."""
        pairs: list[Data] = []
        matrices = []
        for each in data:
            if isinstance(each, ScoreMatrix):
                matrices.append(each)
            elif not isinstance(each, Dataset) and datasets.is_scores(each):
                matrices.append(datasets.scores(each, data_dir=options.data_dir, offline=options.offline))
            else:
                pairs.append(each)
        runs = tuple(each for each in models if not isinstance(each, TextModel) and is_run(each))
        others = tuple(each for each in models if isinstance(each, TextModel) or not is_run(each))
        return cls(others, tuple(load_datasets(pairs, options)) if pairs else (), runs, tuple(matrices))

    @property
    def are_scores(self) -> bool:
        """Whether scores were given."""
        return bool(self.runs or self.matrices)

    def observations(self) -> list[DiagnosisObservation]:
        """What is known without opening a model; of result folders, the given data only."""
        seen = [DiagnosisObservation({"id": each.name}, each.data, each) for each in self.matrices]
        for run in self.runs:
            taken = [each.names[0] for each in seen]
            seen += observe_run(run, taken, [dataset.card.name for dataset in self.data])
        return seen
