"""How many pairs it takes to see a bias score off its null, or two models apart: 80% power at the 5% level.

Normal approximation on the arcsine scale (Cohen 1988), by statsmodels.
"""

from __future__ import annotations

import math

import numpy as np
from statsmodels.stats.power import NormalIndPower
from statsmodels.stats.proportion import proportion_effectsize

ALPHA, POWER = 0.05, 0.80


def required_pairs(effect: float, *, decided: float = 1.0) -> int | None:
    """Pairs needed for a score `effect` points off 50, when so large a share of pairs is decided at all.

    None where the effect is none, or more than 50 points.
    """
    if not 0 < effect <= 50 or not decided > 0:
        return None
    size = proportion_effectsize(0.5 + effect / 100, 0.5)
    decisions = NormalIndPower().solve_power(size, power=POWER, alpha=ALPHA, ratio=0)
    return math.ceil(float(np.squeeze(decisions)) / decided)


def detectable_effect(decisions: int) -> float:
    """The smallest distance from 50, in points, that so many decided pairs show; NaN where none can be."""
    if decisions < 2:
        return float("nan")
    size = NormalIndPower().solve_power(nobs1=decisions, power=POWER, alpha=ALPHA, ratio=0)
    angle = float(np.squeeze(size)) / 2 + math.asin(math.sqrt(0.5))
    return 100 * (math.sin(angle) ** 2 - 0.5) if angle < math.pi / 2 else float("nan")


def required_pairs_between(effect: float, discordant: float) -> int | None:
    """Pairs needed for McNemar's test of two models `effect` points apart; `discordant` is a share of pairs.

    The test looks at the pairs on which they disagree: of those a share of ½ + effect / (2 × discordant)
    must fall one way. None where the models disagree on too few pairs to be so far apart.
    """
    if not discordant > 0:
        return None
    return required_pairs(effect / discordant / 2, decided=discordant)
