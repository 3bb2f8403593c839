"""The smallest visible difference: a wrong one would call noise a finding, or a finding noise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from unmask.core.estimate import Value
from unmask.stats.power import detectable_difference
from unmask.stats.shares import wilson


def test_by_hand() -> None:
    # a standard error of 1: (1.96 + 0.842) × 1 = 2.80 from the null, × √2 = 3.96 from another model,
    # and with errors that correlate by 0.5, √(2 × 0.5) = 1 times that from the null
    one = Value(50.0, 50 - 1.959964, 50 + 1.959964)
    assert detectable_difference(one, versus="null") == pytest.approx(2.8016, abs=1e-4)
    assert detectable_difference(one) == pytest.approx(2.8016 * math.sqrt(2), abs=2e-4)
    assert detectable_difference(one, correlation=0.5) == pytest.approx(2.8016, abs=1e-4)
    assert math.isnan(detectable_difference(Value(3.0)))


def test_few_degrees_of_freedom_by_hand() -> None:
    # a standard error of 1 with 10 degrees of freedom: 95% are ± 2.2281, 80% of power 0.8791: 3.1072 from the null;
    # at 0.05 / 10, 3.5814 + 0.8791 = 4.4605
    one = Value(50.0, 50 - 2.2281389, 50 + 2.2281389, df=10.0)
    assert detectable_difference(one, versus="null") == pytest.approx(3.1072, abs=1e-4)
    assert detectable_difference(one, versus="null", alpha=0.005) == pytest.approx(4.4605, abs=1e-4)


def test_it_is_seen_in_four_of_five_samples() -> None:
    n, draws = 400, 4_000
    seen = detectable_difference(wilson(n // 2, n), versus="null")
    wins = np.random.default_rng(0).binomial(n, 0.5 + seen / 100, draws)
    found = [wilson(int(each), n).excludes(50.0) for each in wins]
    assert np.mean(found) == pytest.approx(0.8, abs=0.02)
