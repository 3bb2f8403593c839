"""The interval of repeated trainings would ignore the spread within or between them if these failed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t

from unmask.core.estimate import Value
from unmask.stats.trainings import pool_repeats


def test_rubins_rules_by_hand() -> None:
    """Errors 1 and 1, values 0 and 2: within 1, between 1.5 × 2 = 3, total 4, 1 × (1 + 1/3)² degrees of freedom."""
    half = 1.959963984540054
    found = pool_repeats([Value(0.0, -half, half), Value(2.0, 2 - half, 2 + half)], "trainings")
    wide = 2 * t.ppf(0.975, (4 / 3) ** 2)
    assert found.value == 1
    assert (found.low, found.high) == (pytest.approx(1 - wide), pytest.approx(1 + wide))
    assert found.method == "Rubin's rules over 2 trainings"


def test_barnard_and_rubin_by_hand() -> None:
    """The same with 9 degrees of freedom within: 10/12 × 9 × 1/4 = 1.875 of them count, beside Rubin's 16/9."""
    half = float(t.ppf(0.975, 9))
    found = pool_repeats([Value(0.0, -half, half, df=9.0), Value(2.0, 2 - half, 2 + half, df=9.0)])
    df = 1 / (1 / 1.875 + 9 / 16)
    assert found.df == pytest.approx(df)
    assert found.high == pytest.approx(1 + 2 * t.ppf(0.975, df))
    constant = [Value(value, value, value, df=9.0) for value in (0.0, 2.0)]  # nothing varies within
    assert pool_repeats(constant).df == pytest.approx(1.0)


def test_equal_repeats_have_the_interval_of_one() -> None:
    one = Value(0.5, 0.1, 0.9, "bca over 8 words")
    pooled = pool_repeats([one, one, one])
    assert (pooled.low, pooled.high) == (pytest.approx(0.1), pytest.approx(0.9))
    few = pool_repeats([replace(one, df=7.0)] * 3)
    assert (few.low, few.high, few.df) == (pytest.approx(0.1), pytest.approx(0.9), 7.0)
    assert pool_repeats([one]) == one
    without = pool_repeats([one, Value(0.7)])
    assert (without.value, without.method) == (pytest.approx(0.6), "no interval: one of 2 repeats has none")
    assert math.isnan(without.low)


def test_the_interval_covers_what_both_sources_of_spread_move() -> None:
    """Truth 0; five repeats share one error of the units and have one each of their own: 95% of intervals hold it."""
    rng, hits = np.random.default_rng(0), 0
    for _ in range(500):
        values = rng.normal() + rng.normal(scale=0.7, size=5)
        found = pool_repeats([Value(value, value - 1.96, value + 1.96) for value in values.tolist()])
        hits += found.low <= 0 <= found.high
    assert 0.93 < hits / 500 < 0.995
