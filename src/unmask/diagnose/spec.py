"""Types of a diagnosis: its settings, its observation of one model on one dataset, and itself.

models × data ──► observe (runs the model) ──► DiagnosisObservation ──► conclude (no model needed) ──► Finding
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmask.core.estimate import Estimate, Value
from unmask.core.options import check_values, option
from unmask.core.types import Dataset, Kind
from unmask.findings import Finding

if TYPE_CHECKING:
    from unmask.audit.session import Session


@dataclass(frozen=True, slots=True)
class DiagnosisSettings:
    """User settings of diagnoses; each diagnosis uses those that apply to it."""

    measures: tuple[str, ...] = ()  # names; if empty, those that suit the model and the data
    seed: int = option(0, "Random seed (shuffles, samples, bootstrap).", least=0)
    draws: int = option(10, "Shuffles per sentence; samples per sample size.", least=1)
    votes: int = option(3, "A pair counts as biased if more than this many of six annotators say so.")
    band: float = option(0.25, "Differences up to this size count as nearly equal.")
    counts: Path | None = option(None, "Word counts (word, count) to use instead of wordfreq.")
    effect: float = option(5.0, "Difference of bias scores (in points) that a study should detect.")

    def __post_init__(self) -> None:
        """Refuse invalid values; a single measure may be given by its name."""
        check_values(self)
        named: Any = self.measures
        object.__setattr__(self, "measures", (named,) if isinstance(named, str) else tuple(named))


@dataclass(frozen=True, slots=True, eq=False)  # hashable, so that what is computed from several is cached
class DiagnosisObservation:
    """What a diagnosis observed for one model on one dataset."""

    model: Mapping[str, Any]  # the model's facts
    data: Dataset
    result: Any

    @property
    def names(self) -> tuple[str, str]:
        """The names of the model and of the dataset, the first cells of most rows."""
        return str(self.model["id"]), self.data.card.name

    @property
    def where(self) -> str:
        """Model and dataset in a sentence or a title."""
        return " on ".join(self.names)

    def estimate(self, measure: str, statistic: str, value: Value, **fields: Any) -> Estimate:
        """A value of this model and data as an estimate of a `diagnosis/measure`."""
        model, data = self.names
        return Estimate.of(value, measure=measure, statistic=statistic, model=model, data=data, **fields)


Observations = Sequence[DiagnosisObservation]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A question about measures, with functions to observe a model and to draw conclusions."""

    name: str
    title: str
    question: str  # one plain sentence
    observe: Callable[[Session, Dataset, DiagnosisSettings], Any]
    conclude: Callable[[Observations, DiagnosisSettings], Finding]
    citation: str  # BibTeX key in docs/references.bib
    unfit_reason: Callable[[Dataset], str] = lambda _: ""  # why data are unsuitable; empty if they fit
    estimates: Callable[[Observations, DiagnosisSettings], Sequence[Estimate]] = lambda *_: ()  # headlines
    details: Callable[[Observations], Mapping[str, Any]] = lambda _: {}  # what is not a number
    data: tuple[str, ...] = ("nine-axes",)  # used if no data are given, or none that fit
    models: tuple[str, ...] = ()  # used if no models are given
    kinds: tuple[Kind, ...] = ("masked", "causal")
    order: int = 100  # place in lists, before the name
