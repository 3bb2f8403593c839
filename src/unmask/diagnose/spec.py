"""Types of a diagnosis: its settings, its observation of one model on one dataset, and itself.

models × data ──► observe (runs the model) ──► DiagnosisObservation ──► conclude (no model needed) ──► Finding

A diagnosis that `takes_scores` gets its observations from result folders of audits and from tables of scores as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmask.core.estimate import Estimate, Value
from unmask.core.options import MAX_SEED, check_values, option
from unmask.data.matrices import ScoreMatrix
from unmask.diagnose.published import published_value

if TYPE_CHECKING:
    from unmask.audit.session import Session
    from unmask.core.types import Dataset, Kind
    from unmask.findings import Finding


@dataclass(frozen=True, slots=True)
class DiagnosisSettings:
    """User settings of diagnoses; each diagnosis uses those that apply to it."""

    measures: tuple[str, ...] = ()  # names; if empty, those that suit the model and the data
    seed: int = option(0, "Random seed (shuffles, samples, bootstrap).", least=0, most=MAX_SEED)
    draws: int = option(10, "Shuffles per sentence; samples per sample size.", least=1, most=10_000)
    votes: int = option(3, "A pair counts as biased if more than this many of six annotators say so.")
    band: float = option(0.25, "Differences up to this size count as nearly equal.")
    counts: Path | None = option(None, "Word counts (word, count) to use instead of wordfreq.")
    effect: float = option(5.0, "Difference of bias scores (in points) that a study should detect.")
    centre: bool = option(
        True, "Scores with two directions: keep a model's general preference for one of them.", flag="--no-centre"
    )

    focal: tuple[str, ...] = option((), "With `invariance`: models of the one group, as patterns (*-chat*,*Instruct*).")
    reference: tuple[str, ...] = option((), "With `invariance`: models of the other group.", shown="all others")
    doses: Path | None = option(
        None, "Table of models and their doses (model, and a column for each bias type).", shown="the built-in siblings"
    )
    dtypes: tuple[str, ...] = option((), "With `precision`: those to compare with fp32.", shown="all of --dtype")
    independent: bool = option(False, "Take pairs for independent, whatever writer, term, … they share.")
    items: int = option(80, "Most items of a bias type on which models with known doses are scored.", least=2)

    def __post_init__(self) -> None:
        """Refuse invalid values; a single measure or pattern may be given as text."""
        check_values(self)
        for name in ("measures", "focal", "reference", "dtypes"):
            named: Any = getattr(self, name)
            object.__setattr__(self, name, (named,) if isinstance(named, str) else tuple(named))


@dataclass(frozen=True, slots=True, eq=False)  # hashable, so that what is computed from several is cached
class DiagnosisObservation:
    """What a diagnosis observed for one model on one dataset."""

    model: Mapping[str, Any]  # the model's facts
    data: Dataset
    result: Any  # of a table of scores: the `ScoreMatrix`

    @property
    def models(self) -> list[dict[str, Any]]:
        """The facts of the model, or of those that a table of scores has."""
        if not isinstance(self.result, ScoreMatrix):
            return [dict(self.model)]
        groups = self.result.groups or ("",) * len(self.result.models)
        return [{"id": name, "group": group} for name, group in zip(self.result.models, groups, strict=True)]

    @property
    def names(self) -> tuple[str, str]:
        """The names of the model and of the dataset, the first cells of most rows."""
        return str(self.model["id"]), self.data.card.name

    @property
    def where(self) -> str:
        """Model and dataset in a sentence or a title."""
        return " on ".join(self.names)

    def data_facts(self) -> dict[str, Any]:
        """The facts about the data."""
        return self.result.facts() if isinstance(self.result, ScoreMatrix) else self.data.facts()

    def published_value(self, diagnosis: str, *, model: str = "", **where: str) -> float | None:
        """The number printed for this model, or for `model`, on these data; None if only part of them were read."""
        name, data = self.names
        if len(self.data.items) < self.data.card.size:
            return None
        return published_value(diagnosis, model or name, data=data, **where)

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
    details: Callable[[Observations, DiagnosisSettings], Mapping[str, Any]] = lambda *_: {}  # what is not a number
    data: tuple[str, ...] = ("nine-axes",)  # used if no data are given, or none that fit
    models: tuple[str, ...] = ()  # used if no models are given
    kinds: tuple[Kind, ...] = ("masked", "causal")
    order: int = 100  # place in lists, before the name
    takes_scores: bool = False  # also reads result folders in the place of models, and tables of scores as data
