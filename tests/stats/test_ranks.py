"""Rank correlations against scipy and against all permutations."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import kendalltau, spearmanr

from unmask.stats.agreement import Rankings, kendall, kendall_taus, rank_agreements, spearman, spearman_rhos


@pytest.mark.parametrize("levels", [3, 1000])
@pytest.mark.parametrize("size", [3, 7, 9])
def test_many_at_once_equal_scipy_one_at_a_time(size: int, levels: int) -> None:
    rng = np.random.default_rng(size)
    x = rng.integers(levels, size=(40, size)).astype(float)
    y = rng.integers(levels, size=(40, size)).astype(float)
    for one, other, tau, rho in zip(x, y, kendall_taus(x, y), spearman_rhos(x, y), strict=True):
        if np.ptp(one) == 0 or np.ptp(other) == 0:
            assert math.isnan(tau)
            assert math.isnan(rho)
        else:
            assert tau == pytest.approx(kendalltau(one, other).statistic, abs=1e-12)
            assert rho == pytest.approx(spearmanr(one, other).statistic, abs=1e-12)


def permuted_p(x: list[float], y: list[float]) -> float:
    """Two-sided: twice the smaller share of permutations at least as far out."""
    seen = kendalltau(x, y).statistic
    drawn = [kendalltau(one, y).statistic for one in itertools.permutations(x)]
    ups = sum(one >= seen - 1e-9 for one in drawn) / len(drawn)
    downs = sum(one <= seen + 1e-9 for one in drawn) / len(drawn)
    return min(1.0, 2 * min(ups, downs))


@pytest.mark.parametrize(
    ("x", "y", "method"),
    [
        ([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 4.0], "exact"),
        ([1.0, 2.0, 3.0, 4.0, 5.0], [5.0, 4.0, 3.0, 1.0, 2.0], "exact"),
        ([1.0, 1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 3.0, 4.0], "all permutations"),
    ],
)
def test_p_is_that_of_all_permutations(x: list[float], y: list[float], method: str) -> None:
    found = kendall(np.array(x), np.array(y))
    assert found.value == pytest.approx(kendalltau(x, y).statistic)
    assert found.p == pytest.approx(permuted_p(x, y))
    assert found.method == method


def test_many_tied_are_asymptotic_and_flat_ones_have_no_correlation() -> None:
    x, y = np.repeat(np.arange(5.0), 2), np.arange(10.0)
    assert kendall(x, y).method == "asymptotic"
    assert kendall(x, y).p == pytest.approx(kendalltau(x, y).pvalue)
    flat = kendall(np.ones(4), np.arange(4.0))
    assert math.isnan(flat.value)
    assert flat.p is None
    assert math.isnan(spearman(np.ones(4), np.arange(4.0)))
    assert spearman(np.arange(4.0), np.array([0.0, 2.0, 1.0, 3.0])) == pytest.approx(0.8)


def test_agreements_of_measures_that_share_enough() -> None:
    nan = np.nan
    scores = np.array([[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 4.0, 3.0], [nan, nan, 5.0, 6.0]])
    drawn = np.stack([scores, scores[:, ::-1]] * 30)
    (found,) = rank_agreements(Rankings(["a", "b", "c"], scores, drawn, np.full(4, 60), "60 pairs"))
    assert (found.a, found.b, found.n) == ("a", "b", 4)
    assert found.test.value == pytest.approx(2 / 3)
    assert found.tau.low <= found.tau.value == found.test.value <= found.tau.high


def test_three_things_in_common_are_enough_to_agree_on() -> None:
    scores = np.array([[1.0, 2.0, 3.0, np.nan], [10.0, 20.0, 30.0, 5.0], [np.nan, np.nan, 2.0, 1.0]])
    drawn = np.broadcast_to(scores, (4, *scores.shape))
    (found,) = rank_agreements(Rankings(["a", "b", "c"], scores, drawn, np.full(4, 9), "9 writers", "writer"))
    assert (found.a, found.b, found.n, found.test.value) == ("a", "b", 3, 1.0)
    assert (found.tau.low, found.tau.high, found.tau.unit) == (1.0, 1.0, "writer")  # without noise all is decided
    assert found.tau.method == "decided orders over 9 writers"


def test_orders_that_are_open_may_agree_or_not() -> None:
    """Scores 0, 1 and 10 vary by ±1 on their own: the order of the first two is open, two of three are decided.

    The standard deviation of the difference of two scores is √2 over 3 units, times √(3/2) is √3; Student's quantile
    of two degrees of freedom is 4.30, the limit 7.45: 9 and 10 are decided, 1 is not. τ is 2/3 ± 1/3.
    """
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    scores = np.array([[0.0, 1.0, 10.0], [0.0, 1.0, 10.0]])
    drawn = scores + np.stack([signs, signs], axis=1)
    (found,) = rank_agreements(Rankings(["a", "b"], scores, drawn, np.array([3, 3, 3]), "3 writers"))
    assert (found.tau.value, found.tau.low, found.tau.high) == pytest.approx((1.0, 1 / 3, 1.0))
    (fewer,) = rank_agreements(Rankings(["a", "b"], scores, drawn, np.array([3, 3, 2]), "2 writers"))
    assert (fewer.tau.low, fewer.tau.high) == pytest.approx((-1.0, 1.0))  # 12.7 × 2 = 25
    (one,) = rank_agreements(Rankings(["a", "b"], scores, drawn, np.array([3, 3, 1]), "1 writer"))
    assert (one.tau.value, one.tau.has_interval, one.tau.method) == (1.0, False, "too few: 1 writer")


def test_up_to_seven_tied_things_are_permuted_in_all_ways() -> None:
    tied = np.array([1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    plain = np.arange(8.0)
    assert kendall(tied[:7], plain[:7]).method == "all permutations"
    assert kendall(tied, plain).method == "asymptotic"


def test_two_things_have_a_rank_correlation() -> None:
    x, y = np.array([1.0, 2.0]), np.array([5.0, 3.0])
    assert kendall(x, y).value == pytest.approx(-1.0)
    assert spearman(x, y) == pytest.approx(-1.0)
    assert kendall_taus(x, y) == pytest.approx(-1.0)
    assert spearman_rhos(x, y) == pytest.approx(-1.0)


def test_correlations_run_along_the_last_axis() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 3, 5)), rng.normal(size=(2, 3, 5))
    for place in np.ndindex(2, 3):
        assert kendall_taus(x, y)[place] == pytest.approx(kendalltau(x[place], y[place]).statistic)
        assert spearman_rhos(x, y)[place] == pytest.approx(spearmanr(x[place], y[place]).statistic)


def test_counting_a_thing_several_times_is_repeating_it() -> None:
    x, y = np.array([1.0, 4.0, 2.0, 2.0, 9.0]), np.array([3.0, 5.0, 1.0, 4.0, 4.0])
    times = np.array([2, 0, 1, 3, 1])
    expected = kendalltau(np.repeat(x, times), np.repeat(y, times)).statistic
    assert kendall_taus(x, y, times.astype(float)) == pytest.approx(expected)
