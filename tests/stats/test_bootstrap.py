"""Resampled means and the intervals from them, against plain loops and known shares."""

from __future__ import annotations

import math

import numpy as np
import pytest

from unmask.core.types import Floats
from unmask.stats.bootstrap import (
    bootstrap_value,
    percentile_interval,
    resampled_items,
    resampled_means,
    stratified_ends,
    studentised_ends,
    sum_by_unit,
)
from unmask.stats.units import INDEPENDENT, units_of


def test_rows_are_resampled_together() -> None:
    values = np.random.default_rng(1).normal(size=(2, 50))
    values[1] = values[0] + 3
    drawn = resampled_items(values, rng=np.random.default_rng(0))
    np.testing.assert_allclose(drawn[:, 1] - drawn[:, 0], 3)
    assert drawn[:, 0].mean() == pytest.approx(values[0].mean(), abs=0.02)
    assert drawn[:, 0].std() == pytest.approx(values[0].std() / math.sqrt(50), rel=0.1)


def test_what_does_not_count_is_left_out_of_every_resample() -> None:
    values = np.array([[1.0, 1.0, np.nan, 1.0], [np.nan, np.nan, np.nan, np.nan]])
    drawn = resampled_items(values, rng=np.random.default_rng(0))
    seen = drawn[:, 0]
    assert set(seen[np.isfinite(seen)]) == {1.0}
    assert np.isnan(drawn[:, 1]).all()


def test_items_are_drawn_with_their_writer() -> None:
    """The same two units as items: three pairs of one writer, one of the other, and a pair that does not count."""
    units = units_of({"writer": np.array(["b", "a", "b", "b", "a"])})
    values = np.array([1.0, 0.0, 1.0, 1.0, np.nan])
    drawn = resampled_items(values, units, rng=np.random.default_rng(0))
    assert set(drawn.tolist()) == {0.0, 0.75, 1.0}
    assert np.mean(drawn == 0.75) == pytest.approx(0.5, abs=0.05)


def test_words_and_templates_are_both_resampled() -> None:
    """Of a table with effects a of words and b of templates: the variance is that of both means."""
    rng = np.random.default_rng(3)
    of_words, of_templates = rng.normal(size=8), rng.normal(size=5)
    words, templates = (index.ravel() for index in np.indices((8, 5)))
    units = units_of({"word": words.astype(str), "template": templates.astype(str)})
    drawn = resampled_items(of_words[words] + of_templates[templates], units, rng=rng)
    assert drawn.mean() == pytest.approx(of_words.mean() + of_templates.mean(), abs=0.05)
    assert drawn.std() == pytest.approx(math.sqrt(of_words.var() / 8 + of_templates.var() / 5), rel=0.06)


def test_sums_by_unit() -> None:
    units = units_of({"writer": np.array(["c", "a", "c", "b"])})
    assert sum_by_unit(np.array([[1.0, 2.0, 4.0, 8.0]]), units).tolist() == [[2.0, 8.0, 5.0]]
    assert sum_by_unit(np.array([1.0, 2.0]), INDEPENDENT).tolist() == [1.0, 2.0]


def test_a_word_is_drawn_with_all_its_items() -> None:
    # word one: 1, 1, 1; word two: 0. A resample has both, or one of them twice.
    drawn = resampled_means(np.array([3.0, 0.0]), np.array([3.0, 1.0]), rng=np.random.default_rng(0))
    assert set(drawn.tolist()) == {0.0, 0.75, 1.0}
    assert np.mean(drawn == 0.75) == pytest.approx(0.5, abs=0.05)


def test_an_interval_needs_resamples() -> None:
    drawn = np.concatenate([np.full(60, np.nan), np.linspace(0, 1, 40)])
    assert math.isnan(percentile_interval(drawn, 0.5, "pairs").low)
    found = percentile_interval(np.linspace(0, 1, 1001), 0.5, "pairs")
    assert (found.low, found.high) == (pytest.approx(0.025), pytest.approx(0.975))


@pytest.mark.parametrize("units", [3, 700, 1000])
def test_there_are_two_thousand_resamples_however_many_are_drawn_at_a_time(units: int) -> None:
    totals = np.ones((2, units))
    found = resampled_means(totals, totals, rng=np.random.default_rng(0))
    assert found.shape == (2000, 2)
    assert (found == 1.0).all()


def test_a_resample_of_one_value_has_that_mean_and_one_of_none_has_none() -> None:
    """Of two units only the first counts in the row: it is drawn in three of four resamples."""
    found = resampled_means(np.array([[3.0, 0.0]]), np.array([[1.0, 0.0]]), rng=np.random.default_rng(0))
    assert set(found[np.isfinite(found)].tolist()) == {3.0}
    assert np.isfinite(found).mean() == pytest.approx(0.75, abs=0.03)


def test_half_of_the_resamples_are_enough_for_an_interval() -> None:
    half = percentile_interval(np.array([1.0, 2.0, np.nan, np.nan]), 1.5, "items")
    fewer = percentile_interval(np.array([1.0, np.nan, np.nan, np.nan]), 1.5, "items")
    assert 1.0 <= half.low < half.high <= 2.0
    assert math.isnan(fewer.low)


def reference_studentised(sums: list[float], sizes: list[float], draws: int = 20_000) -> tuple[float, float]:
    """Efron & Tibshirani 1993, eq. 12.22, with a loop over units drawn one by one."""
    rng, n = np.random.default_rng(5), len(sums)

    def ratio_and_error(chosen: list[int]) -> tuple[float, float]:
        total, size = sum(sums[i] for i in chosen), sum(sizes[i] for i in chosen)
        squares = sum((sums[i] - total / size * sizes[i]) ** 2 for i in chosen)
        return total / size, math.sqrt(squares * n / (n - 1)) / size

    value, error = ratio_and_error(list(range(n)))
    pivots = []
    for _ in range(draws):
        again, its_error = ratio_and_error(rng.integers(0, n, n).tolist())
        pivots.append((again - value) / its_error)
    low, high = np.quantile(pivots, [0.025, 0.975])
    return value - high * error, value - low * error


def test_the_studentised_bootstrap_is_the_printed_formula() -> None:
    """Skewed sums over units of different sizes: the upper end is farther away than the lower one."""
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 5, 40).astype(np.float64)
    sums = rng.exponential(1.0, 40) * sizes
    found = studentised_ends(sums, sizes, rng=np.random.default_rng(0))
    assert found is not None
    low, high = reference_studentised(sums.tolist(), sizes.tolist())
    assert found == pytest.approx((low, high), abs=0.06 * (high - low))
    value = sums.sum() / sizes.sum()
    assert high - value > 1.2 * (value - low)


def test_the_studentised_bootstrap_is_undefined_if_resamples_without_spread_decide_it() -> None:
    """Of nine equal values and another, a third of the resamples lack the other."""
    assert studentised_ends(np.array([0.0] * 9 + [1.0]), np.ones(10), rng=np.random.default_rng(0)) is None


def _spread(x: Floats, y: Floats, axis: int = -1) -> Floats:
    return np.asarray((x.mean(axis) - y.mean(axis)) / (x.std(axis) + y.std(axis)))


def test_columns_are_resampled_separately_by_the_first_method_that_works() -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 30))
    low, high, method = stratified_ends(
        (x, y[:20] + 1), _spread, methods=("BCa", "percentile"), rng=np.random.default_rng(0)
    )
    assert method == "bca"
    assert low < _spread(x, y[:20] + 1) < high < 0
    assert stratified_ends((x, y), _spread, methods=("percentile",), rng=np.random.default_rng(0))[2] == "percentile"
    constant = np.zeros(4), np.ones(4)
    low, high, method = stratified_ends(constant, _spread, methods=("BCa",), rng=np.random.default_rng(0))
    assert (math.isnan(low), math.isnan(high), method) == (True, True, "none")


def test_the_method_names_what_is_resampled_if_it_has_a_name() -> None:
    values = np.random.default_rng(0).normal(size=20)
    plain = bootstrap_value(0.0, (values,), np.mean, rng=np.random.default_rng(0))
    named = bootstrap_value(0.0, (values,), np.mean, rng=np.random.default_rng(0), unit="words")
    assert named.method == f"{plain.method} over 20 words"
    assert " over " not in plain.method
