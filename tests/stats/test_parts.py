"""Some pairs against the others, and two groups of numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from unmask.stats.shares import compare_subset, contrast, share_gap
from unmask.stats.table import ScoreTable

from .tables import DATA, measure, row
from .test_shares import reference_newcombe

CPS = measure()
WON = [True] * 7 + [False] * 2 + [True] * 8 + [False] * 13
INSIDE = np.arange(30) < 9  # 7 of 9 won inside, 8 of 21 outside


def table(won: list[bool]) -> ScoreTable:
    return ScoreTable.of(CPS, [row(i, 1.0 if one else -1.0) for i, one in enumerate(won)], data=DATA)


def test_leaving_pairs_out_changes_the_score_by_what_is_said() -> None:
    found = compare_subset(table(WON), INSIDE)
    assert found.inside.value == pytest.approx(100 * 7 / 9)
    assert found.others.value == pytest.approx(100 * 8 / 21)
    assert found.change.value == pytest.approx(100 * 8 / 21 - 100 * 15 / 30)
    low, high = reference_newcombe(8, 21, 7, 9)
    assert (found.change.low, found.change.high) == pytest.approx((low * 9 / 30, high * 9 / 30))
    assert found.p == pytest.approx(stats.fisher_exact([[7, 2], [8, 13]]).pvalue)


@pytest.mark.parametrize("inside", [np.zeros(30, dtype=np.bool_), np.ones(30, dtype=np.bool_)])
def test_all_or_none_apart_is_no_comparison(inside: np.ndarray) -> None:
    found = compare_subset(table(WON), inside)
    assert math.isnan(found.change.value)
    assert found.p is None
    assert {found.inside.n, found.others.n} == {0, 30}


def test_a_gap_has_the_sign_of_first_minus_second() -> None:
    first, second = table(WON[:9]), table(WON[9:])
    assert share_gap(first, second).value == pytest.approx(100 * (7 / 9 - 8 / 21))
    assert share_gap(second, first).value == pytest.approx(-100 * (7 / 9 - 8 / 21))
    assert (share_gap(first, second).low, share_gap(first, second).high) == pytest.approx(
        reference_newcombe(7, 9, 8, 21)
    )


def test_a_contrast_is_welchs_and_mann_and_whitneys() -> None:
    first, second = np.array([-3.1, -4.0, -3.6, -5.2, -2.8]), np.array([-5.0, -4.4, -6.1, -3.9])
    found = contrast(first, second)
    assert found.value == pytest.approx(first.mean() - second.mean())
    wins = sum(a > b for a in first for b in second)
    assert found.p == pytest.approx(stats.mannwhitneyu(first, second).pvalue)
    assert stats.mannwhitneyu(first, second).statistic == wins
    variances = first.var(ddof=1) / 5, second.var(ddof=1) / 4
    freedom = sum(variances) ** 2 / (variances[0] ** 2 / 4 + variances[1] ** 2 / 3)
    half = stats.t.ppf(0.975, freedom) * math.sqrt(sum(variances))
    assert (found.low, found.high) == pytest.approx((found.value - half, found.value + half))


def test_groups_too_small_for_an_interval_still_have_a_difference() -> None:
    one = contrast(np.array([-3.0]), np.array([-4.0, -5.0]))
    assert one.value == pytest.approx(1.5)
    assert math.isnan(one.low)
    assert one.p == pytest.approx(2 / 3)  # one of three orders puts it first; two-sided
    alike = contrast(np.array([-3.0, -3.0]), np.array([-4.0, -5.0]))
    assert math.isnan(alike.low)
    assert alike.method.startswith("no spread")
    none = contrast(np.empty(0), np.array([-4.0]))
    assert math.isnan(none.value)
    assert none.p is None


def test_parts_and_methods_are_named() -> None:
    found = compare_subset(table(WON), INSIDE)
    assert (found.inside.group, found.others.group, found.change.method) == ("inside", "others", "newcombe")
    assert contrast(np.array([1.0, 2.0, 4.0]), np.array([0.0, 3.0])).method == "welch"
