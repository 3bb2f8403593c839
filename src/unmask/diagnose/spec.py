"""Types of a diagnosis: its options, its observation of one model on one dataset, and itself.

models × data ──► observe (runs the model) ──► DiagnosisObservation ──► conclude (no model needed) ──► Conclusion

A diagnosis that `takes_scores` gets its observations from result folders of audits and from tables of scores as well.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from unmask.core.estimate import Estimate, Value
from unmask.core.options import MAX_SEED, OptionGroup, option
from unmask.data.matrices import ScoreMatrix

if TYPE_CHECKING:
    from unmask.audit.session import Session
    from unmask.core.types import Dataset, Kind
    from unmask.findings import Conclusion


@dataclass(frozen=True)
class ScoreOptions(OptionGroup):
    """Options of a diagnosis of scores; one name may be given as text where several are possible."""

    measures: tuple[str, ...] = option(
        (), "Measure; can be repeated.", flag="--measure", shown="those that suit the model and the data"
    )
    seed: int = option(0, "Random seed (shuffles, samples, bootstrap).", least=0, most=MAX_SEED)

    def __post_init__(self) -> None:
        """Make tuples of single names and of lists, and refuse invalid values."""
        for each in fields(self):
            if each.default == ():
                value: Any = getattr(self, each.name)
                object.__setattr__(self, each.name, (value,) if isinstance(value, str) else tuple(value))
        super().__post_init__()


@dataclass(frozen=True)
class UnitOptions(ScoreOptions):
    """Options of a diagnosis whose intervals are over the units of the data."""

    independent: bool = option(False, "Take pairs for independent, whatever writer, term, … they share.")

    @property
    def sampling(self) -> dict[str, Any]:
        """Arguments of statistics of scores: the seed of their intervals, and whether pairs are independent."""
        return {"rng_seed": self.seed, "independent": self.independent}


@dataclass(frozen=True, slots=True)
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
        """The names of the model and of the dataset."""
        return str(self.model["id"]), self.data.card.name

    @property
    def key(self) -> dict[str, Any]:
        """The first cells of most rows: model and dataset."""
        return dict(zip(("model", "data"), self.names, strict=True))

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
        return Estimate.of(value, measure=measure, statistic=statistic, **self.key, **fields)


Observations = Sequence[DiagnosisObservation]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A question about measures, with functions to observe a model and to draw conclusions."""

    name: str
    title: str
    question: str  # one plain sentence
    observe: Callable[[Session, Dataset, Any], Any]  # with its options
    conclude: Callable[[Observations, Any], Conclusion]
    citation: str  # BibTeX key in docs/references.bib
    options: type[OptionGroup] = UnitOptions  # a dataclass of what it uses
    unfit_reason: Callable[[Dataset], str] = lambda _: ""  # why data are unsuitable; empty if they fit
    data: tuple[str, ...] = ("nine-axes",)  # used if no data are given, or none that fit
    models: tuple[str, ...] = ()  # used if no models are given
    named_models: Callable[[Any], Iterable[str]] = lambda _: ()  # those that its options name, used instead
    kinds: tuple[Kind, ...] = ("masked", "causal")
    order: int = 100  # place in lists, before the name
    takes_scores: bool = False  # also reads result folders in the place of models, and tables of scores as data


@dataclass(frozen=True, slots=True)
class PublishedNumber:
    """A number of a paper, shown beside ours; `group` is a bias type or a condition, or `all`."""

    diagnosis: str
    model: str
    data: str
    measure: str
    statistic: str
    group: str
    value: float
    where: str  # "Kaneko & Bollegala 2022, Table 1"
    mark: str = ""  # what a dagger beside it means: "p < 0.01"


@cache
def published_numbers() -> tuple[PublishedNumber, ...]:
    """All rows of `published.csv`."""
    text = (files("unmask.diagnose") / "published.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return tuple(PublishedNumber(**{**row, "value": float(row["value"])}) for row in rows)  # type: ignore[arg-type]


@cache
def published_value(
    diagnosis: str, model: str, *, data: str, measure: str, statistic: str, group: str = "all"
) -> float | None:
    """The published number for a model, matched by the last part of its name; None if there is none."""
    key = (diagnosis, model.rstrip("/").rpartition("/")[2].partition("@")[0], data, measure, statistic, group)
    return next((number.value for number in published_numbers() if astuple(number)[:6] == key), None)
