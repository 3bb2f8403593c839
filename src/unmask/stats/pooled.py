"""Shares of tries pooled over units: tokens are what is counted, pairs are what was sampled.

Tokens of one pair stand in two nearly equal sentences, so they are not independent. The pooled share
Σ hits / Σ tries is a ratio of two sums over pairs; its interval is that of the mean of its linearised
values, one a pair (Cochran 1977, Sampling Techniques, §6.8), by the rule for all means: `means.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from unmask.core.errors import StatsError
from unmask.core.types import Floats
from unmask.stats.bootstrap import NO_CHANGE, Interval, no_interval
from unmask.stats.means import mean_interval
from unmask.stats.shares import NOTHING_SCORED, wilson


@dataclass(frozen=True, slots=True)
class HitCounts:
    """Hits among tries, unit by unit; every unit has at least one try."""

    hits: Floats
    trials: Floats

    @classmethod
    def of(cls, units: Iterable[tuple[int, int]]) -> HitCounts:
        """From (hits, tries) of every unit, leaving out those without a try."""
        rows = np.array([unit for unit in units if unit[1]], dtype=np.float64).reshape(-1, 2)
        return cls(rows[:, 0], rows[:, 1])

    @property
    def share(self) -> float:
        """100 × all hits / all tries; NaN without a try."""
        return 100 * float(self.hits.sum() / self.trials.sum()) if self.trials.size else float("nan")

    def linearised_values(self) -> Floats:
        """A value for every unit, of which the share is the mean."""
        values: Floats = self.share + (100 * self.hits - self.share * self.trials) / self.trials.mean()
        return values


def share_interval(counts: HitCounts, *, rng: np.random.Generator, unit: str = "pairs") -> Interval:
    """Interval of the pooled share over its units.

    Wilson's where every unit is one try. Also where all tries or none are hits, taking a unit for one try:
    resampling would give an interval of no width.
    """
    n = counts.trials.size
    if (counts.trials == 1).all():
        return wilson(int(counts.hits.sum()), n)
    if counts.share in (0.0, 100.0):
        sure = wilson(n if counts.share else 0, n)
        return Interval(sure.low, sure.high, f"wilson over {n} {unit}")
    return mean_interval(counts.linearised_values(), rng=rng, unit=unit).clip(0.0, 100.0)


def difference_interval(
    first: HitCounts, second: HitCounts, *, rng: np.random.Generator, unit: str = "pairs"
) -> Interval:
    """Interval of first − second, two pooled shares over the same units in the same order."""
    if first.trials.size != second.trials.size:
        raise StatsError(
            f"{first.trials.size} {unit} against {second.trials.size}: a difference needs the same ones twice"
        )
    if not first.trials.size:
        return no_interval(NOTHING_SCORED)
    gaps = first.linearised_values() - second.linearised_values()
    if np.abs(gaps).max() < 1e-9:
        return Interval(0.0, 0.0, NO_CHANGE)
    return mean_interval(gaps, rng=rng, unit=unit).clip(-100.0, 100.0)
