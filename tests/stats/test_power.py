"""Power: a wrong number of pairs would be a study that cannot see what it is for."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, binomtest
from statsmodels.stats.power import TTestPower

from unmask.core.estimate import Value
from unmask.stats.power import (
    detectable_between,
    detectable_difference,
    detectable_effect,
    power_of_pairs,
    required_pairs,
    required_pairs_between,
    required_units,
)
from unmask.stats.shares import unit_sign_test
from unmask.stats.table import ScoreTable

from .tables import DATA, measure, row


def exact_power(effect: float, decisions: int) -> float:
    """Every outcome of so many decisions, by scipy's binomial test."""
    rejected = [wins for wins in range(decisions + 1) if binomtest(wins, decisions).pvalue <= 0.05]
    return float(binom.pmf(rejected, decisions, 0.5 + effect / 100).sum())


@pytest.mark.parametrize("effect", [5.0, 10.0, 15.0, 30.0, 40.0])
def test_so_many_pairs_have_the_power_of_the_exact_test(effect: float) -> None:
    """The usual approximation asks for 783, 194, 85, 19 and 10 pairs, which have a power of 67 to 79%."""
    needed = required_pairs(effect)
    assert needed is not None
    powers = [exact_power(effect, n) for n in range(needed - 1, needed + 6)]
    assert powers[0] < 0.8
    assert min(powers[1:]) >= 0.8
    assert power_of_pairs(effect, np.arange(needed - 1.0, needed + 6.0)) == pytest.approx(100 * np.array(powers))


def test_ties_cost_pairs() -> None:
    all_decided, half = required_pairs(5.0), required_pairs(5.0, decided=0.5)
    assert all_decided is not None
    assert half == pytest.approx(2 * all_decided, rel=0.03)


def test_the_number_of_decided_pairs_is_random() -> None:
    """Simulated: of the pairs that are needed 30% have a winner, and of these 60%."""
    needed = required_pairs(10.0, decided=0.3)
    assert needed is not None
    rng = np.random.default_rng(0)
    decided = rng.binomial(needed, 0.3, 4000)
    wins = rng.binomial(decided, 0.6)
    p = [binomtest(int(won), int(n)).pvalue for won, n in zip(wins, decided, strict=True)]
    assert np.mean(np.array(p) < 0.05) == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize("effect", [2.0, 5.0, 20.0])
def test_the_least_effect_turns_it_round(effect: float) -> None:
    n = required_pairs(effect)
    assert n is not None
    assert detectable_effect(n) <= effect
    assert detectable_effect(n) == pytest.approx(effect, rel=0.06)  # the power is a saw-tooth


def test_two_models_are_told_apart_by_the_pairs_they_disagree_on() -> None:
    """10 points apart, disagreeing on 20% of pairs: of those 75% must fall one way, 25 points off 50."""
    needed = required_pairs_between(10.0, 0.2)
    assert needed == required_pairs(25.0, decided=0.2)
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
    """A model that always prefers the stereotype: six wins of six have p = 0.03, five of five 0.06."""
    assert required_pairs(50.0) == 6
    assert required_pairs(50.1) is None
    assert required_pairs(10.0, decided=0.0) is None


def test_the_least_number_that_shows_anything() -> None:
    """Five pairs show nothing; six show a chance of winning of the sixth root of 80%."""
    assert math.isnan(detectable_effect(5))
    assert detectable_effect(6) == pytest.approx(100 * (0.8 ** (1 / 6) - 0.5), abs=1e-3)


def test_pairs_that_share_units_cost_pairs() -> None:
    """Twice the design effect is twice the pairs, alone and between models."""
    single, double = required_pairs(5.0), required_pairs(5.0, design_effect=2.0)
    assert single is not None
    assert double == pytest.approx(2 * single, abs=1)
    one, two = required_pairs_between(5.0, 0.3), required_pairs_between(5.0, 0.3, design_effect=2.0)
    assert one is not None
    assert two == pytest.approx(2 * one, abs=1)


def test_more_power_costs_pairs() -> None:
    """About ((1.96 + 1.28) / (1.96 + 0.84))² times as many."""
    more, usual = required_pairs(5.0, power=0.9), required_pairs(5.0)
    assert more is not None
    assert usual is not None
    assert more / usual == pytest.approx(1.34, abs=0.03)


def test_the_difference_between_models_turns_it_round() -> None:
    needed = required_pairs_between(6.0, 0.3, design_effect=1.5)
    assert needed is not None
    assert detectable_between(needed, 0.3, design_effect=1.5) == pytest.approx(6.0, rel=0.02)


def test_units_needed_for_a_mean_are_those_of_statsmodels() -> None:
    """A mean of 400 units with standard deviation 2: for 0.2, a tenth of a deviation, 785 units."""
    error = 2.0 / math.sqrt(400)
    seen = detectable_difference(Value(0.0, -1.959964 * error, 1.959964 * error), versus="null")
    expected = TTestPower().solve_power(0.1, power=0.8, alpha=0.05)
    assert required_units(400, seen, 0.2) == pytest.approx(expected, rel=0.005)
    assert required_units(400, math.nan, 0.2) is None


def test_so_many_pairs_of_writers_have_the_power() -> None:
    """Simulated: writers of 10 pairs with an intraclass correlation of 0.05, design effect 1 + 9 · 0.05 = 1.45."""
    needed = required_pairs(8.0, design_effect=1.45)
    assert needed is not None
    writers, rng, found = math.ceil(needed / 10), np.random.default_rng(0), []
    labels = np.repeat(np.arange(writers), 10)
    template = ScoreTable.of(
        measure(), [row(i, 1.0, writer=f"w{writer:03}") for i, writer in enumerate(labels)], data=DATA
    )
    scale = 0.95 / 0.05
    for _ in range(300):
        chances = rng.beta(0.58 * scale, 0.42 * scale, writers)
        outcome = np.where(rng.random(labels.size) < chances[labels], "more", "less")
        p = unit_sign_test(replace(template, outcome=outcome))
        found.append(p is not None and p < 0.05)
    assert np.mean(found) == pytest.approx(0.8, abs=0.07)
