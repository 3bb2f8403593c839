"""The smallest difference that data can show: what an interval says about later comparisons on the same data."""

from __future__ import annotations

import math
from typing import Literal

from unmask.core.estimate import Value
from unmask.stats.student import quantile

ALPHA, POWER = 0.05, 0.80
Versus = Literal["null", "model"]


def detectable_difference(
    value: Value, *, versus: Versus = "model", correlation: float = 0.0, alpha: float = ALPHA, power: float = POWER
) -> float:
    """The smallest difference that is seen with this power at the level `alpha`; NaN without an interval.

    `null`: between the estimate and its reference value; `model`: between it and the same statistic of another model
    on the same items, whose errors have this correlation with its own: with 0 the difference is on the safe side.
    Quantiles are Student's with the degrees of freedom of the interval, as in the tests on the same units.
    """
    at_level, at_power = quantile(1 - alpha / 2, value.df), quantile(power, value.df)
    error = standard_error(value)
    of_difference = error * math.sqrt(2 * (1 - correlation)) if versus == "model" else error
    return (at_level + at_power) * of_difference


def standard_error(value: Value) -> float:
    """The standard error that the width of a 95% interval stands for; NaN without an interval."""
    return (value.high - value.low) / 2 / quantile(1 - ALPHA / 2, value.df)


def from_error(error: float, value: float = 0.0) -> Value:
    """A value whose 95% interval stands for this standard error."""
    half = quantile(1 - ALPHA / 2) * error
    return Value(value, value - half, value + half)
