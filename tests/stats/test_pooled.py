"""Pooled shares: by hand, against the bootstrap of the ratio itself, and where nothing varies."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import bootstrap, t, ttest_1samp

from unmask.core.errors import StatsError
from unmask.core.seeds import generator
from unmask.stats.shares import HitCounts, difference_interval, difference_test, share_interval, unit_share, wilson


def drawn(seed: int, units: int, share: float) -> HitCounts:
    rng = np.random.default_rng(seed)
    tries = rng.integers(5, 25, units)
    skill = rng.beta(6 * share, 6 * (1 - share), units)  # units differ: their tries are not independent
    return HitCounts(rng.binomial(tries, skill).astype(float), tries.astype(float))


def test_the_share_pools_tries_and_leaves_out_units_without_any() -> None:
    counts = HitCounts.of([(3, 10), (0, 0), (1, 2)])
    assert counts.trials.tolist() == [10, 2]
    assert counts.share == pytest.approx(100 * 4 / 12)  # not the mean of 30% and 50%
    assert counts.linearised_values().mean() == pytest.approx(counts.share)


def test_few_units_get_students_interval_of_the_linearised_ratio() -> None:
    counts = HitCounts.of([(1, 4), (5, 6), (2, 5), (6, 9)])
    ratio, size = 14 / 24, 24 / 4
    residuals = [(hits - ratio * tries) / size for hits, tries in ((1, 4), (5, 6), (2, 5), (6, 9))]
    half = t.ppf(0.975, 3) * (sum(each**2 for each in residuals) / 3 / 4) ** 0.5
    found = share_interval(counts, rng=generator(0, "x"))
    assert found.low == pytest.approx(100 * (ratio - half))
    assert found.high == pytest.approx(100 * (ratio + half))
    assert found.method == "t over 4 pairs"


def test_many_units_agree_with_a_bootstrap_of_the_ratio_itself() -> None:
    counts = drawn(1, 400, 0.7)
    ends = bootstrap(
        (counts.hits, counts.trials),
        lambda hits, tries, axis: 100 * hits.sum(axis) / tries.sum(axis),
        paired=True,
        vectorized=True,
        rng=np.random.default_rng(0),
    ).confidence_interval
    found = share_interval(counts, rng=generator(0, "x"))
    width = ends.high - ends.low
    assert found.low == pytest.approx(ends.low, abs=0.06 * width)
    assert found.high == pytest.approx(ends.high, abs=0.06 * width)
    tokens_alone = wilson(int(counts.hits.sum()), int(counts.trials.sum()))
    assert found.high - found.low > 1.2 * (tokens_alone.high - tokens_alone.low)


def test_a_difference_agrees_with_a_paired_bootstrap_of_both_ratios() -> None:
    first, second = drawn(2, 300, 0.8), drawn(3, 300, 0.5)
    columns = (first.hits, first.trials, second.hits, second.trials)
    ends = bootstrap(
        columns,
        lambda a, n, b, m, axis: 100 * (a.sum(axis) / n.sum(axis) - b.sum(axis) / m.sum(axis)),
        paired=True,
        vectorized=True,
        rng=np.random.default_rng(0),
    ).confidence_interval
    found = difference_interval(first, second, rng=generator(0, "x"))
    width = ends.high - ends.low
    assert found.value == first.share - second.share
    assert found.low == pytest.approx(ends.low, abs=0.06 * width)
    assert found.high == pytest.approx(ends.high, abs=0.06 * width)


def test_units_of_one_try_get_wilson() -> None:
    counts = HitCounts.of([(1, 1)] * 3 + [(0, 1)] * 17)
    assert share_interval(counts, rng=generator(0, "x")) == wilson(3, 20)


@pytest.mark.parametrize("hits", [0, 4])
def test_where_all_tries_end_alike_the_interval_still_has_a_width(hits: int) -> None:
    counts = HitCounts.of([(hits, 4)] * 10)
    found, whole = share_interval(counts, rng=generator(0, "x")), wilson(10 * hits // 4, 10)
    assert (found.low, found.high) == (whole.low, whole.high)
    assert found.high - found.low > 20


def test_too_little_for_an_interval() -> None:
    one, none = HitCounts.of([(1, 3)]), HitCounts.of([])
    assert np.isnan(share_interval(one, rng=generator(0, "x")).low)
    assert np.isnan(share_interval(none, rng=generator(0, "x")).low)
    assert np.isnan(none.share)
    assert np.isnan(difference_interval(none, none, rng=generator(0, "x")).low)
    assert np.isnan(difference_interval(one, HitCounts.of([(2, 3)]), rng=generator(0, "x")).low)


def test_no_difference_anywhere_is_said_so() -> None:
    counts = drawn(4, 12, 0.5)
    found = difference_interval(counts, counts, rng=generator(0, "x"))
    assert (found.low, found.high, found.method) == (0.0, 0.0, "no change")


def test_a_difference_needs_the_same_units() -> None:
    with pytest.raises(StatsError, match="2 pairs against 1"):
        difference_interval(HitCounts.of([(1, 2), (1, 2)]), HitCounts.of([(1, 2)]), rng=generator(0, "x"))


def test_linearised_values_by_hand() -> None:
    """1 of 1 and 0 of 3: the share is 25; 25 + (100 − 25) / 2 and 25 + (0 − 75) / 2."""
    assert HitCounts.of([(1, 1), (0, 3)]).linearised_values().tolist() == pytest.approx([62.5, -12.5])


def test_the_scale_ends_at_0_and_100() -> None:
    """Of three units Student's interval would go far beyond."""
    low = share_interval(HitCounts.of([(0, 2), (0, 2), (1, 2)]), rng=generator(0, "x"))
    high = share_interval(HitCounts.of([(2, 2), (2, 2), (1, 2)]), rng=generator(0, "x"))
    assert low.low == 0.0
    assert 50 < low.high < 100
    assert high.high == 100.0
    much, little = HitCounts.of([(2, 2), (2, 2), (1, 2)]), HitCounts.of([(0, 2), (1, 2), (0, 2)])
    assert difference_interval(much, little, rng=generator(0, "x")).high == 100.0
    assert difference_interval(little, much, rng=generator(0, "x")).low == -100.0


WRITERS = [{"writer": name} for name in "aabbccdd"]


def test_writers_of_two_pairs_by_hand() -> None:
    """Four writers of two pairs, ten tokens each: the variance is that of the writers' means, with three df.

    Shares 10 and 30, 40 and 60, 50 and 70, 80 and 60: means 20, 50, 60, 70, their mean is 50 and their variance
    1400 / 3; 50 ± t(3) √(1400 / 3 / 4).
    """
    counts = HitCounts.of([(hits, 10) for hits in (1, 3, 4, 6, 5, 7, 8, 6)], WRITERS)
    found = share_interval(counts, rng=generator(0, "x"))
    half = t.ppf(0.975, 3) * (1400 / 3 / 4) ** 0.5
    assert (found.value, found.low, found.high) == pytest.approx((50.0, 50 - half, 50 + half))
    assert (found.method, found.unit, found.df) == ("t over 4 writers", "writer", pytest.approx(3.0))
    alone = share_interval(HitCounts.of([(hits, 10) for hits in (1, 3, 4, 6, 5, 7, 8, 6)]), rng=generator(0, "x"))
    assert alone.method == "bootstrap-t over 8 pairs"
    assert alone.high - alone.low < 0.7 * (found.high - found.low)


def test_a_difference_over_writers_equals_the_t_test_of_their_means() -> None:
    """The gaps of the writers' pairs are 20 and 20, 30 and 10, 0 and 20, 30 and 30 points; means 20, 20, 10, 30."""
    first = HitCounts.of([(hits, 10) for hits in (3, 4, 8, 5, 5, 7, 9, 8)], WRITERS)
    second = HitCounts.of([(hits, 10) for hits in (1, 2, 5, 4, 5, 5, 6, 5)], WRITERS)
    found, test = difference_interval(first, second, rng=generator(0, "x")), ttest_1samp([20.0, 20.0, 10.0, 30.0], 0.0)
    ends = test.confidence_interval()
    assert (found.value, found.low, found.high) == pytest.approx((20.0, ends.low, ends.high))
    assert difference_test(first, second) == pytest.approx(test.pvalue)
    pairs = ttest_1samp([20.0, 20.0, 30.0, 10.0, 0.0, 20.0, 30.0, 30.0], 0.0)
    plain = [HitCounts(each.hits, each.trials) for each in (first, second)]
    assert difference_test(*plain) == pytest.approx(pairs.pvalue)
    assert difference_test(*plain) != pytest.approx(test.pvalue, rel=0.1)


def test_no_difference_and_too_few_units_have_no_test() -> None:
    counts = HitCounts.of([(1, 3), (2, 3)], [{"writer": "a"}, {"writer": "a"}])
    other = HitCounts.of([(2, 3), (2, 3)], [{"writer": "a"}, {"writer": "a"}])
    assert difference_test(counts, counts) is None
    assert difference_test(counts, other) is None
    found = difference_interval(counts, other, rng=generator(0, "x"))
    assert (found.method, found.has_interval) == ("too few: 1 writer", False)
    assert share_interval(counts, rng=generator(0, "x")).method == "too few: 1 writer"
    assert difference_test(HitCounts.of([]), HitCounts.of([])) is None


def test_items_without_trials_lose_their_unit_too() -> None:
    counts = HitCounts.of([(1, 2), (0, 0), (1, 2), (2, 2)], [{"writer": name} for name in "abcc"])
    assert counts.units.counts == (2,)
    assert counts.units.codes[0].tolist() == [0, 1, 1]


def test_one_trial_or_no_failure_counts_writers() -> None:
    single = HitCounts.of([(hit, 1) for hit in (1, 1, 0, 0, 1, 0, 1, 1)], WRITERS)
    expected = unit_share(single.hits > 0, single.units)
    assert share_interval(single, rng=generator(0, "x")) == expected
    assert expected.design_effect is not None
    found = share_interval(HitCounts.of([(10, 10)] * 8, WRITERS), rng=generator(0, "x"))
    assert (found.value, found.method) == (100.0, "wilson over 4 writers")
    assert found.low < wilson(8, 8).low
