"""A statistic with an interval by resampling, from one seed."""

from __future__ import annotations

from unmask.stats import resampling
from unmask.stats.resampling import Statistic, generator
from unmask.types import Floats

SEED = 0


def resampled(statistic: Statistic, *columns: Floats, label: str) -> tuple[float, float, float, str]:
    """A statistic of columns, the ends of its interval, and how they were had."""
    value = float(statistic(*columns, axis=-1))
    if len(columns[0]) < 2:
        return value, float("nan"), float("nan"), "none: one unit"
    low, high, method = resampling.resampled(columns, statistic, rng=generator(SEED, label))
    return value, float(low), float(high), method
