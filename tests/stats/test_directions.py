"""Means over both directions: wrong, a model that always prefers one group would seem biased, or a bias be missed."""

from __future__ import annotations

import numpy as np
import pytest

from unmask.core.types import Row
from unmask.stats import estimates
from unmask.stats.directions import balance_directions, balanced_change, balanced_share, balanced_test, is_unbalanced
from unmask.stats.paired import comparisons
from unmask.stats.units import INDEPENDENT, Units

from .tables import DATA, measure, row


def directed(stereo: list[float], antistereo: list[float]) -> list[Row]:
    """Pairs with these differences, by direction."""
    named = [("stereo", value) for value in stereo] + [("antistereo", value) for value in antistereo]
    return [row(i, value, direction=name, category="gender") for i, (name, value) in enumerate(named)]


def labels(stereo: int, antistereo: int) -> np.ndarray:
    return np.array(["stereo"] * stereo + ["antistereo"] * antistereo)


def test_a_model_that_always_prefers_one_group_prefers_no_stereotype() -> None:
    # it wins all pairs that have the group in the stereotyping sentence and none of the others
    found = estimates(measure(), directed([1.0] * 248, [-1.0] * 112), data=DATA, rng_seed=0)
    headline, mean = found[0], next(each for each in found if each.statistic == "balanced-mean-difference")
    plain = next(each for each in found if each.statistic == "bias-score")
    assert (headline.statistic, headline.group, headline.value) == ("balanced-bias-score", "all", 50.0)
    assert headline.low < 50 < headline.high
    assert headline.p == pytest.approx(1.0)
    assert plain.value == pytest.approx(100 * 248 / 360)
    assert plain.p is not None
    assert plain.p < 1e-9
    assert mean.value == pytest.approx(0.0)


def test_pairs_with_as_many_of_each_direction_keep_their_headline() -> None:
    found = estimates(measure(), directed([1.0] * 11, [-1.0] * 9), data=DATA, rng_seed=0)
    assert not any(each.statistic.startswith("balanced-") for each in found)
    assert is_unbalanced(labels(12, 8))
    assert not is_unbalanced(labels(11, 9))
    assert not is_unbalanced(labels(12, 0))
    assert not is_unbalanced(np.array(["stereo"] * 7 + ["antistereo"] * 2 + [""] * 2))


def test_fewer_than_55_percent_of_many_pairs_are_unbalanced() -> None:
    """A model that always prefers one group won 54.9% of 1,500 pairs: more often than chance, was said."""
    found = estimates(measure(), directed([1.0] * 824, [-1.0] * 676), data=DATA, rng_seed=0)
    assert (found[0].statistic, found[0].value) == ("balanced-bias-score", 50.0)
    assert not is_unbalanced(labels(785, 715))


def test_a_pair_without_a_direction_is_left_out_of_the_mean_of_both() -> None:
    """One blank cell of a file gave the headline back to a score that a preference for one group decides."""
    rows = [*directed([1.0] * 80, [-1.0] * 39), row(119, 1.0, direction="", category="gender")]
    found = {each.statistic: each for each in estimates(measure(), rows, data=DATA, rng_seed=0) if each.group == "all"}
    assert next(iter(found)) == "balanced-bias-score"
    assert (found["balanced-bias-score"].value, found["balanced-bias-score"].n) == (50.0, 119)
    assert (found["balanced-mean-difference"].value, found["balanced-mean-difference"].n) == (pytest.approx(0.0), 119)
    assert found["bias-score"].n == 120
    changed = {(each.statistic, each.n) for each in comparisons(measure(), rows, rows, data=DATA, rng_seed=0)}
    assert {("balanced-bias-score", 119), ("bias-score", 120)} <= changed


def test_a_mean_of_both_directions_and_its_error_by_hand() -> None:
    # means 3 and 1, so 2; variances of the sample 2 / 1 and 0.5 / 1 …: each direction's own, over n − 1 of all
    values, directions = np.array([2.0, 4.0, 3.0, 3.0, 0.5, 1.5]), labels(4, 2)
    weighted = balance_directions(values, directions)
    assert weighted.mean() == pytest.approx(2.0)
    # deviations (−1, 1, 0, 0) × 6/8 and (−½, ½) × 6/4
    assert (weighted - 2.0).tolist() == pytest.approx([-0.75, 0.75, 0.0, 0.0, -0.75, 0.75])


@pytest.mark.parametrize(
    ("counts", "shares"), [((248, 112), (0.6, 0.6)), ((94, 26), (0.9, 0.3)), ((129, 22), (0.6, 0.5))]
)
def test_intervals_contain_the_mean_of_both_directions(counts: tuple[int, int], shares: tuple[float, float]) -> None:
    rng, directions, covered = np.random.default_rng(0), labels(*counts), 0
    for _ in range(300):
        wins = np.concatenate([rng.random(n) < share for n, share in zip(counts, shares, strict=True)])
        found = balanced_share(wins, directions, INDEPENDENT)
        covered += found.low <= 50 * sum(shares) <= found.high
    assert covered >= 0.92 * 300


def test_equal_items_in_the_units_are_worth_as_much_as_units() -> None:
    wins, directions = np.ones(40, dtype=np.bool_), labels(30, 10)
    units = Units("stereotype", (np.arange(40) // 8,), (5,))
    alone, over = balanced_share(wins, directions, INDEPENDENT), balanced_share(wins, directions, units)
    assert (alone.value, over.value) == (100.0, 100.0)
    assert over.low < alone.low < 95


def test_changes_that_cancel_between_directions_are_none() -> None:
    # 20 of 80 pairs of one direction are gained and 5 of 20 of the other are lost: +25 and −25 points
    changes = np.array([100.0] * 20 + [0.0] * 60 + [-100.0] * 5 + [0.0] * 15)
    found, p = balanced_change(changes, labels(80, 20), INDEPENDENT)
    assert found.value == pytest.approx(0.0)
    assert p == pytest.approx(1.0)
    kept, p = balanced_change(np.abs(changes), labels(80, 20), INDEPENDENT)
    assert kept.value == pytest.approx(25.0)
    assert p is not None
    assert p < 0.001


def test_false_alarms_of_the_test_keep_the_level() -> None:
    rng, directions = np.random.default_rng(1), labels(94, 26)
    ps = [balanced_test(rng.random(120) < 0.5, directions, INDEPENDENT) for _ in range(400)]
    assert 0.02 <= np.mean([p is not None and p < 0.05 for p in ps]) <= 0.08


def test_comparisons_have_both_directions_first_and_all_pairs_after() -> None:
    a = directed([1.0] * 50 + [-1.0] * 30, [1.0] * 12 + [-1.0] * 8)
    b = directed([1.5] * 60 + [-1.0] * 20, [1.0] * 9 + [-1.5] * 11)
    found = [each for each in comparisons(measure(), a, b, data=DATA, rng_seed=0) if each.group == "all"]
    by_name = {each.statistic: each for each in found}
    assert [*by_name] == ["balanced-bias-score", "bias-score", "balanced-mean-difference", "mean-difference"]
    assert by_name["balanced-bias-score"].change == pytest.approx((12.5 - 15) / 2)
    assert by_name["bias-score"].change == pytest.approx(7.0)
    assert by_name["bias-score"].worsening == pytest.approx(7.0)


def test_a_category_with_one_direction_does_not_become_the_headline() -> None:
    """The first estimate is the headline: a category's share would be read as that of the whole."""
    rows = [
        row(i, 1.0 if i % 3 else -1.0, direction=direction, category=category)
        for i, (direction, category) in enumerate(
            [*(("stereo", "age"),) * 14, *(("antistereo", "age"),) * 6, *(("stereo", "race"),) * 6,
             *(("antistereo", "race"),) * 14]
        )
    ]  # fmt: skip
    found = estimates(measure(), rows, data=DATA, rng_seed=0)
    assert (found[0].statistic, found[0].group) == ("bias-score", "all")
    both = [each.group for each in found if each.statistic == "balanced-bias-score"]
    assert both == ["category=age", "category=race"]


def test_every_category_has_the_statistic_of_an_unbalanced_whole() -> None:
    """A balanced category would be missing in tables and charts by category, which show the headline's statistic."""
    rows = [
        row(i, 1.0 if i % 3 else -1.0, direction=direction, category=category)
        for i, (direction, category) in enumerate(
            [*(("stereo", "age"),) * 10, *(("antistereo", "age"),) * 10, *(("stereo", "race"),) * 16,
             *(("antistereo", "race"),) * 4]
        )
    ]  # fmt: skip
    found = estimates(measure(), rows, data=DATA, rng_seed=0)
    both = [each.group for each in found if each.statistic == "balanced-bias-score"]
    assert both == ["all", "category=age", "category=race"]
