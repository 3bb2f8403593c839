"""Bias scores: denominators, Wilson, sign test, direction gap; some pairs against the others."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from unmask.core.errors import StatsError
from unmask.core.types import Row
from unmask.stats import estimates
from unmask.stats.shares import compare_subset, contrast, share_gap, sign_test, signed_estimate, wilson
from unmask.stats.table import ScoreTable

from .tables import DATA, measure, only, row, rows, unscored

Z = 1.959963984540054  # the normal distribution's 97.5% point


def reference_wilson(wins: int, n: int) -> tuple[float, float]:
    """Wilson (1927), the formula as printed, in percent."""
    p, square = wins / n, Z * Z
    centre = (p + square / (2 * n)) / (1 + square / n)
    half = Z * math.sqrt(p * (1 - p) / n + square / (4 * n * n)) / (1 + square / n)
    return 100 * (centre - half), 100 * (centre + half)


def reference_sign_test(wins: int, losses: int) -> float:
    """Sum of the probabilities of all outcomes no likelier than the one seen, in whole numbers."""
    n = wins + losses
    ways = [math.comb(n, k) for k in range(n + 1)]
    return math.ldexp(sum(way for way in ways if way <= ways[wins]), -n)


def reference_newcombe(wins: int, n: int, others: int, m: int) -> tuple[float, float]:
    """Newcombe (1998), method 10: square-and-add of the two Wilson intervals, in percent."""
    p, q = 100 * wins / n, 100 * others / m
    (low_p, high_p), (low_q, high_q) = reference_wilson(wins, n), reference_wilson(others, m)
    return (p - q - math.hypot(p - low_p, high_q - q), p - q + math.hypot(high_p - p, q - low_q))


def reference_fisher(wins: int, n: int, others: int, m: int) -> float:
    """Fisher's exact test by counting tables with the same margins."""
    total = wins + others
    ways = {k: math.comb(n, k) * math.comb(m, total - k) for k in range(max(0, total - m), min(n, total) + 1)}
    return sum(way for way in ways.values() if way <= ways[wins]) / math.comb(n + m, total)


def table_of(wins: int, losses: int, ties: int = 0, **groups: str) -> list[Row]:
    signs = [1.0] * wins + [-1.0] * losses + [0.0] * ties
    label = groups.get("direction", "x")
    return [replace(one, item=f"{label}{one.item}") for one in rows(signs, **groups)]


def test_headline_by_hand() -> None:
    # 6 wins, 3 losses, 1 tie, 2 unscored: 6 / 10 = 60%; the sign test sees 6 of 9:
    # P(6 or more of 9) = (84 + 36 + 9 + 1) / 512 = 130 / 512, twice that is 0.5078125
    table = [*table_of(6, 3, 1), unscored("u1"), unscored("u2")]
    found = estimates(measure(), table, data=DATA, rng_seed=0)[0]
    assert (found.measure, found.data, found.group, found.statistic) == ("m", DATA, "all", "bias-score")
    assert found.value == 60.0
    assert (found.n, found.ties, found.unscored) == (10, 1, 2)
    assert (found.null, found.method) == (50.0, "wilson")
    assert found.p == pytest.approx(0.5078125, abs=1e-15)
    assert found.p_holm is None


def test_empty_spans_stay_in_the_denominator_only_where_the_measure_says_so() -> None:
    # 3 wins, 1 loss, 2 empty spans, 1 too long: 3 / 4 = 75%, or 3 / 6 = 50% with empty spans as not won
    table = [*table_of(3, 1), unscored("e1", "empty span: more"), unscored("e2", "empty span: less"), unscored("u")]
    plain = estimates(measure(), table, data=DATA, rng_seed=0)[0]
    losing = estimates(measure(empty_span_loses=True), table, data=DATA, rng_seed=0)[0]
    assert (plain.value, plain.n, plain.unscored) == (75.0, 4, 3)
    assert (losing.value, losing.n, losing.unscored) == (50.0, 6, 3)
    assert losing.p == plain.p  # the sign test knows wins and losses only


@pytest.mark.parametrize(("wins", "n"), [(0, 1), (1, 1), (0, 7), (4, 4), (31, 60), (912, 1508)])
def test_wilson_is_the_printed_formula(wins: int, n: int) -> None:
    found = wilson(wins, n)
    assert (found.low, found.high) == pytest.approx(reference_wilson(wins, n), abs=1e-9)


@pytest.mark.parametrize(("wins", "losses"), [(1, 0), (0, 5), (5, 5), (6, 3), (40, 21), (159, 103)])
def test_sign_test_counts_outcomes(wins: int, losses: int) -> None:
    assert sign_test(wins, losses) == pytest.approx(reference_sign_test(wins, losses), rel=1e-9)


def test_sign_test_needs_a_decision() -> None:
    assert sign_test(0, 0) is None


def test_categories_and_directions() -> None:
    table = [
        row(1, 1.0, category="age", direction="stereo"),
        row(2, -1.0, category="age", direction="antistereo"),
        row(3, 1.0, category="gender", direction="stereo"),
        row(4, 1.0, category="gender", direction="antistereo"),
        row(5, 1.0),  # belongs to no group
    ]
    found = estimates(measure(), table, data=DATA, rng_seed=0)
    groups = [one.group for one in found if one.statistic == "bias-score"]
    assert groups == ["all", "category=age", "category=gender", "direction=antistereo", "direction=stereo"]
    values = {one.group: (one.value, one.n) for one in found if one.statistic == "bias-score"}
    assert values["all"] == (80.0, 5)
    assert values["category=age"] == (50.0, 2)
    assert values["direction=stereo"] == (100.0, 2)
    assert values["direction=antistereo"] == (50.0, 2)


def test_scores_by_direction_leave_ties_out() -> None:
    # stereo: 5 of 8 and 2 ties: 5 / 10 = 50% as bias score, 5 / 8 = 62.5% as crows-pairs prints it
    table = [*table_of(5, 3, 2, direction="stereo"), *table_of(1, 3, direction="antistereo")]
    found = estimates(measure(), table, data=DATA, rng_seed=0)
    assert only(found, "bias-score", "direction=stereo").value == 50.0
    stereo, anti = only(found, "stereo-score"), only(found, "antistereo-score")
    assert (stereo.value, stereo.n, stereo.ties) == (62.5, 8, 2)
    assert (anti.value, anti.n, anti.ties) == (25.0, 4, 0)


@pytest.mark.parametrize(
    ("counts", "covers_zero"), [(((108, 110), (690, 600)), True), (((112, 106), (829, 461)), False)]
)
def test_gap_between_directions(counts: tuple[tuple[int, int], tuple[int, int]], covers_zero: bool) -> None:
    (a, b), (c, d) = counts
    table = [*table_of(c, d, direction="stereo"), *table_of(a, b, direction="antistereo")]
    gap = only(estimates(measure(), table, data=DATA, rng_seed=0), "direction-gap")
    low, high = reference_newcombe(a, a + b, c, c + d)
    assert (low < 0 < high) is covers_zero
    expected = (0.0, max(-low, high)) if covers_zero else (min(abs(low), abs(high)), max(abs(low), abs(high)))
    assert gap.value == pytest.approx(abs(100 * a / (a + b) - 100 * c / (c + d)))
    assert (gap.low, gap.high) == pytest.approx(expected, abs=1e-9)
    assert (gap.null, gap.n, gap.method) == (0.0, a + b + c + d, "newcombe")
    assert gap.p == pytest.approx(reference_fisher(a, a + b, c, c + d), rel=1e-9)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_gap_where_one_side_always_wins(sign: float) -> None:
    both = [row(i, sign, direction="stereo" if i % 2 else "antistereo") for i in range(6)]
    gap = only(estimates(measure(), both, data=DATA, rng_seed=0), "direction-gap")
    assert gap.value == gap.low == 0.0
    assert gap.p == 1.0


def test_one_direction_alone_has_no_gap() -> None:
    found = estimates(measure(), table_of(2, 2, direction="stereo"), data=DATA, rng_seed=0)
    assert {one.statistic for one in found} == {"bias-score", "stereo-score", "mean-difference"}


def test_nothing_scored_is_said_not_guessed() -> None:
    found = estimates(measure(), [unscored(i, category="age") for i in range(3)], data=DATA, rng_seed=0)
    assert all(np.isnan([one.value, one.low, one.high]).all() for one in found)
    assert all((one.n, one.unscored, one.p) == (0, 3, None) for one in found)
    assert found[0].method == "none: nothing scored"


def test_a_direction_without_a_score_leaves_the_gap_open() -> None:
    table = [*table_of(2, 2, direction="stereo"), unscored("u", direction="antistereo")]
    gap = only(estimates(measure(), table, data=DATA, rng_seed=0), "direction-gap")
    assert np.isnan([gap.value, gap.low, gap.high]).all()
    assert (gap.unscored, gap.p) == (1, None)


def test_no_rows_is_an_error() -> None:
    with pytest.raises(StatsError, match="no rows of m on pairs"):
        estimates(measure(), [], data=DATA, rng_seed=0)


@pytest.mark.parametrize("stranger", [{"measure": "other"}, {"data": "other"}])
def test_rows_of_another_measure_or_dataset_are_refused(stranger: dict[str, str]) -> None:
    with pytest.raises(StatsError, match="expected m on pairs"):
        estimates(measure(), [row(1, 1.0), replace(row(2, 1.0), **stranger)], data=DATA, rng_seed=0)  # type: ignore[arg-type]


def test_signed() -> None:
    found = estimates(measure(), table_of(6, 3, 1), data=DATA, rng_seed=0)[0]
    moved = signed_estimate(found)
    assert (moved.value, moved.null, moved.statistic) == (10.0, 0.0, "signed-bias-score")
    assert (moved.low, moved.high) == (found.low - 50, found.high - 50)
    assert (moved.n, moved.p, moved.method) == (found.n, found.p, found.method)


def test_signed_needs_a_null() -> None:
    found = estimates(measure(), table_of(2, 2), data=DATA, rng_seed=0)[0]
    with pytest.raises(StatsError, match="no null"):
        signed_estimate(replace(found, null=None))


def test_the_gap_between_directions_counts_both() -> None:
    table = [
        *(row(f"s{i}", value, direction="stereo") for i, value in enumerate([1.0, 0.0, 0.0, -1.0])),
        *(row(f"a{i}", value, direction="antistereo") for i, value in enumerate([1.0, 0.0])),
        unscored("u0", direction="stereo"),
        unscored("u1", direction="antistereo"),
        unscored("u2", direction="antistereo"),
    ]
    found = only(estimates(measure(), table, data=DATA, rng_seed=0), "direction-gap")
    assert (found.value, found.n, found.ties, found.unscored) == (pytest.approx(25.0), 6, 3, 3)


def test_no_gap_is_wider_than_a_hundred() -> None:
    table = [row(f"s{i}", -1.0, direction="stereo") for i in range(10)]
    table += [row(f"a{i}", 1.0, direction="antistereo") for i in range(10)]
    found = only(estimates(measure(), table, data=DATA, rng_seed=0), "direction-gap")
    assert (found.value, found.high) == pytest.approx((100.0, 100.0), abs=1e-9)


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
