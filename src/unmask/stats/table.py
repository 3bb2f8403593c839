"""Score rows of one measure on one dataset, as numpy columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unmask.core.errors import StatsError
from unmask.core.estimate import Estimate, Value
from unmask.core.types import SAME, USUAL, Floats, Measure, Outcome, Row, Side, Summary
from unmask.stats.units import ITEM, Units, units_of

Flags = NDArray[np.bool_]
Words = NDArray[np.str_]
Index = NDArray[np.bool_] | NDArray[np.intp]

EMPTY_SPAN = "empty span"  # prefix of the reason of such a row
STATISTICS: dict[Summary, tuple[str, ...]] = {
    "share": ("bias-score", "mean-difference"),
    "magnitude": ("asld", "mean-difference"),
    "lean": ("appd",),
    "association": ("association",),
    "lms": ("lms",),
    "ss": ("ss",),
    "icat": ("icat",),
}  # compared statistics, the headline first
HEADLINE_GOALS = ("", "zero")  # of words that are expected not to lean
LABELS = (
    *("category", "direction", "target", "goal", "word", "template"),
    *("writer", "original", "stereotype", "cluster", SAME, USUAL),
)


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """Columns of equal length, sorted by item, so that results do not depend on row order."""

    measure: Measure
    data: str
    items: Words
    outcome: Words
    more: Floats  # scores; NaN if missing
    less: Floats
    unrelated: Floats
    counts_as_loss: Flags  # unscored, but counted as not won
    labels: Mapping[str, Words]  # the group columns of `LABELS`; empty string if a row has none
    independent: bool = False  # take pairs for independent, whatever they share

    @classmethod
    def of(cls, measure: Measure, rows: Sequence[Row], *, data: str, independent: bool = False) -> Self:
        """Build from rows; StatsError if there are none, or some belong to another measure or dataset."""
        _check(measure, rows, data)
        ordered = sorted(rows, key=lambda row: row.item)
        outcome = np.array([_outcome(row) for row in ordered], dtype=np.str_)
        empty = np.array([row.reason.startswith(EMPTY_SPAN) for row in ordered], dtype=np.bool_)
        return cls(
            measure=measure,
            data=data,
            items=np.array([row.item for row in ordered], dtype=np.str_),
            outcome=outcome,
            more=_scores(ordered, "more"),
            less=_scores(ordered, "less"),
            unrelated=_scores(ordered, "unrelated"),
            counts_as_loss=empty & (outcome == "unscored") & measure.empty_span_loses,
            labels={name: np.array([row.groups.get(name, "") for row in ordered], dtype=np.str_) for name in LABELS},
            independent=independent,
        )

    @property
    def units(self) -> Units:
        """What the rows share: the unit of resampling of intervals and tests.

        Leans are means over words × templates by definition, which are never taken for independent; nor are equal
        pairs, of which each is counted once.
        """
        ignored = self.independent and self.measure.summary not in ("lean", "association")
        return units_of({SAME: self.labels[SAME]} if ignored else self.labels)

    @property
    def wins(self) -> Flags:
        """Where the stereotyping sentence scores higher."""
        return np.equal(self.outcome, "more")

    @property
    def losses(self) -> Flags:
        """Where the other sentence scores higher."""
        return np.equal(self.outcome, "less")

    @property
    def is_scored(self) -> Flags:
        """Where there is an outcome, ties included."""
        return np.not_equal(self.outcome, "unscored")

    @property
    def is_counted(self) -> Flags:
        """Rows in the denominator of a bias score."""
        return self.is_scored | self.counts_as_loss

    @property
    def n_ties(self) -> int:
        """Number of pairs with equal scores."""
        return int(np.equal(self.outcome, "tie").sum())

    @property
    def n_unscored(self) -> int:
        """Number of rows without an outcome, including those counted as not won."""
        return int((~self.is_scored).sum())

    @property
    def difference(self) -> Floats:
        """Score of `more` minus score of `less`, by row; NaN when unscored."""
        with np.errstate(invalid="ignore"):  # infinite scores on both sides
            return self.more - self.less

    def estimate(self, value: Value, statistic: str, group: str, **fields: Any) -> Estimate:
        """A value of these rows as an Estimate; n is the number of scored rows unless given."""
        counts = {"n": int(self.is_scored.sum()), "ties": self.n_ties, "unscored": self.n_unscored}
        named = {"measure": self.measure.name, "data": self.data, "group": group, "statistic": statistic}
        return Estimate.of(value, **named | counts | {"unit": value.unit or ITEM} | fields)

    def take(self, index: Index) -> Self:
        """A subset of the rows."""
        columns = ("items", "outcome", "more", "less", "unrelated", "counts_as_loss")
        taken: dict[str, Any] = {name: getattr(self, name)[index] for name in columns}
        return replace(self, **taken, labels={name: column[index] for name, column in self.labels.items()})

    def split_by(self, name: str) -> Iterator[tuple[str, Self]]:
        """Group name (`label=value`) and sub-table for each value of a label."""
        column = self.labels[name]
        for value in np.unique(column[column != ""]):
            yield f"{name}={value}", self.take(column == value)

    def headline_rows(self) -> Self:
        """Rows of the headline estimate: all but those of words that are expected to lean."""
        goals = self.labels["goal"]
        return self.take(np.isin(goals, HEADLINE_GOALS))

    def all_and_categories(self) -> Iterator[tuple[str, Self]]:
        """The headline rows as group `all`, then each category."""
        yield "all", self.headline_rows()
        yield from self.split_by("category")


def headline_statistic(measure: Measure) -> str:
    """The main statistic of a measure: `bias-score`, `asld`, `appd`."""
    return STATISTICS[measure.summary][0]


def item_values(table: ScoreTable, statistic: str) -> Floats:
    """One value per row of the table, NaN if it does not count; their mean is the statistic."""
    if statistic == "bias-score":
        return np.where(table.is_counted, 100.0 * table.wins, np.nan)
    values = np.where(table.is_scored, table.difference, np.nan)
    return np.abs(values) if statistic == "asld" else values


def _check(measure: Measure, rows: Sequence[Row], data: str) -> None:
    if not rows:
        raise StatsError(f"no rows of {measure.name} on {data}: nothing to estimate; run the audit first")
    for row in rows:
        if (row.measure, row.data) != (measure.name, data):
            raise StatsError(
                f"{row.item} is a row of {row.measure} on {row.data}, expected {measure.name} on {data}; "
                "pass the rows of one measure on one dataset"
            )


def _outcome(row: Row) -> Outcome:
    """The outcome of a row; a score that is not finite decides nothing."""
    return row.outcome if all(map(math.isfinite, row.scores.values())) else "unscored"


def _scores(rows: Sequence[Row], side: Side) -> Floats:
    return np.array([row.scores.get(side, np.nan) for row in rows], dtype=np.float64)
