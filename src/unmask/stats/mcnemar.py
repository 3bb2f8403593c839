"""McNemar's test: two ways of predicting the same things, right or wrong each time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from statsmodels.stats.contingency_tables import mcnemar

from unmask.core.errors import StatsError

EXACT_BELOW = (
    25  # disagreements; below this the exact test, from here on chi-squared with continuity correction
)
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ContingencyTable:
    """How often both ways were right, only the first, only the second, neither."""

    both: int
    first: int
    second: int
    neither: int

    @property
    def n(self) -> int:
        """Things predicted both ways."""
        return self.both + self.first + self.second + self.neither

    @property
    def disagreements(self) -> int:
        """Things only one of the two ways predicted rightly: all the test rests on."""
        return self.first + self.second


def cross_tabulate(first: Bools, second: Bools) -> ContingencyTable:
    """Cross two runs of right and wrong over the same things in the same order."""
    if first.shape != second.shape:
        raise StatsError(
            f"{first.size} predictions against {second.size}: McNemar's test needs the same ones twice"
        )
    counts = (first & second, first & ~second, ~first & second, ~first & ~second)
    return ContingencyTable(*(int(one.sum()) for one in counts))


def mcnemar_p(table: ContingencyTable, *, exact: bool = False) -> float | None:
    """Two-sided p-value that either way is right as often; None where no two disagree.

    Exact where few disagree, or where that is asked for: chi-squared is quick and near enough for tokens.
    """
    if not table.disagreements:
        return None
    square = [[table.both, table.first], [table.second, table.neither]]
    return float(mcnemar(square, exact=exact or table.disagreements < EXACT_BELOW).pvalue)
