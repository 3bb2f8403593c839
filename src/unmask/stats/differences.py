"""Mean differences of score within a pair, signed and absolute: how much, where a share says how often."""

from __future__ import annotations

import numpy as np

from unmask.core.types import Estimate, Floats
from unmask.stats.bootstrap import Interval, generator
from unmask.stats.means import mean, mean_interval, mean_test
from unmask.stats.table import ScoreTable


def difference_estimates(table: ScoreTable, seed: int) -> list[Estimate]:
    """`mean-difference` over all and by category."""
    return [
        _estimate(part, "mean-difference", group=group, seed=seed)
        for group, part in table.all_and_categories()
    ]


def magnitude_estimates(table: ScoreTable, seed: int) -> list[Estimate]:
    """`asld` over all and by category, then `mean-difference` likewise."""
    sizes = [_estimate(part, "asld", group=group, seed=seed) for group, part in table.all_and_categories()]
    return [*sizes, *difference_estimates(table, seed)]


def differences(table: ScoreTable, statistic: str) -> Floats:
    """What the statistic is the mean of, by scored pair: the difference, or its size for `asld`."""
    values = table.difference[table.is_scored]
    return np.abs(values) if statistic == "asld" else values


def mean_estimate(
    table: ScoreTable, statistic: str, group: str, interval: Interval, p: float | None
) -> Estimate:
    """The mean of a statistic's values with the interval and p-value it was given."""
    values = differences(table, statistic)
    return Estimate(
        measure=table.measure.name,
        data=table.data,
        group=group,
        statistic=statistic,
        value=mean(values),
        low=interval.low,
        high=interval.high,
        null=0.0,
        n=values.size,
        ties=table.n_ties,
        unscored=table.n_unscored,
        method=interval.method,
        p=p,
    )


def _estimate(table: ScoreTable, statistic: str, *, group: str, seed: int) -> Estimate:
    """The mean with its interval; no test for `asld`, whose null of 0 is never reached by chance."""
    values = differences(table, statistic)
    least = 0.0 if statistic == "asld" else -np.inf
    interval = mean_interval(values, rng=generator(seed, group)).clip(least, np.inf)
    p = None if statistic == "asld" else mean_test(values, 0.0)
    return mean_estimate(table, statistic, group, interval, p)
