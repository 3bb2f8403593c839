"""Power analysis: pairs needed to detect a bias, or a difference between two models.

80% power at the 5% level; normal approximation on the arcsine scale (Cohen 1988), by statsmodels.
"""

from __future__ import annotations

import math

import numpy as np
from statsmodels.stats.power import NormalIndPower
from statsmodels.stats.proportion import proportion_effectsize

ALPHA, POWER = 0.05, 0.80


def required_pairs(effect: float, *, decided: float = 1.0) -> int | None:
    """Pairs needed to detect a score `effect` points off 50, if the share `decided` of pairs has a winner.

    None unless 0 < effect ≤ 50.
    """
    if not 0 < effect <= 50 or not decided > 0:
        return None
    size = proportion_effectsize(0.5 + effect / 100, 0.5)
    decisions = NormalIndPower().solve_power(size, power=POWER, alpha=ALPHA, ratio=0)
    return math.ceil(float(np.squeeze(decisions)) / decided)


def detectable_effect(decisions: int) -> float:
    """The smallest distance from 50, in points, detectable with so many decided pairs; NaN if none is."""
    if decisions < 2:
        return float("nan")
    size = NormalIndPower().solve_power(nobs1=decisions, power=POWER, alpha=ALPHA, ratio=0)
    angle = float(np.squeeze(size)) / 2 + math.asin(math.sqrt(0.5))
    return 100 * (math.sin(angle) ** 2 - 0.5) if angle < math.pi / 2 else float("nan")


def required_pairs_between(effect: float, discordant: float) -> int | None:
    """Pairs needed for McNemar's test to detect a difference of `effect` points between two models.

    The test uses the pairs on which the models disagree (`discordant`, a share): of those, a share of
    ½ + effect / (2 × discordant) must favour one model. None if too few pairs are discordant for that.
    """
    if not discordant > 0:
        return None
    return required_pairs(effect / discordant / 2, decided=discordant)
