"""Two runs, item by item; the gate says worse only when the low end does."""

from __future__ import annotations

import math
import random
import statistics
from dataclasses import replace

import numpy as np
import pytest

from unmask.core.errors import StatsError
from unmask.core.types import Measure, Row, Summary
from unmask.stats import GateResult, apply_holm, comparisons, estimates, gate
from unmask.stats.compare import unit_of

from .tables import DATA, measure, normal, only, row, rows, same, swapped, triple, unscored
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
    # changes −100, 100, 100, 100, 0: mean 40, deviation 89.44, error 40, t(4) = 2.776: 40 ± 111.06
    assert (found.low, found.high) == pytest.approx((-71.06, 151.06), abs=0.01)


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
    for statistic, changes in (("bias-score", flips), ("mean-difference", moves)):
        low, high = reference_change(changes)
        one = only(found, statistic)
        assert one.method == "bca"
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
    assert found.method == "bca over 40 target terms"
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


@pytest.mark.parametrize("statistic", ["lms", "ss", "icat"])
def test_target_terms_are_the_units_of_triples(statistic: str) -> None:
    assert unit_of(statistic) == "target terms"
    assert unit_of("bias-score") == ""


def judged(a: list[Row], b: list[Row], of: Measure | None = None, tolerance: float = 0.0) -> GateResult:
    return gate(of or measure(), a, b, data=DATA, rng_seed=0, tolerance=tolerance)


def wins(count: int, of: int) -> list[Row]:
    return rows([1.0] * count + [-1.0] * (of - count))


def test_worsening_by_hand() -> None:
    # a 60 of 100 (10 from the null), b 75 of 100 (25 from it): 15 worse. The 15 items that flipped
    # make b − a = 15 and a + b − 100 = 35, so the nearer of the two, b − a, sets the ends.
    found = judged(wins(60, 100), wins(75, 100))
    assert (found.a_value, found.b_value, found.null, found.worsening) == pytest.approx((60.0, 75.0, 50.0, 15.0))
    assert (found.statistic, found.n, found.method) == ("bias-score", 100, "bca")
    # 15 of 100 flip: error 100·√(0.15·0.85/100) = 3.57, so about 15 ± 7
    assert (found.low, found.high) == pytest.approx((8.9, 23.0), abs=1.5)
    assert found.worse


def test_tolerance_is_subtracted_from_nothing_but_compared() -> None:
    strict, lenient = (judged(wins(60, 100), wins(75, 100), tolerance=t) for t in (5.0, 12.0))
    assert strict.worse
    assert not lenient.worse
    assert (strict.low, strict.worsening) == (lenient.low, lenient.worsening)
    assert lenient.tolerance == 12.0


def test_better_is_not_worse() -> None:
    found = judged(wins(75, 100), wins(60, 100))
    assert found.worsening == pytest.approx(-15.0)
    assert found.high < 0
    assert not found.worse


def test_the_other_side_of_the_null_is_as_bad() -> None:
    # from 45 (5 below) to 20 (30 below): 25 worse though the score fell
    found = judged(wins(45, 100), wins(20, 100))
    assert found.worsening == pytest.approx(25.0)
    assert found.worse


def test_crossing_the_null_to_the_same_distance_is_no_worse() -> None:
    found = judged(wins(60, 100), wins(40, 100))
    assert found.worsening == pytest.approx(0.0)
    assert found.low <= 0.0 <= found.high
    assert not found.worse


def test_mirrored_runs_get_the_same_verdict() -> None:
    a, b = rows(normal(90, 0)), rows(normal(90, 1, shift=0.6))
    plain, mirrored = judged(a, b), judged(swapped(a), swapped(b))
    assert (plain.worsening, plain.low, plain.high) == pytest.approx(
        (mirrored.worsening, mirrored.low, mirrored.high), abs=1e-9
    )


@pytest.mark.parametrize("summary", ["share", "magnitude", "lms", "ss", "icat"])
def test_the_same_run_passes(summary: Summary) -> None:
    table = table_of(drawn(12, 3, 2))
    found = judged(table, table, measure(summary))
    assert (found.worsening, found.low, found.high, found.worse) == (0.0, 0.0, 0.0, False)
    assert found.method == "no change"


def test_more_magnitude_is_worse() -> None:
    a = rows(normal(200, 3))
    b = rows([3 * x for x in normal(200, 3)])
    assert judged(a, b, measure("magnitude")).worse
    assert not judged(b, a, measure("magnitude")).worse


def test_less_language_ability_is_worse() -> None:
    able = table_of(drawn(40, 5, 4))
    unable = table_of([(term, more, less, less + more) for term, more, less, _ in drawn(40, 5, 4)])
    for summary in ("lms", "icat"):
        assert judged(able, unable, measure(summary)).worse
        assert judged(able, unable, measure(summary)).worsening > 0
        assert not judged(unable, able, measure(summary)).worse


def test_ss_is_judged_by_its_distance_from_fifty() -> None:
    even, leaning = table_of(drawn(40, 5, 5, lean=0.0)), table_of(drawn(40, 5, 5, lean=1.5))
    found = judged(even, leaning, measure("ss"))
    assert found.worse
    assert found.worsening == pytest.approx(abs(found.b_value - 50) - abs(found.a_value - 50))
    assert found.method == "bca over 40 target terms"


def test_every_item_flipped() -> None:
    # b − a = −100 or 100 by item, a + b = 100 always: the second mean has no spread and is 0 exactly
    a = rows([1.0, -1.0] * 10)
    found = judged(a, swapped(a))
    assert (found.worsening, found.worse) == (0.0, False)
    assert found.low <= 0.0 <= found.high


def test_too_few_to_judge() -> None:
    found = judged([row(1, -1.0)], [row(1, 1.0)])
    assert found.method == "too few: 1 items"
    assert np.isnan([found.low, found.high]).all()
    assert not found.worse


def test_what_was_left_out_is_counted() -> None:
    found = judged([*wins(3, 6), unscored("x")], [*wins(5, 6), row("x", 1.0)])
    assert (found.n, found.left_out) == (6, 1)


def test_without_a_null_there_is_no_distance() -> None:
    with pytest.raises(StatsError, match="no null value"):
        judged(wins(1, 2), wins(2, 2), measure(null=None))


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.5, 0.52, 0.6])
def test_false_alarms_are_rare(share: float) -> None:
    """Two runs of equal bias: at most 2.5 in 100 verdicts may be `worse` (here at most 12 of 200)."""
    rng, alarms = np.random.default_rng(6), 0
    for _ in range(200):
        a, b = (rows(np.where(rng.random(1200) < share, 1.0, -1.0).tolist()) for _ in range(2))
        alarms += judged(a, b).worse
    assert alarms <= 12


def test_the_gate_and_the_comparison_draw_the_same_resamples() -> None:
    a, b = rows(normal(60, 1)), rows(normal(60, 2, shift=1.0))
    of = measure("magnitude")
    verdict = judged(a, b, of)
    compared = comparisons(of, a, b, data=DATA, rng_seed=0)[0]
    assert compared.statistic == verdict.statistic == "asld"
    assert (verdict.low, verdict.high) == (compared.low, compared.high)
