"""McNemar's test of two predictors on the same items, each right or wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from unmask.core.errors import StatsError

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ContingencyTable:
    """How often both predictors were right, only the first, only the second, or neither."""

    both: int
    first: int
    second: int
    neither: int

    @property
    def n(self) -> int:
        """Number of items."""
        return self.both + self.first + self.second + self.neither

    @property
    def disagreements(self) -> int:
        """Items on which exactly one predictor is right; the test depends on these alone."""
        return self.first + self.second


def cross_tabulate(first: Bools, second: Bools) -> ContingencyTable:
    """Contingency table of two correctness vectors over the same items in the same order."""
    if first.shape != second.shape:
        raise StatsError(f"{first.size} predictions against {second.size}: McNemar's test needs the same items in both")
    counts = (first & second, first & ~second, ~first & second, ~first & ~second)
    return ContingencyTable(*(int(cell.sum()) for cell in counts))


def mcnemar_p(table: ContingencyTable) -> float | None:
    """Two-sided exact p-value for equal accuracy over independent items; None without disagreements."""
    if not table.disagreements:
        return None
    return float(binomtest(table.first, table.disagreements).pvalue)
