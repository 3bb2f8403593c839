"""Mean differences, ASLD and leans of templates: means, intervals where there can be some, and words."""

from __future__ import annotations

import math
import random
import statistics
import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import t, ttest_1samp

from unmask.core.seeds import generator
from unmask.core.types import Floats, Row
from unmask.stats import estimates
from unmask.stats.bootstrap import bootstrap_ends, studentised_ends
from unmask.stats.intervals import crossed_mean, mean_interval, mean_test
from unmask.stats.paired import comparisons
from unmask.stats.table import ScoreTable

from .tables import DATA, measure, normal, only, row, rows, unscored


def reference_bootstrap(values: list[float], draws: int = 4000) -> tuple[float, float]:
    """Percentile bootstrap of the mean, in plain Python."""
    rng = random.Random(1)
    means = sorted(statistics.fmean(rng.choices(values, k=len(values))) for _ in range(draws))
    return means[int(0.025 * draws)], means[int(0.975 * draws)]


def test_mean_by_hand() -> None:
    # (1 + 2 − 6 + 5 + 0) / 5 = 0.4; sizes (1 + 2 + 6 + 5 + 0) / 5 = 2.8
    table = [*rows([1.0, 2.0, -6.0, 5.0, 0.0]), unscored("u")]
    share = only(estimates(measure(), table, data=DATA, rng_seed=0), "mean-difference")
    assert share.value == pytest.approx(0.4)
    assert (share.n, share.ties, share.unscored, share.null) == (5, 1, 1, 0.0)
    found = estimates(measure("magnitude"), table, data=DATA, rng_seed=0)
    assert [one.statistic for one in found] == ["asld", "mean-difference"]
    assert found[0].value == pytest.approx(2.8)
    assert (found[0].null, found[0].p) == (0.0, None)
    assert found[1] == share


def test_students_interval_by_hand() -> None:
    # 1..5: mean 3, deviation √2.5, error √0.5; t(4 degrees, 97.5%) = 2.776445: 3 ± 1.963243
    found = mean_interval(np.arange(1.0, 6.0), rng=generator(0, "all"))
    assert (found.low, found.high) == pytest.approx((1.036757, 4.963243), abs=1e-6)
    assert found.method == "t"
    # t = 3 / √0.5 = 4.2426; with 4 degrees p = 0.0132
    assert mean_test(np.arange(1.0, 6.0), 0.0) == pytest.approx(0.0132, abs=1e-4)


def test_the_interval_of_even_data_is_near_the_percentiles() -> None:
    values = normal(200, 3)
    found = mean_interval(np.array(values), rng=generator(0, "all"))
    low, high = reference_bootstrap(values)
    assert found.method == "bootstrap-t"
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.1 * (high - low))


def test_the_interval_has_the_outer_ends_of_student_and_of_the_studentised_bootstrap() -> None:
    """Of skewed values the bootstrap decides the end on the side of the tail, and Student's the other."""
    values = np.random.default_rng(4).exponential(size=60)
    found = mean_interval(values, rng=generator(0, "all"))
    resampled = studentised_ends(values, np.ones(60), rng=generator(0, "all"))
    student = ttest_1samp(values, 0.0).confidence_interval()
    assert resampled is not None
    assert resampled[1] > student.high
    assert resampled[0] > student.low
    assert (found.low, found.high) == pytest.approx((student.low, resampled[1]), abs=1e-12)


def test_resamples_of_nearly_equal_values_do_not_decide() -> None:
    """Nine values near 0.29 and three of 0.08: resamples of the nine alone would move the low end far below 0."""
    values = np.array([0.28, 0.30, 0.08, 0.30] * 3)
    found = mean_interval(values, rng=generator(0, "all"))
    student = ttest_1samp(values, 0.0).confidence_interval()
    assert found.low == pytest.approx(values.mean() - 3 * (values.mean() - student.low))


def test_sizes_are_never_below_zero() -> None:
    # sizes 0, 0, 3: mean 1, error 1, t(2 degrees) = 4.303: 1 ± 4.303, cut at 0
    found = estimates(measure("magnitude"), rows([0.0, 0.0, -3.0]), data=DATA, rng_seed=0)[0]
    assert (found.low, found.high) == pytest.approx((0.0, 5.303), abs=1e-3)


@pytest.mark.parametrize(("n", "method"), [(2, "t"), (7, "t"), (8, "bootstrap-t"), (1000, "bootstrap-t"), (1001, "t")])
def test_which_interval_where(n: int, method: str) -> None:
    assert mean_interval(np.array(normal(n, 5)), rng=generator(0, "all")).method == method


def test_methods_meet_where_they_change() -> None:
    values = np.random.default_rng(6).exponential(size=1001)
    resampled, student = (mean_interval(values[:n], rng=generator(0, "all")) for n in (1000, 1001))
    width = student.high - student.low
    assert (resampled.low, resampled.high) == pytest.approx((student.low, student.high), abs=0.1 * width)


@pytest.mark.parametrize(
    ("values", "method"),
    [
        ([], "too few: 0 items"),
        ([1.5], "too few: 1 items"),
        ([1.5] * 7, "no spread: 7 items alike"),
        ([0.1 + 0.2, 0.3] * 20, "no spread: 40 items alike"),
        ([1e16, 1e16 + 2] * 20, "no spread: 40 items alike"),
        ([1.0, math.inf, -1.0], "infinite scores"),
        ([-math.inf, math.inf], "infinite scores"),
    ],
)
def test_degenerate_data_say_so(values: list[float], method: str) -> None:
    array = np.array(values, dtype=np.float64)
    found = mean_interval(array, rng=generator(0, "all"))
    assert found.method == method
    assert np.isnan([found.low, found.high]).all()
    assert mean_test(array, 0.0) is None


def test_one_outlier_among_equals_still_has_an_interval() -> None:
    found = mean_interval(np.array([0.0] * 59 + [6.0]), rng=generator(0, "all"))
    assert found.low <= 0.1 <= found.high


def test_bca_undefined_falls_back_to_percentiles() -> None:
    def largest(column: Floats, axis: int) -> Floats:
        return column.max(axis=axis)  # type: ignore[no-any-return]

    low, high, method = bootstrap_ends((np.zeros(40),), largest, rng=generator(0, "all"))
    assert (float(low), float(high), method) == (0.0, 0.0, "percentile")


def test_categories_stand_on_their_own() -> None:
    age, gender = (
        rows(normal(50, 7), category="age"),
        [row(100 + i, x, category="gender") for i, x in enumerate(normal(70, 8))],
    )
    both = estimates(measure(), [*age, *gender], data=DATA, rng_seed=9)
    alone = estimates(measure(), age, data=DATA, rng_seed=9)
    first, second = (only(found, "mean-difference", "category=age") for found in (both, alone))
    assert (first.low, first.high, first.p) == (second.low, second.high, second.p)


def test_seed_is_the_only_chance() -> None:
    table = rows(normal(60, 10))
    one, again, other = (
        only(estimates(measure(), table, data=DATA, rng_seed=seed), "mean-difference") for seed in (1, 1, 2)
    )
    assert one == again
    assert one.low != other.low
    assert one.value == other.value


def test_magnitude_has_both_by_category() -> None:
    table = [row(i, x, category="ab"[i % 2]) for i, x in enumerate(normal(80, 11))]
    found = estimates(measure("magnitude"), table, data=DATA, rng_seed=0)
    assert [(one.statistic, one.group) for one in found] == [
        (statistic, group) for statistic in ("asld", "mean-difference") for group in ("all", "category=a", "category=b")
    ]
    assert all(one.p is None and one.p_holm is None for one in found[:3])
    assert all(one.p_holm is not None for one in found[4:])


def test_memory_stays_small() -> None:
    values = np.array(normal(1000, 12))
    tracemalloc.start()
    mean_interval(values, rng=generator(0, "all"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6


@pytest.mark.slow
def test_a_hundred_thousand_pairs() -> None:
    table = [row(i, x, category=f"c{i % 9}") for i, x in enumerate(normal(100_000, 13, shift=0.1))]
    tracemalloc.start()
    found = estimates(measure("magnitude"), table, data=DATA, rng_seed=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert {one.method for one in found} == {"t"}
    assert peak < 100e6


def test_the_mean_difference_is_tested_against_zero() -> None:
    values = [0.3, -0.1, 0.8, 1.1, 0.9]
    found = only(estimates(measure(), rows(values), data=DATA, rng_seed=0), "mean-difference")
    error = statistics.stdev(values) / math.sqrt(5)
    assert found.p == pytest.approx(2 * t.sf(statistics.fmean(values) / error, 4))


def test_two_values_have_a_test_one_has_none() -> None:
    """Of -1 and 3: mean 1, error 2, t = 0.5 with one degree of freedom, whose tail is ½ − arctan(t) / π."""
    assert mean_test(np.array([-1.0, 3.0]), 0.0) == pytest.approx(1 - 2 * math.atan(0.5) / math.pi)
    assert mean_test(np.array([3.0]), 0.0) is None


def test_more_than_a_thousand_units_get_percentiles() -> None:
    values = np.random.default_rng(0).normal(5.0, 1.0, 1001)
    low, high, method = bootstrap_ends((values,), np.mean, rng=generator(0, "x"))
    assert method == "percentile"
    error = values.std() / math.sqrt(1001)
    assert (float(low), float(high)) == pytest.approx(
        (values.mean() - 1.96 * error, values.mean() + 1.96 * error), abs=0.15 * error
    )
    assert bootstrap_ends((values[1:],), np.mean, rng=generator(0, "x"))[2] == "bca"


LEAN = measure("lean", null=0.0)


def crossed(effects: np.ndarray, *, goal: str = "zero", begin: int = 0) -> list[Row]:
    """A row for every word (down) and template (across)."""
    words, templates = effects.shape
    return [
        row(
            begin + w * templates + t,
            float(effects[w, t]),
            word=f"{goal}-w{w}",
            template=f"{goal}-t{t}",
            goal=goal,
            category=goal,
        )
        for w in range(words)
        for t in range(templates)
    ]


def drawn(seed: int, words: int, templates: int, *, by_word: float = 0.0, noise: float = 0.01) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(0, by_word, (words, 1)) + rng.normal(0, noise, (words, templates))


def test_the_headline_leaves_out_words_that_should_lean() -> None:
    table = crossed(np.full((3, 4), 0.2)) + crossed(np.full((3, 4), -0.9), goal="female", begin=100)
    found = estimates(LEAN, table, data=DATA, rng_seed=0)
    assert found[0].group == "all"
    assert found[0].null == 0.0
    assert found[0].value == pytest.approx(0.2)
    assert found[0].n == 12
    assert only(found, "appd", "goal=female").value == pytest.approx(-0.9)
    assert only(found, "appd", "word=zero-w1").n == 4
    assert not [one for one in found if one.group == "goal=zero"]


def test_rows_of_one_word_do_not_count_as_independent() -> None:
    """Ten words that differ, a hundred templates that do not: the interval is that of ten values."""
    table = crossed(drawn(1, 10, 100, by_word=1.0))
    one = only(estimates(LEAN, table, data=DATA, rng_seed=0), "appd")
    by_word = drawn(1, 10, 100, by_word=1.0).mean(1)
    error = by_word.std(ddof=1) / np.sqrt(10)
    assert (one.high - one.low) / 2 == pytest.approx(2.262 * error, rel=0.02)  # t with 9 degrees of freedom
    assert one.method == "t over 10 words and 100 templates"
    assert one.unit == "word × template"


@pytest.mark.slow
def test_the_interval_covers() -> None:
    """Words and templates both vary; the true mean is 0."""
    inside = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        effects = rng.normal(0, 1, (25, 1)) + rng.normal(0, 1, (1, 25)) + rng.normal(0, 1, (25, 25))
        one = only(estimates(LEAN, crossed(effects), data=DATA, rng_seed=seed), "appd")
        inside += one.low <= 0 <= one.high
    assert inside >= 90


def test_one_word_falls_back_to_its_templates() -> None:
    one = only(estimates(LEAN, crossed(drawn(2, 1, 40)), data=DATA, rng_seed=0), "appd")
    assert (one.method, one.unit) == ("bootstrap-t", "template")


def test_p_agrees_with_the_interval() -> None:
    near = only(estimates(LEAN, crossed(drawn(3, 12, 12, by_word=1)), data=DATA, rng_seed=0), "appd")
    far = only(estimates(LEAN, crossed(drawn(3, 12, 12, by_word=1) + 5), data=DATA, rng_seed=0), "appd")
    assert near.p is not None
    assert far.p is not None
    assert (near.p > 0.05) == (near.low <= 0 <= near.high)
    assert far.p < 0.01


def test_compared_with_the_same_care() -> None:
    """One word changes much in every template: two-way, that is no proof of a change."""
    before = drawn(4, 8, 30)
    after = before.copy()
    after[0] += 1.0
    a, b = crossed(before), crossed(after)
    change = only(comparisons(LEAN, a, b, data=DATA, rng_seed=0), "appd")
    assert change.change == pytest.approx(1 / 8)
    assert change.low <= 0.0 <= change.high
    assert change.method == "t over 8 words and 30 templates"


def test_no_change_at_all() -> None:
    table = crossed(drawn(5, 6, 6))
    change = only(comparisons(LEAN, table, table, data=DATA, rng_seed=0), "appd")
    assert (change.low, change.high, change.method) == (0.0, 0.0, "no change")


def test_data_without_words_or_templates() -> None:
    one = only(estimates(LEAN, rows([0.1, -0.2] * 30), data=DATA, rng_seed=0), "appd")
    assert one.value == pytest.approx(-0.05)
    assert (one.method, one.unit) == ("bootstrap-t", "item")


def test_a_template_of_several_words_has_a_mean_of_its_own() -> None:
    effects = drawn(4, 3, 2)
    found = estimates(LEAN, crossed(effects), data=DATA, rng_seed=0)
    groups = {one.group: one for one in found if one.group.startswith("template=")}
    assert len(groups) == 2
    table = crossed(effects)
    for name, one in groups.items():
        mine = [row.difference for row in table if row.groups["template"] == name.partition("=")[2]]
        assert one.n == len(mine) == 3
        assert one.value == pytest.approx(sum(mine) / 3)
        assert one.low <= one.value <= one.high


ASSOCIATION = measure("association", null=0.0)


def test_the_effect_size_is_the_mean_of_words_in_their_deviations() -> None:
    """Words at 2, 4 and 6: mean 4, standard deviation 2. A word without a score counts nowhere."""
    table = crossed(np.array([[1.0, 3.0], [4.0, 4.0], [5.0, 7.0]]))
    table += [unscored(90, word="none", template="zero-t0", goal="zero", category="zero")]
    found = estimates(ASSOCIATION, table, data=DATA, rng_seed=0)
    for group in ("all", "category=zero"):
        mean, effect = only(found, "association", group), only(found, "effect-size", group)
        assert (mean.value, mean.n, mean.unscored) == (pytest.approx(4.0), 6, 1)
        assert (effect.value, effect.n, effect.null) == (pytest.approx(2.0), 3, 0.0)
        assert effect.method == "too few: 3 words"  # some resamples hold one word only
        assert np.isnan(effect.low)
        assert np.isnan(effect.high)
        assert effect.p is None


def test_words_near_each_other_have_a_large_effect() -> None:
    """Means 1.0, 1.1, 1.2: mean 1.1 in deviations of 0.1."""
    table = crossed(np.array([[1.0, 1.0], [1.1, 1.1], [1.2, 1.2]]))
    assert only(estimates(ASSOCIATION, table, data=DATA, rng_seed=0), "effect-size").value == pytest.approx(11.0)


def test_the_effect_size_of_enough_words_has_the_interval_of_a_bootstrap_over_words() -> None:
    words = np.random.default_rng(2).normal(1.0, 1.0, 300)
    found = only(estimates(ASSOCIATION, crossed(np.tile(words[:, None], 2)), data=DATA, rng_seed=0), "effect-size")
    assert found.method == "bca over 300 words"
    drawn = words[np.random.default_rng(3).integers(300, size=(4000, 300))]
    low, high = np.quantile(drawn.mean(1) / drawn.std(1, ddof=1), [0.025, 0.975])
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.03)


@pytest.mark.parametrize("effects", [[[1.0, 2.0], [3.0, 5.0]], [[1.0, 1.0]] * 4])
def test_two_words_or_words_alike_have_no_effect_size(effects: list[list[float]]) -> None:
    table = crossed(np.array(effects))
    found = only(estimates(ASSOCIATION, table, data=DATA, rng_seed=0), "effect-size")
    assert np.isnan(found.value)
    assert np.isnan(found.low)
    assert found.method == f"too few: {len(effects)} words"


def test_associations_are_compared_two_ways() -> None:
    before = drawn(4, 8, 30)
    a, b = crossed(before), crossed(before + 0.5 + 0.1 * drawn(5, 8, 30))
    change = only(comparisons(ASSOCIATION, a, b, data=DATA, rng_seed=0), "association")
    assert change.change == pytest.approx(0.5, abs=0.1)
    assert change.method == "t over 8 words and 30 templates"


def test_only_a_template_of_several_words_is_a_group() -> None:
    table = [
        row(0, 1.0, word="a", template="both"),
        row(1, 2.0, word="b", template="both"),
        row(2, 4.0, word="a", template="alone"),
    ]
    found = estimates(LEAN, table, data=DATA, rng_seed=0)
    groups = [one.group for one in found if one.group.startswith("template=")]
    assert groups == ["template=both"]


# ------------------------------------------------------------------------------- words × templates


def two_way(effects: np.ndarray, null: float = 0.0) -> tuple[Any, Any]:
    """Interval and p-value of the mean of all cells."""
    made = ScoreTable.of(LEAN, crossed(effects), data=DATA)
    return crossed_mean(made.difference, made.units, rng=np.random.default_rng(0), null=null)


def test_words_and_templates_by_hand() -> None:
    # Words at 3, 1, −1, −3 and templates at ±1, ±½ around them, without interaction: the variance of the mean is
    # 20 / (4 · 3) + 2.5 / (4 · 3) = 1.875 with 1.875² / (1.6667² / 3 + 0.2083² / 3) = 3.7385 degrees of freedom.
    effects = np.array([[3.0], [1.0], [-1.0], [-3.0]]) + np.array([[1.0, 0.5, -0.5, -1.0]]) + 2.0
    interval, p = two_way(effects)
    half = t.ppf(0.975, 3.738461) * math.sqrt(1.875)
    assert (interval.low, interval.high) == pytest.approx((2.0 - half, 2.0 + half), rel=1e-4)
    assert p == pytest.approx(2 * t.sf(2.0 / math.sqrt(1.875), 3.738461), rel=1e-4)
    assert interval.method == "t over 4 words and 4 templates"


@pytest.mark.parametrize("shape", [(2, 17), (3, 3), (60, 3)])
def test_with_fewer_than_four_of_each_there_is_no_interval(shape: tuple[int, int]) -> None:
    """No interval of so few covers as it should."""
    interval, p = two_way(drawn(1, *shape))
    words, templates = shape
    assert interval.method == f"too few: {words} words and {templates} templates, expected at least 4 of each"
    assert np.isnan([interval.low, interval.high]).all()
    assert p is None


def test_all_values_on_the_null_are_no_change() -> None:
    interval, p = two_way(np.full((4, 4), 5.0), null=5.0)
    assert (interval.low, interval.high, interval.method, p) == (5.0, 5.0, "no change", None)
    interval, _ = two_way(np.full((4, 4), -5.0), null=5.0)
    assert interval.method.startswith("no spread")


# ----------------------------------------------------------------------------------- the third word


def test_the_third_word_by_hand() -> None:
    def made(item: int, third: float | None, category: str) -> Row:
        plain = row(item, 0.0, word=f"w{item % 2}", template=f"t{item // 2}", category=category)
        return replace(plain, scores={**plain.scores, **({} if third is None else {"unrelated": third})})

    table = [made(0, 0.1, "x"), made(1, 0.2, "x"), made(2, 0.3, "y"), made(3, None, "y"), unscored(4)]
    found = estimates(LEAN, table, data=DATA, rng_seed=0)
    whole = only(found, "third")
    assert whole.value == pytest.approx(0.2)
    assert (whole.n, whole.ties, whole.unscored, whole.null) == (3, 0, 2, None)
    assert whole.method == "too few: 2 words and 2 templates, expected at least 4 of each"
    assert only(found, "third", "category=x").value == pytest.approx(0.15)
    assert only(found, "third", "category=y").n == 1
    assert only(found, "appd").ties == 4


def test_without_a_third_word_nothing_is_said_of_one() -> None:
    found = estimates(LEAN, crossed(drawn(1, 3, 3)), data=DATA, rng_seed=0)
    assert {one.statistic for one in found} == {"appd", "mean-word-appd"}


def test_words_that_lean_both_ways_do_not_cancel_in_the_size_of_their_leans() -> None:
    leans = np.array([[0.8], [-0.8], [0.6], [-0.6]]) + np.array([[-0.01, 0.01, 0.0, 0.0]])
    women = crossed(np.full((3, 4), -0.9), goal="female", begin=100)  # expected to lean: they do not count
    found = estimates(LEAN, crossed(leans) + women, data=DATA, rng_seed=0)
    size = only(found, "mean-word-appd")
    assert found[0].value == pytest.approx(0.0)
    assert size.value == pytest.approx(0.7)  # (0.8 + 0.8 + 0.6 + 0.6) / 4
    assert (size.n, size.null, size.unit) == (4, None, "word")
    assert size.low < 0.7 < size.high
    assert size.p is not None
    assert size.p < 1e-6
    alike = estimates(LEAN, crossed(drawn(1, 6, 6)), data=DATA, rng_seed=0)
    assert (only(alike, "mean-word-appd").p or 0) > 0.05
    two = estimates(LEAN, crossed(drawn(1, 2, 4)), data=DATA, rng_seed=0)
    assert not [one for one in two if one.statistic == "mean-word-appd"]
