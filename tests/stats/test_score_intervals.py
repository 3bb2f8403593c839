"""Score intervals: rare events would have intervals of zero width, or none."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from statsmodels.stats.proportion import proportion_confint

from unmask.stats.intervals import paired_ends, paired_interval, paired_test, wilson_ends
from unmask.stats.units import INDEPENDENT

from .test_units import writers

Z = 1.959963984540054


@pytest.mark.parametrize(("wins", "n"), [(0, 5), (3, 10), (50, 80), (7, 7)])
def test_wilson_is_that_of_statsmodels(wins: int, n: int) -> None:
    assert wilson_ends(wins / n, n) == pytest.approx(proportion_confint(wins, n, method="wilson"), abs=1e-12)


def reference_score(gained: int, lost: int, n: int, difference: float) -> float:
    """Tango's statistic, its nuisance parameter found by maximising the likelihood numerically."""

    def loss(share_lost: float) -> float:
        cells = (share_lost + difference, share_lost, 1 - 2 * share_lost - difference)
        if min(cells) <= 0:
            return math.inf
        counts = (gained, lost, n - gained - lost)
        return -sum(count * math.log(cell) for count, cell in zip(counts, cells, strict=True))

    span = max(0.0, -difference), (1 - difference) / 2
    found = minimize_scalar(loss, bounds=span, method="bounded", options={"xatol": 1e-12})
    return (gained - lost - n * difference) / math.sqrt(n * (2 * found.x + difference - difference**2))


@pytest.mark.parametrize(("gained", "lost", "n"), [(12, 4, 60), (1, 3, 30), (100, 80, 500)])
def test_the_ends_are_where_the_score_test_starts_to_reject(gained: int, lost: int, n: int) -> None:
    low, high = paired_ends(gained, lost, n)
    assert reference_score(gained, lost, n, low) == pytest.approx(Z, abs=1e-3)
    assert reference_score(gained, lost, n, high) == pytest.approx(-Z, abs=1e-3)


def test_without_a_flip_the_ends_are_those_of_the_rule_of_few() -> None:
    # No flip in n: the score test of a difference d is n d / √(n d (1 − d)), so that d = z² / (n + z²).
    low, high = paired_ends(0, 0, 30)
    assert (low, high) == pytest.approx((-(Z**2) / (30 + Z**2), Z**2 / (30 + Z**2)), abs=1e-9)


def test_changes_of_independent_items() -> None:
    changes = np.array([100.0] * 6 + [-100.0] * 2 + [0.0] * 52)
    found = paired_interval(changes, INDEPENDENT)
    assert (found.low, found.high) == pytest.approx([100 * end for end in paired_ends(6, 2, 60)])
    assert (found.value, found.method, found.design_effect) == (pytest.approx(400 / 60), "score", None)


def test_changes_that_are_alike_within_writers_are_worth_one_each() -> None:
    single = np.array([100.0] * 3 + [-100.0] + [0.0] * 16)
    repeated = paired_interval(np.repeat(single, 5), writers(*[5] * 20))
    once = paired_interval(single, INDEPENDENT)
    assert repeated.design_effect == pytest.approx(5.0, rel=0.06)
    assert repeated.high - repeated.low > once.high - once.low  # Student's quantile instead of the normal one
    assert repeated.high - repeated.low < 1.15 * (once.high - once.low)


def test_mcnemar_over_writers_by_hand() -> None:
    # Writers with 2 gained of 2, 1 lost of 2, none of 2: changes 100, 100, −100, 0, 0, 0; mean 16.67, sums of
    # deviations 166.67, −133.33, −33.33: variance 46666.7 / (2/3) / 36 = 1944.4; alone 28333.3 / 5 / 6 = 944.4:
    # design effect 2.0588. Score: 100 / √(300 · 100 · 2.0588) = 0.4024 with 2 degrees of freedom: p = 0.7263.
    changes = np.array([100.0, 100.0, -100.0, 0.0, 0.0, 0.0])
    assert paired_test(changes, writers(2, 2, 2)) == pytest.approx(0.7263, abs=2e-4)
    assert paired_test(np.zeros(6), writers(2, 2, 2)) is None
