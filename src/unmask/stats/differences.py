"""Mean score differences within pairs, signed and absolute: effect sizes beside the shares."""

from __future__ import annotations

import numpy as np

from unmask.core.estimate import Estimate
from unmask.core.seeds import generator
from unmask.stats.items import item_values
from unmask.stats.means import mean_interval, mean_test
from unmask.stats.table import ScoreTable


def difference_estimates(table: ScoreTable, seed: int) -> list[Estimate]:
    """`mean-difference` overall and by category."""
    return [_estimate(part, "mean-difference", group, seed) for group, part in table.all_and_categories()]


def magnitude_estimates(table: ScoreTable, seed: int) -> list[Estimate]:
    """`asld`, then `mean-difference`, both overall and by category."""
    sizes = [_estimate(part, "asld", group, seed) for group, part in table.all_and_categories()]
    return [*sizes, *difference_estimates(table, seed)]


def _estimate(table: ScoreTable, statistic: str, group: str, seed: int) -> Estimate:
    """The mean with its interval; no test for `asld`, whose null of 0 is the edge of its scale."""
    values = item_values(table, statistic)[table.is_scored]
    least = 0.0 if statistic == "asld" else -np.inf
    value = mean_interval(values, rng=generator(seed, group)).clip(least, np.inf)
    p = None if statistic == "asld" else mean_test(values, 0.0)
    return table.estimate(value, statistic, group, null=0.0, p=p)
