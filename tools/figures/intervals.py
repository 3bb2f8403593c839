"""A statistic with an interval by resampling, from one seed."""

from __future__ import annotations

from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.stats import bootstrap
from unmask.stats.bootstrap import Statistic

SEED = 0


def bootstrap_interval(statistic: Statistic, *columns: Floats, label: str) -> tuple[float, float, float, str]:
    """A statistic of columns, the ends of its interval, and how they were had."""
    value = float(statistic(*columns, axis=-1))
    if len(columns[0]) < 2:
        return value, float("nan"), float("nan"), "none: one unit"
    low, high, method = bootstrap.bootstrap_ends(columns, statistic, rng=generator(SEED, label))
    return value, float(low), float(high), method
