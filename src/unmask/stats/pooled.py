"""Shares pooled over units, such as tokens (trials) within pairs (units).

Tokens of one pair come from two nearly equal sentences and are not independent. The pooled share
Σ hits / Σ trials is a ratio of two sums over pairs; its interval is that of the mean of its linearised
values, one per pair (Cochran 1977, Sampling Techniques, §6.8), computed as for all means: `means.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from unmask.core.errors import StatsError
from unmask.core.estimate import Value
from unmask.core.types import Floats
from unmask.stats.bootstrap import NO_CHANGE
from unmask.stats.means import mean_interval
from unmask.stats.shares import NOTHING_SCORED, wilson


@dataclass(frozen=True, slots=True)
class HitCounts:
    """Hits and trials of each unit; every unit has at least one trial."""

    hits: Floats
    trials: Floats

    @classmethod
    def of(cls, units: Iterable[tuple[int, int]]) -> HitCounts:
        """From (hits, trials) of each unit, dropping units without trials."""
        rows = np.array([unit for unit in units if unit[1]], dtype=np.float64).reshape(-1, 2)
        return cls(rows[:, 0], rows[:, 1])

    @property
    def share(self) -> float:
        """100 × all hits / all trials; NaN without trials."""
        return 100 * float(self.hits.sum() / self.trials.sum()) if self.trials.size else float("nan")

    def linearised_values(self) -> Floats:
        """One value per unit; their mean is the share."""
        values: Floats = self.share + (100 * self.hits - self.share * self.trials) / self.trials.mean()
        return values


def share_interval(counts: HitCounts, *, rng: np.random.Generator, unit: str = "pairs") -> Value:
    """The pooled share with its interval over units.

    Wilson's if every unit has one trial. Also if all trials or none are hits, counting each unit as one
    trial, because resampling would give an interval of zero width.
    """
    n, share = counts.trials.size, counts.share
    if (counts.trials == 1).all():
        return replace(wilson(int(counts.hits.sum()), n), value=share)
    if share in (0.0, 100.0):
        return replace(wilson(n if share else 0, n), method=f"wilson over {n} {unit}")
    return replace(mean_interval(counts.linearised_values(), rng=rng, unit=unit), value=share).clip(0.0, 100.0)


def difference_interval(first: HitCounts, second: HitCounts, *, rng: np.random.Generator, unit: str = "pairs") -> Value:
    """First − second with its interval, two pooled shares over the same units in the same order."""
    if first.trials.size != second.trials.size:
        raise StatsError(f"{first.trials.size} {unit} against {second.trials.size}: expected the same {unit}")
    difference = first.share - second.share
    if not first.trials.size:
        return Value(difference, method=NOTHING_SCORED)
    gaps = first.linearised_values() - second.linearised_values()
    if np.abs(gaps).max() < 1e-9:
        return Value(difference, 0.0, 0.0, NO_CHANGE)
    return replace(mean_interval(gaps, rng=rng, unit=unit), value=difference).clip(-100.0, 100.0)
