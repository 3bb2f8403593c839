"""One value of several repeats, such as trainings with other seeds, each with an interval over the same units."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from unmask.core.estimate import Value
from unmask.stats.student import quantile

LEVEL = 0.95


def pool_repeats(values: Sequence[Value], unit: str = "repeats") -> Value:
    """The mean, with an interval that covers the spread within and between repeats (Rubin's rules, 1987).

    The variance is the mean of those within plus (1 + 1/m) times that between the m repeats; those within come from
    the widths of the intervals and their degrees of freedom. Of one repeat it is its own interval.
    """
    if len(values) == 1:
        return values[0]
    found, count = np.array([each.value for each in values]), len(values)
    if not all(each.has_interval for each in values):
        return Value(float(found.mean()), method=f"no interval: one of {count} {unit} has none")
    upper = (1 + LEVEL) / 2
    errors = np.array([(each.high - each.low) / (2 * quantile(upper, each.df)) for each in values])
    within, between = float((errors**2).mean()), float((1 + 1 / count) * found.var(ddof=1))
    df = _degrees_of_freedom(within, between, count, min(math.inf if each.df is None else each.df for each in values))
    mean, half = float(found.mean()), quantile(upper, df) * math.sqrt(within + between)
    shown = None if math.isinf(df) else df
    return Value(mean, mean - half, mean + half, f"Rubin's rules over {count} {unit}", df=shown).widen()


def _degrees_of_freedom(within: float, between: float, count: int, complete: float) -> float:
    """Those of Barnard and Rubin (1999), with `complete` degrees of freedom within a repeat; infinite: Rubin's."""
    if not between:
        return complete
    rubin = (count - 1) * (1 + within / between) ** 2
    if math.isinf(complete) or not within:
        return rubin
    observed = (complete + 1) / (complete + 3) * complete * within / (within + between)
    return 1 / (1 / rubin + 1 / observed)
