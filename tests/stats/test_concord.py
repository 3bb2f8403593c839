"""Agreement within families: counted by hand, its chance by enumeration and by scipy."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from unmask.errors import StatsError
from unmask.stats.concord import SHUFFLES, concord, share_of_members
from unmask.types import Ints


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
    found = concord(FAMILIES, ["a"] * 3, rng=rng())
    assert (found.families, found.agreeing) == (3, 2)
    assert found.share == pytest.approx(200 / 3)
    low, high = proportion_confint(2, 3, method="wilson")
    assert (found.interval.low, found.interval.high) == pytest.approx((100 * low, 100 * high))


def test_chance_is_the_mean_over_all_orders() -> None:
    every = enumerated(FAMILIES)
    found = concord(FAMILIES, ["a"] * 3, rng=rng())
    assert found.chance == pytest.approx(100 * np.mean(every) / 3)
    assert found.p == pytest.approx(np.mean([n >= 2 for n in every]), abs=4 * 0.5 / SHUFFLES**0.5)
    assert found.low == 0.0
    assert found.high == pytest.approx(100 * np.percentile(every, 97.5) / 3)


def test_outcomes_are_shuffled_within_strata_only() -> None:
    """All of one stratum is towards, all of the other against: every shuffle leaves full agreement."""
    families = of([1, 1], [1, 1, 1], [-1, -1], [-1, -1])
    apart = concord(families, ["a", "a", "b", "b"], rng=rng())
    assert (apart.share, apart.chance, apart.low, apart.high, apart.p) == (100, 100, 100, 100, 1)
    together = concord(families, ["a"] * 4, rng=rng())
    assert together.chance == pytest.approx(100 * np.mean(enumerated(families)) / 4)
    assert together.chance < 50
    assert together.p < 0.1


def test_one_family_can_only_be_as_it_is() -> None:
    found = concord(of([1, -1, 1]), ["a"], rng=rng())
    assert (found.share, found.chance, found.p) == (0, 0, 1)


def test_the_seed_decides() -> None:
    first, again = (concord(FAMILIES, ["a"] * 3, rng=rng()) for _ in range(2))
    assert first == again


@pytest.mark.parametrize("families", [[], of([1, 1], [])])
def test_nothing_to_compare_is_refused(families: list[Ints]) -> None:
    with pytest.raises(StatsError, match="no family"):
        concord(families, ["a"] * len(families), rng=rng())


def test_a_family_without_a_stratum_is_refused() -> None:
    with pytest.raises(StatsError, match="2 families in 1 strata"):
        concord(of([1], [1]), ["a"], rng=rng())


def test_members_are_counted_and_families_resampled() -> None:
    counted, sizes = np.array([4.0, 0, 4, 0] * 10), np.array([4.0] * 40)
    value, ends = share_of_members(counted, sizes, rng=rng())
    assert value == 50.0
    assert ends.high - ends.low > 25  # 160 independent members would have 15
    assert ends.method.endswith("over 40 families")


def test_families_of_unequal_size_weigh_by_their_members() -> None:
    value, _ = share_of_members(np.array([1.0, 0.0]), np.array([1.0, 3.0]), rng=rng())
    assert value == 25.0


@pytest.mark.parametrize(("counted", "why"), [([1.0], "too few"), ([2.0, 2.0], "no spread")])
def test_no_interval_says_why(counted: list[float], why: str) -> None:
    _, ends = share_of_members(np.array(counted), np.full(len(counted), 2.0), rng=rng())
    assert np.isnan(ends.low)
    assert ends.method.startswith(why)
