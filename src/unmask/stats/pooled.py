"""Shares pooled over items, such as tokens (trials) within pairs (items).

Tokens of one pair come from two nearly equal sentences and are not independent. The pooled share
Σ hits / Σ trials is a ratio of two sums over pairs; its interval is that of the mean of its linearised
values, one per pair (Cochran 1977, Sampling Techniques, §6.8), computed as for all means: `means.py`. Pairs that
share a writer, a target term, … are not independent either: the interval and the test are over these units.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unmask.core.errors import StatsError
from unmask.core.estimate import Value
from unmask.core.types import Floats
from unmask.stats.bootstrap import NO_CHANGE
from unmask.stats.means import mean_interval, mean_test
from unmask.stats.shares import NOTHING_SCORED, unit_share, wilson
from unmask.stats.units import INDEPENDENT, Units, units_of_items

ROUNDING = 1e-9  # points: two shares that differ by less are the same


@dataclass(frozen=True, slots=True)
class HitCounts:
    """Hits and trials of each item, and what items share; every item has at least one trial."""

    hits: Floats
    trials: Floats
    units: Units = INDEPENDENT

    @classmethod
    def of(cls, items: Iterable[tuple[int, int]], groups: Sequence[Mapping[str, str]] = ()) -> HitCounts:
        """From (hits, trials) of each item, those without trials dropped, and the group columns that name its unit."""
        every = list(items)
        rows = np.array([item for item in every if item[1]], dtype=np.float64).reshape(-1, 2)
        if not groups:
            return cls(rows[:, 0], rows[:, 1])
        own = [group for (_, trials), group in zip(every, groups, strict=True) if trials]
        return cls(rows[:, 0], rows[:, 1], units_of_items(own))

    @property
    def share(self) -> float:
        """100 × all hits / all trials; NaN without trials."""
        return 100 * float(self.hits.sum() / self.trials.sum()) if self.trials.size else float("nan")

    def linearised_values(self) -> Floats:
        """One value per item; their mean is the share."""
        values: Floats = self.share + (100 * self.hits - self.share * self.trials) / self.trials.mean()
        return values


def share_interval(counts: HitCounts, *, rng: np.random.Generator, unit: str = "pairs") -> Value:
    """The pooled share with its interval over units; `unit` names the items if they are independent.

    Wilson's if every item has one trial. Also if all trials or none are hits, counting each unit as one
    trial, because resampling would give an interval of zero width.
    """
    n, share, units = counts.trials.size, counts.share, counts.units
    if (counts.trials == 1).all() or (share in (0.0, 100.0) and not units.independent):
        return replace(unit_share(counts.hits > 0, units), value=share)
    if share in (0.0, 100.0):
        return replace(wilson(n if share else 0, n), method=f"wilson over {n} {unit}")
    found = mean_interval(counts.linearised_values(), rng=rng, unit=unit, units=units)
    return replace(found, value=share).clip(0.0, 100.0)


def difference_interval(first: HitCounts, second: HitCounts, *, rng: np.random.Generator, unit: str = "pairs") -> Value:
    """First − second with its interval, two pooled shares over the same items in the same order."""
    if first.trials.size != second.trials.size:
        raise StatsError(f"{first.trials.size} {unit} against {second.trials.size}: expected the same {unit}")
    difference = first.share - second.share
    if not first.trials.size:
        return Value(difference, method=NOTHING_SCORED)
    gaps = _gaps(first, second)
    if not gaps.any():
        return Value(difference, 0.0, 0.0, NO_CHANGE, unit=first.units.tag)
    found = mean_interval(gaps, rng=rng, unit=unit, units=first.units)
    return replace(found, value=difference).clip(-100.0, 100.0)


def difference_test(first: HitCounts, second: HitCounts) -> float | None:
    """Two-sided p-value of equal shares over the same items: Student's over units, of the values of the interval.

    McNemar's test over trials would take the tokens of a pair for independent. None if no item differs, or with too
    few units.
    """
    gaps = _gaps(first, second)
    return mean_test(gaps, 0.0, first.units) if gaps.any() else None


def _gaps(first: HitCounts, second: HitCounts) -> Floats:
    """One value per item; their mean is the difference of the shares. All 0 if they are so but for rounding."""
    if not first.trials.size:
        return np.zeros(0)
    gaps = first.linearised_values() - second.linearised_values()
    return gaps if np.abs(gaps).max() >= ROUNDING else np.zeros_like(gaps)
