"""The rows of one measure on one dataset, as columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from unmask.core.errors import StatsError
from unmask.core.types import Floats, Measure, Row, Side

Flags = NDArray[np.bool_]
Words = NDArray[np.str_]
Index = NDArray[np.bool_] | NDArray[np.intp]

EMPTY_SPAN = "empty span"  # how the reason of such a row begins
LABELS = ("category", "direction", "target", "goal", "word", "template")


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """Columns of equal length, ordered by item, so that the order of rows can never matter."""

    measure: Measure
    data: str
    items: Words
    outcome: Words
    more: Floats  # scores; NaN where there is none
    less: Floats
    unrelated: Floats
    counts_as_loss: Flags  # unscored, but counted as a pair not won
    labels: Mapping[str, Words]  # the group columns of `LABELS`; empty where a row has none

    @classmethod
    def of(cls, measure: Measure, rows: Sequence[Row], *, data: str) -> Self:
        """The rows as columns; StatsError when there are none, or some belong elsewhere."""
        _check(measure, rows, data)
        ordered = sorted(rows, key=lambda row: row.item)
        outcome = np.array([row.outcome for row in ordered], dtype=np.str_)
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
            labels={name: _labels(ordered, name) for name in LABELS},
        )

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
        """Where there is an outcome at all, ties included."""
        return np.not_equal(self.outcome, "unscored")

    @property
    def is_counted(self) -> Flags:
        """What the denominator of a bias score holds."""
        return self.is_scored | self.counts_as_loss

    @property
    def n_ties(self) -> int:
        """How many pairs score alike on both sides."""
        return int(np.equal(self.outcome, "tie").sum())

    @property
    def n_unscored(self) -> int:
        """How many rows have no outcome, those counted as not won included."""
        return int((~self.is_scored).sum())

    @property
    def difference(self) -> Floats:
        """Score of `more` minus score of `less`, by row; NaN when unscored."""
        with np.errstate(invalid="ignore"):  # infinite scores on both sides
            return self.more - self.less

    def take(self, index: Index) -> Self:
        """Some of the rows."""
        return replace(
            self,
            items=self.items[index],
            outcome=self.outcome[index],
            more=self.more[index],
            less=self.less[index],
            unrelated=self.unrelated[index],
            counts_as_loss=self.counts_as_loss[index],
            labels={name: column[index] for name, column in self.labels.items()},
        )

    def split_by(self, name: str) -> Iterator[tuple[str, Self]]:
        """The table of each value of a label, under its group's name."""
        column = self.labels[name]
        for value in np.unique(column[column != ""]):
            yield f"{name}={value}", self.take(column == value)

    def headline_rows(self) -> Self:
        """What the headline speaks of: all rows but those of words that should lean."""
        goals = self.labels["goal"]
        return self.take((goals == "") | (goals == "zero"))

    def all_and_categories(self) -> Iterator[tuple[str, Self]]:
        """The whole table as group `all`, then each category."""
        yield "all", self.headline_rows()
        yield from self.split_by("category")


def _check(measure: Measure, rows: Sequence[Row], data: str) -> None:
    if not rows:
        raise StatsError(f"no rows of {measure.name} on {data}: there is nothing to estimate; run the audit")
    for row in rows:
        if (row.measure, row.data) != (measure.name, data):
            raise StatsError(
                f"{row.item} is a row of {row.measure} on {row.data}, expected {measure.name} on {data}; "
                "pass the rows of one measure on one dataset"
            )


def _scores(rows: Sequence[Row], side: Side) -> Floats:
    return np.array([row.scores.get(side, np.nan) for row in rows], dtype=np.float64)


def _labels(rows: Sequence[Row], name: str) -> Words:
    return np.array([row.groups.get(name, "") for row in rows], dtype=np.str_)
