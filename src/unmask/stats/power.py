"""Power: how many pairs a difference needs to be seen, or which difference so many pairs can show.

Bias scores: the exact power of the two-sided binomial test, averaged over the number of decided pairs where some have
no winner. It is a saw-tooth in the number of pairs, because the level is only reached in steps: so many pairs are
needed that no larger number has less than the power asked for. Pairs that share a unit are worth as many as their
number over the design effect (Kish 1965). Means: from the standard error that their interval stands for.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from scipy.optimize import brentq
from scipy.stats import binom, norm

from unmask.core.estimate import Value
from unmask.core.statistic import LEVEL
from unmask.core.types import Floats
from unmask.stats.intervals import critical, quantile

POWER = 0.80
LARGEST = 50.0  # points off 50
SPREAD = 7.0  # standard deviations of the number of decided pairs that are averaged over
STEPS = 200  # numbers of pairs for which power is computed if it is an average, which has hardly any saw-tooth
Versus = Literal["null", "model"]


def detectable_difference(
    value: Value, *, versus: Versus = "model", correlation: float = 0.0, alpha: float = LEVEL, power: float = POWER
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
    return (value.high - value.low) / 2 / critical(value.df)


def from_error(error: float, value: float = 0.0) -> Value:
    """A value whose 95% interval stands for this standard error."""
    half = critical() * error
    return Value(value, value - half, value + half)


def required_pairs(
    effect: float, *, decided: float = 1.0, design_effect: float = 1.0, power: float = POWER
) -> int | None:
    """Pairs needed to detect a score `effect` points off 50, if the share `decided` of pairs has a winner.

    None unless 0 < effect ≤ 50.
    """
    if not 0 < effect <= LARGEST or not decided > 0:
        return None
    share = effect / 100
    angle = 2 * math.asin(math.sqrt(0.5 + share)) - math.pi / 2
    usual = ((norm.ppf(1 - LEVEL / 2) + norm.ppf(power)) / angle) ** 2 / decided  # Cohen (1988)
    around = (4 / share + 20) / decided  # a step of the level is one decision, worth 1 / share of them
    first, last = max(1, math.floor(usual - around)), math.ceil(usual + around)
    pairs = np.arange(first, last + 1, 1 if decided >= 1 else 1 + (last - first) // STEPS)
    is_short = power_of_pairs(effect, pairs.astype(np.float64), decided=decided) < 100 * power
    needed = pairs[np.flatnonzero(is_short).max(initial=-1) + 1]
    return math.ceil(float(needed) * design_effect)


def detectable_effect(pairs: float, *, decided: float = 1.0, power: float = POWER) -> float:
    """The smallest distance from 50, in points, detectable with so many independent pairs; NaN if none is."""

    def surplus(effect: float) -> float:
        return float(power_of_pairs(effect, np.array([pairs]), decided=decided)[0]) - 100 * power

    if not (pairs >= 1 and decided > 0) or surplus(LARGEST) < 0:
        return float("nan")
    return float(brentq(surplus, 0.0, LARGEST, xtol=1e-6))


def required_pairs_between(
    effect: float, discordant: float, *, design_effect: float = 1.0, power: float = POWER
) -> int | None:
    """Pairs needed for McNemar's test to detect a difference of `effect` points between two models.

    The test uses the pairs on which the models disagree (`discordant`, a share): of those, a share of
    ½ + effect / (2 × discordant) must favour one model. None if too few pairs are discordant for that.
    """
    if not discordant > 0:
        return None
    return required_pairs(effect / discordant / 2, decided=discordant, design_effect=design_effect, power=power)


def detectable_between(pairs: float, discordant: float, *, design_effect: float = 1.0, power: float = POWER) -> float:
    """The smallest difference between two models, in points, that McNemar's test detects with so many pairs."""
    return 2 * discordant * detectable_effect(pairs / design_effect, decided=discordant, power=power)


def power_of_pairs(effect: float, pairs: Floats, *, decided: float = 1.0) -> Floats:
    """The power to see a score `effect` points off 50 with so many independent pairs, in percent."""
    counts = np.floor(pairs + 1e-9)
    if decided >= 1:
        return 100 * _exact_power(effect, counts)
    return np.array([_mean_power(effect, count, decided) for count in counts], np.float64)


def _exact_power(effect: float, decisions: Floats) -> Floats:
    """The chance that the two-sided binomial test of so many decisions rejects 50, as a share."""
    quantile = np.asarray(binom.ppf(LEVEL / 2, decisions, 0.5), np.float64)
    least = quantile - (2 * binom.cdf(quantile, decisions, 0.5) > LEVEL)  # the most losses that reject; -1: none
    chance = 0.5 + min(effect, LARGEST) / 100
    return np.asarray(binom.cdf(least, decisions, chance) + binom.sf(decisions - least - 1, decisions, chance))


def _mean_power(effect: float, pairs: float, decided: float) -> float:
    """The power over the numbers of decided pairs that so many pairs can have, in percent."""
    middle, around = pairs * decided, SPREAD * math.sqrt(pairs * decided * (1 - decided)) + 1
    counts = np.arange(max(0, math.floor(middle - around)), min(pairs, math.ceil(middle + around)) + 1)
    return 100 * float(binom.pmf(counts, pairs, decided) @ _exact_power(effect, counts))


def required_units(units: int, detectable: float, effect: float) -> int | None:
    """Units needed to see an effect in a mean whose smallest visible difference with so many units is known."""
    if not (effect > 0 and math.isfinite(detectable)):
        return None
    return max(2, math.ceil(units * (detectable / effect) ** 2 - 1e-9))
