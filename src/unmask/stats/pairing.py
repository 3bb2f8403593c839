"""Two runs of one measure on one dataset, item by item."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from unmask.core.errors import StatsError
from unmask.core.types import Floats, Measure, Row
from unmask.stats.items import item_values
from unmask.stats.table import ScoreTable
from unmask.stats.triples import UNIT, by_term


def unit_of(statistic: str) -> str:
    """Name of the resampled unit in the method; empty for pairs."""
    return UNIT if statistic in ("lms", "ss", "icat") else ""


@dataclass(frozen=True, slots=True)
class PairedRuns:
    """The items of both runs in the same order; `left_out` counts the others."""

    a: ScoreTable
    b: ScoreTable
    left_out: int

    @property
    def flips(self) -> int:
        """Number of items on which the runs disagree whether the stereotyping sentence wins."""
        return int((self.a.wins != self.b.wins).sum())

    def restrict_to(self, statistic: str) -> Self:
        """Keep items that count in both runs: those in the denominator of a bias score, else those scored."""
        a, b = self.a, self.b
        kept = a.is_counted & b.is_counted if statistic == "bias-score" else a.is_scored & b.is_scored
        return replace(self, a=a.take(kept), b=b.take(kept), left_out=self.left_out + int((~kept).sum()))

    def values(self, statistic: str) -> tuple[Floats, Floats]:
        """The values the statistic averages, in each run: by pair (of those restricted to), or by term."""
        return _values(self.a, statistic), _values(self.b, statistic)


def paired_groups(
    measure: Measure, a: Sequence[Row], b: Sequence[Row], *, data: str
) -> Iterator[tuple[str, PairedRuns]]:
    """The runs joined by item: group `all`, then each category; StatsError if no item is scored in both."""
    first, second = (ScoreTable.of(measure, rows, data=data) for rows in (a, b))
    whole = _joined(first.headline_rows(), second.headline_rows())
    if not (whole.a.is_scored & whole.b.is_scored).any():
        raise StatsError(
            f"no item of {data} is scored by {measure.name} in both runs; compare runs on the same data"
        )
    others = dict(second.split_by("category"))
    yield "all", whole
    for group, part in first.split_by("category"):
        yield group, _joined(part, others.get(group, second.take(np.empty(0, dtype=np.intp))))


def _joined(a: ScoreTable, b: ScoreTable) -> PairedRuns:
    for table in (a, b):
        if np.unique(table.items).size < table.items.size:
            raise StatsError(f"an item of {table.data} occurs twice in one run; runs are joined by item")
    items, in_a, in_b = np.intersect1d(a.items, b.items, assume_unique=True, return_indices=True)
    left_out = a.items.size + b.items.size - 2 * items.size
    mine = a.take(in_a)
    return PairedRuns(mine, replace(b.take(in_b), labels=mine.labels), left_out)


def _values(table: ScoreTable, statistic: str) -> Floats:
    if statistic in ("lms", "ss"):
        return np.asarray(getattr(by_term(table), statistic))
    return item_values(table, statistic)
