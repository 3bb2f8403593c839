"""Power: how many pairs a difference needs to be seen, or which difference so many pairs can show.

Bias scores: normal approximation on the arcsine scale (Cohen 1988), by statsmodels. Pairs that share a unit are worth
as many as their number over the design effect (Kish 1965). Means: from their standard error (`detectable.py`).
"""

from __future__ import annotations

import math

import numpy as np
from statsmodels.stats.power import NormalIndPower
from statsmodels.stats.proportion import proportion_effectsize

from unmask.core.types import Floats
from unmask.stats.detectable import ALPHA, POWER


def required_pairs(
    effect: float, *, decided: float = 1.0, design_effect: float = 1.0, power: float = POWER
) -> int | None:
    """Pairs needed to detect a score `effect` points off 50, if the share `decided` of pairs has a winner.

    None unless 0 < effect ≤ 50.
    """
    if not 0 < effect <= 50 or not decided > 0:
        return None
    size = proportion_effectsize(0.5 + effect / 100, 0.5)
    decisions = NormalIndPower().solve_power(size, power=power, alpha=ALPHA, ratio=0)
    return math.ceil(float(np.squeeze(decisions)) * design_effect / decided)


def detectable_effect(decisions: float, *, power: float = POWER) -> float:
    """The smallest distance from 50, in points, detectable with so many decided pairs; NaN if none is."""
    if decisions < 2:
        return float("nan")
    size = NormalIndPower().solve_power(nobs1=decisions, power=power, alpha=ALPHA, ratio=0)
    angle = float(np.squeeze(size)) / 2 + math.asin(math.sqrt(0.5))
    return 100 * (math.sin(angle) ** 2 - 0.5) if angle < math.pi / 2 else float("nan")


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
    return 2 * discordant * detectable_effect(pairs * discordant / design_effect, power=power)


def power_of_pairs(effect: float, decisions: Floats) -> Floats:
    """The power to see a score `effect` points off 50 with so many decided pairs, in percent."""
    size = proportion_effectsize(0.5 + min(effect, 50.0) / 100, 0.5)
    return np.asarray(100 * NormalIndPower().power(size, decisions, ALPHA, ratio=0), np.float64)


def required_units(units: int, detectable: float, effect: float) -> int | None:
    """Units needed to see an effect in a mean whose smallest visible difference with so many units is known."""
    if not (effect > 0 and math.isfinite(detectable)):
        return None
    return max(2, math.ceil(units * (detectable / effect) ** 2 - 1e-9))
