"""Mean differences and ASLD: means, intervals where there can be some, and words where there cannot."""

from __future__ import annotations

import math
import random
import statistics
import tracemalloc

import numpy as np
import pytest
from scipy.stats import t

from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.stats import estimates
from unmask.stats.bootstrap import bootstrap_ends
from unmask.stats.means import mean_interval, mean_test

from .tables import DATA, measure, normal, only, row, rows, unscored


def reference_bootstrap(values: list[float], draws: int = 4000) -> tuple[float, float]:
    """Percentile bootstrap of the mean, in plain Python."""
    rng = random.Random(1)
    means = sorted(statistics.fmean(rng.choices(values, k=len(values))) for _ in range(draws))
    return means[int(0.025 * draws)], means[int(0.975 * draws)]


def reference_bca(values: list[float], draws: int = 20_000) -> tuple[float, float]:
    """Efron (1987), step by step: bias from the resamples below the mean, acceleration from the jackknife."""
    rng, unit, n = random.Random(2), statistics.NormalDist(), len(values)
    mean = statistics.fmean(values)
    means = sorted(statistics.fmean(rng.choices(values, k=n)) for _ in range(draws))
    z0 = unit.inv_cdf(sum(one < mean for one in means) / draws)
    without = [(n * mean - x) / (n - 1) for x in values]
    gaps = [statistics.fmean(without) - one for one in without]
    a = sum(gap**3 for gap in gaps) / (6 * sum(gap**2 for gap in gaps) ** 1.5)
    ends = []
    for z in (unit.inv_cdf(0.025), unit.inv_cdf(0.975)):
        ends.append(means[int(unit.cdf(z0 + (z0 + z) / (1 - a * (z0 + z))) * draws)])
    return ends[0], ends[1]


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


def test_bca_of_even_data_is_near_the_percentiles() -> None:
    values = normal(200, 3)
    found = mean_interval(np.array(values), rng=generator(0, "all"))
    low, high = reference_bootstrap(values)
    assert found.method == "bca"
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.1 * (high - low))


def test_bca_of_skewed_data_follows_efron() -> None:
    values = np.random.default_rng(4).exponential(size=60).tolist()
    found = mean_interval(np.array(values), rng=generator(0, "all"))
    low, high = reference_bca(values)
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.06 * (high - low))
    assert found.high - statistics.fmean(values) > statistics.fmean(values) - found.low  # leans with the tail


def test_sizes_are_never_below_zero() -> None:
    # sizes 0, 0, 3: mean 1, error 1, t(2 degrees) = 4.303: 1 ± 4.303, cut at 0
    found = estimates(measure("magnitude"), rows([0.0, 0.0, -3.0]), data=DATA, rng_seed=0)[0]
    assert (found.low, found.high) == pytest.approx((0.0, 5.303), abs=1e-3)


@pytest.mark.parametrize(("n", "method"), [(2, "t"), (29, "t"), (30, "bca"), (1000, "bca"), (1001, "t")])
def test_which_interval_where(n: int, method: str) -> None:
    assert mean_interval(np.array(normal(n, 5)), rng=generator(0, "all")).method == method


def test_methods_meet_where_they_change() -> None:
    values = np.random.default_rng(6).exponential(size=1001)
    bca, student = (mean_interval(values[:n], rng=generator(0, "all")) for n in (1000, 1001))
    width = student.high - student.low
    assert (bca.low, bca.high) == pytest.approx((student.low, student.high), abs=0.06 * width)


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
        (statistic, group)
        for statistic in ("asld", "mean-difference")
        for group in ("all", "category=a", "category=b")
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
