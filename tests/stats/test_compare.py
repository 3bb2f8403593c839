"""Two runs, item by item: a wrong change, flip or p-value would call noise a finding."""

from __future__ import annotations

import math
import random
import statistics
from dataclasses import replace

import numpy as np
import pytest

from unmask.core.errors import StatsError
from unmask.core.estimate import Value
from unmask.core.types import Row, Summary
from unmask.stats import estimates
from unmask.stats.paired import apply_holm, comparisons

from .tables import DATA, measure, normal, only, row, rows, same, triple, unscored
from .test_corrections import reference_holm
from .test_triples import drawn, reference_stereoset, table_of


def reference_mcnemar(first: int, second: int) -> float:
    """Exact: the flips are tosses of a fair coin; twice the smaller tail, at most one."""
    n, few = first + second, min(first, second)
    return min(1.0, math.ldexp(2 * sum(math.comb(n, k) for k in range(few + 1)), -n))


def reference_change(changes: list[float], draws: int = 4000) -> tuple[float, float]:
    rng = random.Random(1)
    means = sorted(statistics.fmean(rng.choices(changes, k=len(changes))) for _ in range(draws))
    return means[int(0.025 * draws)], means[int(0.975 * draws)]


def test_bias_score_by_hand() -> None:
    # a wins 2 of 5, b wins 4 of 5; items 2, 3, 4 flip up, item 1 flips down: 4 flips, change +40 points
    # McNemar: 1 against 3 of 4 tosses: 2 · (1 + 4) / 16 = 0.625
    a, b = rows([1.0, 1.0, -1.0, -1.0, -1.0]), rows([1.0, -1.0, 1.0, 1.0, 1.0])
    found = comparisons(measure(), a, b, data=DATA, rng_seed=0)[0]
    assert (found.statistic, found.group) == ("bias-score", "all")
    assert (found.a_value, found.b_value, found.change) == pytest.approx((40.0, 80.0, 40.0))
    assert (found.n, found.flips, found.left_out) == (5, 4, 0)
    assert found.p == pytest.approx(0.625)
    assert found.p == pytest.approx(reference_mcnemar(3, 1))
    # Tango's score test of 3 gained and 1 lost of 5 rejects differences below −34.9 and above 82.6 points
    assert (found.low, found.high) == pytest.approx((-34.93, 82.64), abs=0.01)
    assert found.difference == Value(found.change, found.low, found.high, found.method)


def test_a_tie_is_no_win() -> None:
    a, b = rows([1.0, 0.0, -1.0]), rows([0.0, 1.0, 0.0])
    found = comparisons(measure(), a, b, data=DATA, rng_seed=0)[0]
    assert (found.flips, found.change) == (2, 0.0)


def test_only_items_scored_in_both_are_compared() -> None:
    a = [row(1, 1.0), row(2, -1.0), row(3, 1.0), unscored(4), row(6, 1.0)]
    b = [row(1, 1.0), row(2, 1.0), unscored(3), row(4, 1.0), row(5, 1.0)]
    for found in comparisons(measure(), a, b, data=DATA, rng_seed=0):
        assert (found.n, found.left_out) == (2, 4)  # 3 and 4 unscored in one, 5 and 6 in one run only
        assert found.flips == 1


def test_empty_spans_count_in_both_runs_where_they_count_at_all() -> None:
    a = [row(1, 1.0), row(2, -1.0), unscored(3, "empty span: more")]
    b = [row(1, 1.0), row(2, 1.0), unscored(3, "empty span: more")]
    found = comparisons(measure(empty_span_loses=True), a, b, data=DATA, rng_seed=0)
    share = only(found, "bias-score")
    assert (share.a_value, share.b_value, share.n, share.left_out) == pytest.approx((100 / 3, 200 / 3, 3, 0))
    assert only(found, "mean-difference").n == 2


def test_values_are_those_of_the_runs_when_all_items_join() -> None:
    a, b = rows(normal(50, 0)), rows(normal(50, 1))
    found = comparisons(measure(), a, b, data=DATA, rng_seed=0)
    for statistic in ("bias-score", "mean-difference"):
        one = only(found, statistic)
        assert one.a_value == pytest.approx(only(estimates(measure(), a, data=DATA, rng_seed=0), statistic).value)
        assert one.b_value == pytest.approx(only(estimates(measure(), b, data=DATA, rng_seed=0), statistic).value)
        assert one.change == pytest.approx(one.b_value - one.a_value)


def test_intervals_follow_a_plain_bootstrap_over_items() -> None:
    first = normal(120, 2)
    second = [x + noise for x, noise in zip(first, normal(120, 3, shift=0.3), strict=True)]
    found = comparisons(measure(), rows(first), rows(second), data=DATA, rng_seed=0)
    flips = [100.0 * ((y > 0) - (x > 0)) for x, y in zip(first, second, strict=True)]
    moves = [y - x for x, y in zip(first, second, strict=True)]
    for statistic, changes, method in (("bias-score", flips, "score"), ("mean-difference", moves, "bootstrap-t")):
        low, high = reference_change(changes)
        one = only(found, statistic)
        assert one.method == method
        assert (one.low, one.high) == pytest.approx((low, high), abs=0.12 * (high - low))


def test_magnitude_compares_sizes() -> None:
    # sizes 1, 2, 3 and 2, 4, 3: changes 1, 2, 0: mean 1; signed changes −3, 2, 0: mean −1/3
    a, b = rows([1.0, 2.0, -3.0]), rows([-2.0, 4.0, -3.0])
    found = comparisons(measure("magnitude"), a, b, data=DATA, rng_seed=0)
    assert [one.statistic for one in found] == ["asld", "mean-difference"]
    assert [one.change for one in found] == pytest.approx([1.0, -1 / 3])
    # changes 1, 2, 0: error 1/√3, t = √3 with 2 degrees: p = 0.2254
    assert found[0].p == pytest.approx(0.2254, abs=1e-4)


@pytest.mark.parametrize(("place", "summary"), [(0, "lms"), (1, "ss"), (2, "icat")])
def test_triples_are_compared_by_term(place: int, summary: Summary) -> None:
    first, second = drawn(40, 4, 4, lean=0.1), drawn(40, 4, 4, lean=0.9)
    (found,) = comparisons(measure(summary), table_of(first), table_of(second), data=DATA, rng_seed=0)
    before, after = reference_stereoset(first)[place], reference_stereoset(second)[place]
    assert (found.a_value, found.b_value, found.change) == pytest.approx((before, after, after - before))
    assert found.low <= found.change <= found.high
    assert found.method == "bootstrap-t over 40 target terms"
    assert (found.p is None) is (summary == "icat")
    assert found.flips == sum((x[1] > x[2]) != (y[1] > y[2]) for x, y in zip(first, second, strict=True))


def test_icat_change_follows_a_plain_bootstrap_over_terms() -> None:
    first, second = drawn(30, 4, 5, lean=0.2), drawn(30, 4, 6, lean=0.8)
    (found,) = comparisons(measure("icat"), table_of(first), table_of(second), data=DATA, rng_seed=0)
    rng, changes = random.Random(7), []
    for _ in range(1500):
        chosen = rng.choices(range(30), k=30)
        again = [
            [(f"{i}", *one[1:]) for i, k in enumerate(chosen) for one in run[4 * k : 4 * k + 4]]
            for run in (first, second)
        ]
        changes.append(reference_stereoset(again[1])[2] - reference_stereoset(again[0])[2])
    changes.sort()
    low, high = changes[37], changes[1462]
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.2 * (high - low))


@pytest.mark.parametrize("summary", ["share", "magnitude", "lms", "ss", "icat"])
def test_a_run_against_itself_has_not_changed(summary: Summary) -> None:
    table = table_of(drawn(12, 3, 8), category="race")
    for found in comparisons(measure(summary), table, table, data=DATA, rng_seed=0):
        assert (found.change, found.low, found.high, found.flips) == (0.0, 0.0, 0.0, 0)
        assert found.method == "no change"
        assert found.p in (None, 1.0)


def test_categories_are_compared_too() -> None:
    a = [row(i, x, category="ab"[i % 2]) for i, x in enumerate(normal(40, 9))]
    b = [row(i, x, category="ab"[i % 2]) for i, x in enumerate(normal(40, 10))]
    found = comparisons(measure(), a, b, data=DATA, rng_seed=0)
    groups = ["all", "category=a", "category=b"]
    assert [(one.statistic, one.group) for one in found] == [
        (statistic, group) for statistic in ("bias-score", "mean-difference") for group in groups
    ]
    assert only(found, "bias-score", "category=a").n == 20


@pytest.mark.parametrize("summary", ["share", "ss", "icat"])
def test_a_category_that_the_other_run_lacks(summary: Summary) -> None:
    both = [triple(1, (1.0, 0.0, 0.0), "x", category="a"), triple(2, (0.0, 1.0, 0.0), "y", category="a")]
    more = [*both, triple(3, (1.0, 0.0, 0.0), "z", category="b")]
    found = comparisons(measure(summary), more, both, data=DATA, rng_seed=0)
    lacking = [one for one in found if one.group == "category=b"]
    assert lacking
    assert all((one.n, one.left_out) == (0, 1) and np.isnan(one.change) and one.p is None for one in lacking)


def test_holm_covers_all_that_is_passed() -> None:
    a = [row(i, x, category="abc"[i % 3]) for i, x in enumerate(normal(90, 11))]
    b = [row(i, x, category="abc"[i % 3]) for i, x in enumerate(normal(90, 12, shift=0.5))]
    found = comparisons(measure(), a, b, data=DATA, rng_seed=0)
    assert all(one.p_holm is None for one in found)
    adjusted = apply_holm(found)
    assert [one.p_holm for one in adjusted] == pytest.approx(reference_holm([one.p or 0.0 for one in found]))
    assert same([replace(one, p_holm=None) for one in adjusted], found)


def test_runs_on_different_items_are_refused() -> None:
    with pytest.raises(StatsError, match="scored by m in both runs"):
        comparisons(measure(), [row(1, 1.0)], [row(2, 1.0)], data=DATA, rng_seed=0)


def test_an_item_twice_is_refused() -> None:
    twice: list[Row] = [row(1, 1.0), row(1, -1.0)]
    with pytest.raises(StatsError, match="occurs twice"):
        comparisons(measure(), twice, [row(1, 1.0)], data=DATA, rng_seed=0)


def test_mcnemar_stays_exact_however_many_flip() -> None:
    a = rows([1.0] * 10 + [-1.0] * 30 + [1.0] * 20)
    b = rows([-1.0] * 10 + [1.0] * 30 + [1.0] * 20)
    found = only(comparisons(measure(), a, b, data=DATA, rng_seed=0), "bias-score")
    assert found.flips == 40
    assert found.p == pytest.approx(reference_mcnemar(10, 30), rel=1e-9)


def test_of_one_run_beside_the_first_it_is_number_one() -> None:
    found = comparisons(measure(), rows([1.0, -1.0]), rows([1.0, 1.0]), data=DATA, rng_seed=0)
    assert {one.run for one in found} == {1}


def test_runs_that_score_no_item_in_common_are_refused() -> None:
    a, b = [row(0, 1.0), unscored(1)], [unscored(0), row(1, 1.0)]
    with pytest.raises(StatsError, match="in both runs"):
        comparisons(measure(), a, b, data=DATA, rng_seed=0)
