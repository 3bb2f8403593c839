"""One value of several repeats, such as trainings with other seeds, each with an interval over the same units."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import norm, t

from unmask.core.estimate import Value

LEVEL = 0.95


def pool_repeats(values: Sequence[Value], unit: str = "repeats") -> Value:
    """The mean, with an interval that covers the spread within and between repeats (Rubin's rules, 1987).

    The variance is the mean of those within plus (1 + 1/m) times that between the m repeats; those within come from
    the widths of the intervals, as if normal. Of one repeat it is its own interval.
    """
    if len(values) == 1:
        return Value(values[0].value, values[0].low, values[0].high, values[0].method)
    found, count = np.array([each.value for each in values]), len(values)
    if not all(each.has_interval for each in values):
        return Value(float(found.mean()), method=f"no interval: one of {count} {unit} has none")
    errors = np.array([each.high - each.low for each in values]) / (2 * norm.ppf((1 + LEVEL) / 2))
    within, between = float((errors**2).mean()), float((1 + 1 / count) * found.var(ddof=1))
    freedom = (count - 1) * (1 + within / between) ** 2 if between > 0 else np.inf
    low, high = t.interval(LEVEL, freedom, loc=found.mean(), scale=np.sqrt(within + between))
    return Value(float(found.mean()), float(low), float(high), f"Rubin's rules over {count} {unit}").widen()
