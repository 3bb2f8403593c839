"""Sample sizes against the formula by hand and against the exact power of the test they are for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from unmask.stats.samples import detectable_effect, required_pairs, required_pairs_between


def by_hand(effect: float) -> float:
    """((z of 97.5% + z of 80%) / h)², h the arcsine difference."""
    h = 2 * math.asin(math.sqrt(0.5 + effect / 100)) - 2 * math.asin(math.sqrt(0.5))
    return (norm.ppf(0.975) + norm.ppf(0.8)) ** 2 / h**2


@pytest.mark.parametrize("effect", [1.0, 5.0, 10.0, 30.0])
def test_the_number_is_cohens(effect: float) -> None:
    assert required_pairs(effect) == math.ceil(by_hand(effect) - 1e-3)


@pytest.mark.parametrize("effect", [5.0, 10.0])
def test_so_many_pairs_have_the_power(effect: float) -> None:
    n = required_pairs(effect)
    assert n is not None
    wins = np.arange(n + 1)
    far = np.abs(wins - n / 2) > norm.ppf(0.975) * math.sqrt(n) / 2
    power = binom.pmf(wins[far], n, 0.5 + effect / 100).sum()
    assert power == pytest.approx(0.8, abs=0.03)


def test_ties_cost_pairs() -> None:
    all_decided, half = required_pairs(5.0), required_pairs(5.0, decided=0.5)
    assert all_decided is not None
    assert half == pytest.approx(2 * all_decided, abs=2)


@pytest.mark.parametrize("effect", [2.0, 5.0, 20.0])
def test_the_least_effect_turns_it_round(effect: float) -> None:
    n = required_pairs(effect)
    assert n is not None
    assert detectable_effect(n) == pytest.approx(effect, rel=0.02)


def test_two_models_are_told_apart_by_the_pairs_they_disagree_on() -> None:
    # 10 points apart, disagreeing on 20% of pairs: of those 75% must fall one way, 25 points off 50
    needed = required_pairs_between(10.0, 0.2)
    assert needed == math.ceil(by_hand(25.0) / 0.2 - 1e-2)
    assert required_pairs_between(10.0, 0.4) > needed  # type: ignore[operator]


def test_what_cannot_be_seen() -> None:
    assert required_pairs_between(10.0, 0.05) is None
    assert required_pairs_between(10.0, 0.0) is None
    assert required_pairs_between(10.0, math.nan) is None
    assert required_pairs(0.0) is None
    assert required_pairs(51.0) is None
    assert math.isnan(detectable_effect(0))
    assert math.isnan(detectable_effect(2))


def test_the_largest_effect_there_is() -> None:
    """A model that always prefers the stereotype: (1.96 + 0.84)² / (π/2)² = 3.2 decisions."""
    assert required_pairs(50.0) == 4
    assert required_pairs(50.1) is None
    assert required_pairs(10.0, decided=0.0) is None


def test_the_least_number_that_shows_anything() -> None:
    """Three decisions would need an arcsine beyond 90 degrees; four show 49 points."""
    assert math.isnan(detectable_effect(3))
    angle = (norm.ppf(0.975) + norm.ppf(0.8)) / math.sqrt(4) / 2 + math.pi / 4
    assert detectable_effect(4) == pytest.approx(100 * (math.sin(angle) ** 2 - 0.5), abs=0.01)
