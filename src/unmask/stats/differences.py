"""Mean score differences within pairs, signed and absolute: effect sizes beside the shares."""

from __future__ import annotations

import numpy as np

from unmask.core.estimate import Estimate, Value
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.stats.means import mean_interval, mean_test
from unmask.stats.table import ScoreTable


def difference_estimates(table: ScoreTable, seed: int) -> list[Estimate]:
    """`mean-difference` overall and by category."""
    return [
        _estimate(part, "mean-difference", group=group, seed=seed)
        for group, part in table.all_and_categories()
    ]


def magnitude_estimates(table: ScoreTable, seed: int) -> list[Estimate]:
    """`asld`, then `mean-difference`, both overall and by category."""
    sizes = [_estimate(part, "asld", group=group, seed=seed) for group, part in table.all_and_categories()]
    return [*sizes, *difference_estimates(table, seed)]


def differences(table: ScoreTable, statistic: str) -> Floats:
    """The values a statistic averages, one per scored pair: differences, or absolute ones for `asld`."""
    values = table.difference[table.is_scored]
    return np.abs(values) if statistic == "asld" else values


def mean_estimate(
    table: ScoreTable, statistic: str, group: str, value: Value, p: float | None = None
) -> Estimate:
    """The mean over the scored rows of a table as an Estimate."""
    return Estimate.of(
        value,
        measure=table.measure.name,
        data=table.data,
        group=group,
        statistic=statistic,
        null=0.0,
        n=int(table.is_scored.sum()),
        ties=table.n_ties,
        unscored=table.n_unscored,
        p=p,
    )


def _estimate(table: ScoreTable, statistic: str, *, group: str, seed: int) -> Estimate:
    """The mean with its interval; no test for `asld`, whose null of 0 is the edge of its scale."""
    values = differences(table, statistic)
    least = 0.0 if statistic == "asld" else -np.inf
    value = mean_interval(values, rng=generator(seed, group)).clip(least, np.inf)
    p = None if statistic == "asld" else mean_test(values, 0.0)
    return mean_estimate(table, statistic, group, value, p)
