"""Agreement within families: counted by hand, its chance by enumeration and by scipy."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from unmask.core.errors import StatsError
from unmask.core.estimate import Value
from unmask.core.types import Ints
from unmask.stats.agreement import SHUFFLES, count_agreeing, family_agreement, share_of_members


def of(*rows: list[int]) -> list[Ints]:
    return [np.array(row) for row in rows]


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def enumerated(families: list[Ints]) -> list[int]:
    """How many families agree under every order of all outcomes."""
    sizes = [len(family) for family in families]
    found = []
    for order in permutations(np.concatenate(families).tolist()):
        rest = list(order)
        parts = []
        for size in sizes:
            parts.append(rest[:size])
            rest = rest[size:]
        found.append(sum(len(set(part)) == 1 for part in parts))
    return found


FAMILIES = of([1, 1, 1], [-1, -1], [1, 0, -1])


def test_agreement_is_counted_and_has_wilsons_interval() -> None:
    found = family_agreement(FAMILIES, ["a"] * 3, rng=rng())
    assert (found.families, found.agreeing) == (3, 2)
    assert found.share.value == pytest.approx(200 / 3)
    low, high = proportion_confint(2, 3, method="wilson")
    assert (found.share.low, found.share.high) == pytest.approx((100 * low, 100 * high))


def test_chance_is_the_mean_over_all_orders() -> None:
    every = enumerated(FAMILIES)
    found = family_agreement(FAMILIES, ["a"] * 3, rng=rng())
    assert found.chance.value == pytest.approx(100 * np.mean(every) / 3)
    assert found.p == pytest.approx(np.mean([n >= 2 for n in every]), abs=4 * 0.5 / SHUFFLES**0.5)
    assert found.chance.low == 0.0
    assert found.chance.high == pytest.approx(100 * np.percentile(every, 97.5) / 3)


@pytest.mark.thorough
def test_outcomes_are_shuffled_within_strata_only() -> None:
    """All of one stratum is towards, all of the other against: every shuffle leaves full agreement."""
    families = of([1, 1], [1, 1, 1], [-1, -1], [-1, -1])
    apart = family_agreement(families, ["a", "a", "b", "b"], rng=rng())
    assert (apart.share.value, apart.chance, apart.p) == (100, Value(100, 100, 100, "shuffled"), 1)
    together = family_agreement(families, ["a"] * 4, rng=rng())
    assert together.chance.value == pytest.approx(100 * np.mean(enumerated(families)) / 4)
    assert together.chance.value < 50
    assert together.p < 0.1


def test_one_family_can_only_be_as_it_is() -> None:
    found = family_agreement(of([1, -1, 1]), ["a"], rng=rng())
    assert (found.share.value, found.chance.value, found.p) == (0, 0, 1)


def test_the_seed_decides() -> None:
    first, again = (family_agreement(FAMILIES, ["a"] * 3, rng=rng()) for _ in range(2))
    assert first == again


@pytest.mark.parametrize("families", [[], of([1, 1], [])])
def test_nothing_to_compare_is_refused(families: list[Ints]) -> None:
    with pytest.raises(StatsError, match="no families"):
        family_agreement(families, ["a"] * len(families), rng=rng())


def test_a_family_without_a_stratum_is_refused() -> None:
    with pytest.raises(StatsError, match="2 families but 1 strata"):
        family_agreement(of([1], [1]), ["a"], rng=rng())


def test_members_are_counted_and_families_resampled() -> None:
    counted, sizes = np.array([4.0, 0, 4, 0] * 10), np.array([4.0] * 40)
    found = share_of_members(counted, sizes, rng=rng())
    assert found.value == 50.0
    assert found.high - found.low > 25  # 160 independent members would have 15
    assert found.method.endswith("over 40 families")


def test_families_of_unequal_size_weigh_by_their_members() -> None:
    found = share_of_members(np.array([1.0, 0.0]), np.array([1.0, 3.0]), rng=rng())
    assert found.value == 25.0


@pytest.mark.parametrize(("counted", "why"), [([1.0], "too few"), ([2.0, 2.0], "no spread")])
def test_no_interval_says_why(counted: list[float], why: str) -> None:
    found = share_of_members(np.array(counted), np.full(len(counted), 2.0), rng=rng())
    assert np.isnan(found.low)
    assert found.method.startswith(why)


def test_one_member_always_agrees_with_itself() -> None:
    assert count_agreeing(of([1], [0, 0], [0, 1])) == 2


def test_the_least_p_is_one_of_two_thousand_and_one() -> None:
    """Forty families of three, one outcome each: no shuffle comes near."""
    families = of(*([value] * 3 for value in (0, 1) for _ in range(20)))
    assert family_agreement(families, ["x"] * 40, rng=rng()).p == pytest.approx(1 / 2001, rel=1e-12)


def test_two_families_of_two_agree_by_chance_every_third_time() -> None:
    """Of the three ways to pair four outcomes, two of each, one makes both families agree; else none does."""
    found = family_agreement(of([0, 0], [1, 1]), ["x", "x"], rng=rng())
    assert found.p == pytest.approx(1 / 3, abs=0.04)
    assert (found.chance.low, found.chance.high) == (0.0, 100.0)


def test_the_span_of_chance_is_its_middle_95_percent() -> None:
    """A hundred families of two, a hundred outcomes of either kind; all ways counted."""
    ways = {}  # families that agree → ways to lay the outcomes
    for mixed in range(0, 101, 2):
        alike = (100 - mixed) // 2
        chosen = math.factorial(100) // (math.factorial(mixed) * math.factorial(alike) ** 2)
        ways[100 - mixed] = chosen * 2**mixed
    total, below, quantiles = math.comb(200, 100), 0, {}
    assert sum(ways.values()) == total
    for agree in sorted(ways):
        below += ways[agree]
        for level in (0.025, 0.975):
            if below / total >= level:
                quantiles.setdefault(level, agree)
    families = of(*([0, 0] for _ in range(50)), *([1, 1] for _ in range(50)))
    found = family_agreement(families, ["x"] * 100, rng=rng())
    assert (found.chance.low, found.chance.high) == (quantiles[0.025], quantiles[0.975])


def test_a_share_of_members_has_the_interval_of_a_plain_bootstrap() -> None:
    drawn = np.random.default_rng(3)
    sizes = drawn.integers(1, 9, 40).astype(float)
    counted = np.floor(sizes * drawn.random(40))
    found = share_of_members(counted, sizes, rng=rng())
    assert found.value == pytest.approx(100 * counted.sum() / sizes.sum())
    picks = drawn.integers(40, size=(4000, 40))
    low, high = np.quantile(100 * counted[picks].sum(1) / sizes[picks].sum(1), [0.025, 0.975])
    assert (found.low, found.high) == pytest.approx((low, high), abs=1.5)


def test_families_are_alike_by_their_shares_not_by_their_numbers() -> None:
    alike = share_of_members(np.array([1.0, 2.0]), np.array([2.0, 4.0]), rng=rng())
    assert alike.method == "no spread: 2 families alike"
    apart = share_of_members(np.array([1.0, 2.0]), np.array([4.0, 2.0]), rng=rng())
    assert not apart.method.startswith("no spread")


def test_families_that_hardly_differ_have_a_narrow_interval() -> None:
    """Fifty in a hundred, give or take one in a thousand."""
    counted, sizes = 500.0 + np.arange(12) % 3 - 1, np.full(12, 1000.0)
    found = share_of_members(counted, sizes, rng=rng())
    assert found.value == pytest.approx(50.0)
    assert 49.9 < found.low < 50.0 < found.high < 50.1
