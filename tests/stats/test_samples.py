"""Samples, halves and sample sizes: by hand, and against theory and the exact power of the test."""

from __future__ import annotations

import math

import numpy as np
import pytest

from unmask.stats.reliability import (
    half_differences,
    half_rankings,
    sample_means,
    sample_scores,
    sample_sizes,
    spearman_brown,
)
from unmask.stats.table import ScoreTable
from unmask.stats.units import INDEPENDENT, Units, units_of

from .tables import DATA, measure, row, rows, unscored


def alone(groups: list[np.ndarray]) -> list[tuple[np.ndarray, Units]]:
    return [(group, INDEPENDENT) for group in groups]


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (1, (1,)),
        (20, (20,)),
        (50, (20, 40, 50)),
        (100, (20, 40, 60, 80, 100)),
        (1508, (20, 40, 60, 80, 100, 200, 400, 800, 1508)),
    ],
)
def test_sizes(n: int, expected: tuple[int, ...]) -> None:
    assert sample_sizes(n) == expected


def test_samples_are_drawn_without_replacement() -> None:
    values = 2.0 ** np.arange(10)
    whole = sample_means(values, 10, 6, rng=np.random.default_rng(0))
    np.testing.assert_allclose(whole, values.mean())
    for mean in sample_means(values, 3, 50, rng=np.random.default_rng(0)):
        assert bin(round(mean * 3)).count("1") == 3  # three different powers of two


def test_halves_differ_as_theory_says() -> None:
    values = 100.0 * (np.arange(200) % 2)
    found = half_differences(values, rng=np.random.default_rng(0))
    deviation = values.std(ddof=1)
    assert found.std() == pytest.approx(2 * deviation / math.sqrt(200), rel=0.1)
    assert found.mean() == pytest.approx(0, abs=1)


def test_halves_of_two_are_the_two() -> None:
    assert set(half_differences(np.array([1.0, 4.0]), rng=np.random.default_rng(0))) == {-3.0, 3.0}
    assert half_differences(np.array([1.0]), rng=np.random.default_rng(0)).size == 0


def test_groups_far_apart_are_ranked_alike_by_any_halves() -> None:
    groups = [np.array([0.0, 0.1, 0.2]), np.array([5.0, 5.1]), np.array([9.0, 9.1, 9.2, 9.3])]
    np.testing.assert_allclose(half_rankings(alone(groups), rng=np.random.default_rng(0)), 1.0)


def test_groups_of_one_item_are_left_out() -> None:
    groups = [np.array([0.0, 0.1]), np.array([5.0, 5.1]), np.array([9.0])]
    assert half_rankings(alone(groups), rng=np.random.default_rng(0)).size == 0


def test_stepped_up() -> None:
    assert spearman_brown(0.5) == pytest.approx(2 / 3)
    assert math.isnan(spearman_brown(-1.0))


def test_ties_count_in_the_score_but_are_not_decided() -> None:
    made = [*rows([1.0, -1.0, 0.0, 2.0]), unscored(9)]
    found = sample_scores(ScoreTable.of(measure(), made, data=DATA), 5, seed=0)
    assert found is not None
    assert (found.score, found.n, found.decided) == (50.0, 4, 3)


def test_asld_is_made_of_sizes() -> None:
    found = sample_scores(ScoreTable.of(measure("magnitude"), rows([1.0, -3.0]), data=DATA), 5, seed=0)
    assert found is not None
    assert (found.statistic, found.score) == ("asld", 2.0)


def test_nothing_scored_and_one_pair() -> None:
    assert sample_scores(ScoreTable.of(measure(), [unscored(1)], data=DATA), 5, seed=0) is None
    one = sample_scores(ScoreTable.of(measure(), [row(1, 2.0, category="age")], data=DATA), 5, seed=0)
    assert one is not None
    assert (one.score, one.halves.size, one.rankings.size) == (100.0, 0, 0)


def test_sizes_double_after_a_hundred() -> None:
    assert sample_sizes(200) == (20, 40, 60, 80, 100, 200)
    assert sample_sizes(250) == (20, 40, 60, 80, 100, 200, 250)


def test_of_an_odd_number_one_is_left_out_of_both_halves() -> None:
    """Of 0, 1 and 3 one stands against another, a thousand times."""
    found = half_differences(np.array([0.0, 1.0, 3.0]), rng=np.random.default_rng(0))
    assert found.size == 1000
    assert set(found.tolist()) == {-3.0, -2.0, -1.0, 1.0, 2.0, 3.0}


def test_three_groups_of_two_are_ranked_and_a_single_item_is_left_out() -> None:
    groups = [np.array([0.0, 0.1]), np.array([5.0, 5.1]), np.array([9.0, 9.1])]
    found = half_rankings(alone([*groups, np.array([7.0])]), rng=np.random.default_rng(0))
    assert found.size == 1000
    assert found == pytest.approx(1.0)
    assert half_rankings(alone([*groups[:2], np.array([7.0])]), rng=np.random.default_rng(0)).size == 0


def test_rankings_of_odd_groups_by_hand() -> None:
    """A half of the first group is 0 or 30: below both others, or above. Alike: ρ = 1; else −½."""
    groups = [np.array([0.0, 0.0, 30.0]), np.array([10.0] * 3), np.array([20.0] * 3)]
    found = half_rankings(alone(groups), rng=np.random.default_rng(0))
    assert set(np.round(found, 9).tolist()) == {1.0, -0.5}


def writers(*sizes: int) -> Units:
    return units_of({"writer": np.repeat([f"{k:02}" for k in range(len(sizes))], sizes)})


def test_halves_are_of_writers_not_of_pairs() -> None:
    """Writers a (1, 1, 1) and b (4): the halves are 1 and 4; pairs would also give (1 + 1) / 2 − (1 + 4) / 2."""
    values, units = np.array([1.0, 1.0, 1.0, 4.0]), writers(3, 1)
    assert set(half_differences(values, units, rng=np.random.default_rng(0)).tolist()) == {-3.0, 3.0}
    assert -1.5 in half_differences(values, rng=np.random.default_rng(0))
    one = units_of({"writer": np.array(["a"] * 4)})
    assert half_differences(values, one, rng=np.random.default_rng(0)).size == 0


def test_halves_of_alike_writers_differ_more_than_halves_of_pairs() -> None:
    """20 writers of 10 pairs, all won or all lost: two standard errors over writers, 100 √(¼ · 20/19) · 2 / √20."""
    values, units = np.repeat(100.0 * (np.arange(20) % 2), 10), writers(*(10,) * 20)
    by_writer = half_differences(values, units, rng=np.random.default_rng(0)).std()
    assert by_writer == pytest.approx(2 * 50 * math.sqrt(20 / 19) / math.sqrt(20), rel=0.1)
    assert by_writer > 2.5 * half_differences(values, rng=np.random.default_rng(0)).std()


def test_samples_are_of_whole_writers() -> None:
    """One of writers a (0, 0, 6) and b (10): the mean is 2 or 10; both: 4."""
    values, units = np.array([0.0, 0.0, 6.0, 10.0]), writers(3, 1)
    assert set(sample_means(values, 1, 40, units, rng=np.random.default_rng(0)).tolist()) == {2.0, 10.0}
    assert set(sample_means(values, 2, 4, units, rng=np.random.default_rng(0)).tolist()) == {4.0}


def test_groups_of_one_writer_are_not_ranked() -> None:
    values = [np.array([0.0, 0.1]), np.array([5.0, 5.1]), np.array([9.0, 9.1])]
    two, one = writers(1, 1), units_of({"writer": np.array(["a", "a"])})
    assert half_rankings([(each, two) for each in values], rng=np.random.default_rng(0)).size == 1000
    mixed = [(values[0], two), (values[1], two), (values[2], one)]
    assert half_rankings(mixed, rng=np.random.default_rng(0)).size == 0


def test_sizes_count_writers() -> None:
    made = [
        row(f"{writer:02}-{i}", 1.0 if writer % 2 else -1.0, writer=f"{writer:02}")
        for writer in range(24)
        for i in range(3)
    ]
    found = sample_scores(ScoreTable.of(measure(), made, data=DATA), 5, seed=0)
    assert found is not None
    assert (found.n, found.n_units, tuple(found.by_size)) == (72, 24, (20, 24))
    assert found.units.label == "24 writers"
    alone = sample_scores(ScoreTable.of(measure(), made, data=DATA, independent=True), 5, seed=0)
    assert alone is not None
    assert (alone.n_units, tuple(alone.by_size)) == (72, (20, 40, 60, 72))
