"""The unit of resampling: items that share a writer or a word would pass for more evidence than they are."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import t
from statsmodels.regression.linear_model import OLS

from unmask.stats import estimates
from unmask.stats.intervals import mean_interval, mean_test
from unmask.stats.paired import comparisons
from unmask.stats.shares import unit_share
from unmask.stats.units import INDEPENDENT, SamplingError, Units, sampling_error, units_of

from .tables import DATA, measure, normal, only, row, rows


def writers(*sizes: int) -> Units:
    return units_of({"writer": np.repeat([f"w{number}" for number in range(len(sizes))], sizes)})


def error_of(values: np.ndarray, units: Units) -> SamplingError:
    found = sampling_error(values, units)
    assert found is not None
    return found


def column(*values: str) -> np.ndarray:
    return np.array(values)


@pytest.mark.parametrize(
    ("labels", "name", "counts"),
    [
        ({"writer": column("a", "a", "b")}, "writer", (2,)),
        ({"target": column("a", "a", "b"), "cluster": column("1", "2", "3")}, "target term", (2,)),
        ({"original": column("a", "b", "b")}, "original pair", (2,)),
        ({"stereotype": column("a", "b", "b")}, "stereotype", (2,)),
        ({"cluster": column("a", "b", "b"), "template": column("1", "1", "2")}, "sentence", (2,)),
        ({"writer": column("a", "b", "c")}, "writer", ()),  # each its own: independent
        ({"writer": column("a", "", "b")}, "item", ()),  # of one item it is unknown
        ({"category": column("a", "a", "b")}, "item", ()),
        ({"word": column("a", "a", "b", "b"), "template": column("1", "2", "1", "2")}, "word × template", (2, 2)),
        ({"word": column("a", "a", "b", "b"), "template": column("1", "2", "3", "4")}, "word", (2,)),
        ({"word": column("a", "b", "c", "d"), "template": column("1", "1", "2", "2")}, "template", (2,)),
        ({"word": column("a", "a", "a"), "template": column("1", "2", "3")}, "template", ()),
        ({"same_as": column("a", "a", "b")}, "distinct pair", (2,)),
        ({"writer": column("a", "b", "b", "c"), "same_as": column("1", "1", "2", "3")}, "writer", (2,)),
        (  # the second template is the first one again
            {
                "word": column("a", "a", "a", "b", "b", "b"),
                "template": column("1", "2", "3", "1", "2", "3"),
                "same_as": column("1", "1", "2", "3", "3", "4"),
            },
            "word × template",
            (2, 2),
        ),
    ],
)
def test_the_unit_is_derived_from_the_group_columns(
    labels: dict[str, np.ndarray], name: str, counts: tuple[int, ...]
) -> None:
    found = units_of(labels)
    assert (found.name, found.counts) == (name, counts)
    assert found.independent == (not counts)


def test_the_variance_over_clusters_by_hand() -> None:
    # Clusters (1, 3), (5, 7), (0, 2): mean 3, sums of deviations −2, 6, −4; Σ S² = 56; each is a third of the items:
    # variance 56 / (1 − 1/3) / 36 = 2.3333. Alone: deviations 4 + 0 + 4 + 16 + 9 + 1 = 34, 34 / 5 / 6 = 1.1333.
    found = error_of(np.array([1.0, 3.0, 5.0, 7.0, 0.0, 2.0]), writers(2, 2, 2))
    assert found.variance == pytest.approx(56 / (2 / 3) / 36)
    assert found.df == pytest.approx(2.0)  # clusters of one size: one less than clusters
    assert found.design_effect == pytest.approx(2.3333 / 1.1333, rel=1e-4)


def test_the_variance_over_clusters_of_one_size_is_that_of_statsmodels() -> None:
    rng = np.random.default_rng(0)
    units = writers(*[6] * 20)
    values = rng.normal(size=120) + np.repeat(rng.normal(size=20), 6)
    fit = OLS(values, np.ones(120)).fit(cov_type="cluster", cov_kwds={"groups": units.codes[0]})
    assert error_of(values, units).variance == pytest.approx(float(fit.cov_params()[0, 0]), rel=1e-9)


def reference_df(values: np.ndarray, sizes: list[int]) -> float:
    """Satterthwaite's degrees of freedom with whole matrices: E and Var of yᵀAy under a random effect of clusters."""
    n, count = len(values), len(sizes)
    member = np.repeat(np.eye(count), sizes, axis=0)
    centre = np.eye(n) - 1 / n
    weight = member @ np.diag([1 / (1 - size / n) / n**2 for size in sizes]) @ member.T
    form = centre @ weight @ centre
    groups = np.split(values, np.cumsum(sizes)[:-1])
    within = sum(((group - group.mean()) ** 2).sum() for group in groups) / (n - count)
    between = sum(size * (group.mean() - values.mean()) ** 2 for size, group in zip(sizes, groups, strict=True))
    typical = (n - sum(size**2 for size in sizes) / n) / (count - 1)
    component = max(0.0, (between / (count - 1) - within) / typical)
    product = form @ (within * np.eye(n) + component * member @ member.T)
    return float(np.trace(product) ** 2 / np.trace(product @ product))


@pytest.mark.parametrize("sizes", [[2, 2, 2, 2], [30, 5, 3, 2, 1, 1], [1, 1, 1, 9]])
def test_degrees_of_freedom_follow_the_sizes_of_clusters(sizes: list[int]) -> None:
    rng = np.random.default_rng(sum(sizes))
    values = rng.normal(size=sum(sizes)) + np.repeat(rng.normal(size=len(sizes)), sizes)
    assert error_of(values, writers(*sizes)).df == pytest.approx(reference_df(values, sizes), rel=1e-6)


def test_words_and_templates_are_an_analysis_of_variance() -> None:
    """Mean squares of words, templates and interaction of a complete table: (MSw + MSt − MSe) / n, with its df."""
    rng = np.random.default_rng(3)
    table = rng.normal(size=(6, 1)) + rng.normal(size=(1, 9)) + rng.normal(size=(6, 9))
    by_word, by_template = table.mean(1) - table.mean(), table.mean(0) - table.mean()
    rest = table - table.mean() - by_word[:, None] - by_template
    squares = 9 * (by_word**2).sum() / 5, 6 * (by_template**2).sum() / 8, (rest**2).sum() / 40
    variance = (squares[0] + squares[1] - squares[2]) / 54
    df = variance**2 / (sum(square**2 / df for square, df in zip(squares, (5, 8, 40), strict=True)) / 54**2)
    words, templates = np.indices((6, 9)).reshape(2, -1).astype(str)
    found = error_of(table.ravel(), units_of({"word": words, "template": templates}))
    assert (found.variance, found.df) == pytest.approx((variance, df), rel=1e-6)


def test_without_an_interaction_the_larger_variance_is_the_least() -> None:
    """Noise alone: words and templates can vary less than by chance, which must not shorten the interval."""
    rng = np.random.default_rng(8)
    words, templates = np.indices((5, 5)).reshape(2, -1).astype(str)
    units = units_of({"word": words, "template": templates})
    for _ in range(20):
        values = rng.normal(size=25)
        alone = [error_of(values, Units("x", (codes,), (5,))).variance for codes in units.codes]
        assert error_of(values, units).variance >= max(alone) - 1e-12


def test_no_sampling_error_of_one_unit_or_of_units_alike() -> None:
    assert sampling_error(np.array([1.0, 2.0]), writers(2)) is None
    assert sampling_error(np.array([1.0, 2.0, 1.0, 2.0]), writers(2, 2)) is None
    assert sampling_error(np.array([1.0, 1.0]), INDEPENDENT) is None
    assert mean_interval(np.array([1.0, 2.0]), rng=np.random.default_rng(0), units=writers(2)).method == (
        "too few: 1 writer"
    )
    assert mean_test(np.array([1.0, 2.0]), 0.0, writers(2)) is None


def test_a_share_over_writers_is_wilsons_of_what_the_pairs_are_worth() -> None:
    # Three writers with 4 of 4, 1 of 4 and 1 of 4 wins: share ½, sums of deviations 2, −1, −1: variance
    # 6 / (2/3) / 144 = 0.0625; alone ¼ · 12/11 / 12 = 0.022727: design effect 2.75, worth 12 / 2.75 = 4.3636 pairs.
    wins = np.array([1, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0], dtype=bool)
    found = unit_share(wins, writers(4, 4, 4))
    q, n = float(t.ppf(0.975, 2)), 12 / 2.75
    half = q * math.sqrt(0.25 / n + q**2 / 4 / n**2) / (1 + q**2 / n)
    assert found.design_effect == pytest.approx(2.75)
    assert (found.low, found.high) == pytest.approx((50 - 100 * half, 50 + 100 * half))
    assert (found.method, found.unit) == ("wilson over 3 writers", "writer")


def test_if_every_pair_is_won_each_writer_is_one_pair() -> None:
    found = unit_share(np.ones(50, dtype=bool), writers(*[10] * 5))
    q = float(t.ppf(0.975, 4)) ** 2
    assert (found.low, found.high) == pytest.approx((100 * 5 / (5 + q), 100.0))
    assert found.design_effect is None


def alike(count: int, size: int, seed: int, shift: float = 0.0) -> list[float]:
    """Differences that are the same within each writer."""
    return np.repeat(normal(count, seed, shift=shift), size).tolist()


def test_pairs_of_one_writer_that_are_all_alike_are_worth_one() -> None:
    table = [row(i, x, writer=f"w{i // 5:02}") for i, x in enumerate(alike(20, 5, 1, 0.3))]
    found = estimates(measure(), table, data=DATA, rng_seed=0)
    score, difference = only(found, "bias-score"), only(found, "mean-difference")
    for one in (score, difference):
        assert one.unit == "writer"
        assert one.design_effect == pytest.approx(5.0, rel=0.06)  # variance of 20 values over that of 100
    once = [row(i, x) for i, x in enumerate(normal(20, 1, shift=0.3))]
    single = only(estimates(measure(), once, data=DATA, rng_seed=0), "mean-difference")
    assert (difference.low, difference.high) == pytest.approx((single.low, single.high), rel=1e-6)
    assert difference.p == pytest.approx(single.p)
    assert score.p is not None
    assert score.p > 0.01  # of 15 of 20 writers; 75 of 100 pairs would have 0.0000006


def test_independent_gives_the_interval_of_pairs() -> None:
    differences = alike(20, 5, 1, 0.3)
    clustered = [row(i, x, writer=f"w{i // 5:02}") for i, x in enumerate(differences)]
    plain = estimates(measure(), rows(differences), data=DATA, rng_seed=0)
    assert estimates(measure(), clustered, data=DATA, rng_seed=0, independent=True) == plain
    assert {one.unit for one in plain} == {"item"}
    assert {one.design_effect for one in plain} == {None}


def test_equal_pairs_count_once_even_where_pairs_are_taken_for_independent() -> None:
    """One pair 200 times would give an interval of two points and p 1e-60."""
    copies = [row(i, 0.3, same_as="a/0000", writer=f"w{i}") for i in range(200)]
    found = only(estimates(measure(), copies, data=DATA, rng_seed=0, independent=True), "bias-score")
    assert found.p is None or found.p > 0.05
    assert not found.low > 50
    differences = alike(20, 5, 1, 0.3)
    mixed = [row(i, x, writer=f"w{i // 25}", same_as=f"a/{i // 5 * 5:04}") for i, x in enumerate(differences)]
    score = only(estimates(measure(), mixed, data=DATA, rng_seed=0, independent=True), "bias-score")
    assert score.unit == "distinct pair"
    assert score.design_effect == pytest.approx(5.0, rel=0.06)


def test_comparisons_have_the_same_unit() -> None:
    a = [row(i, x, writer=f"w{i // 5:02}") for i, x in enumerate(alike(20, 5, 1))]
    b = [row(i, x, writer=f"w{i // 5:02}") for i, x in enumerate(alike(20, 5, 2, 0.2))]
    found = comparisons(measure(), a, b, data=DATA, rng_seed=0)
    plain = comparisons(measure(), a, b, data=DATA, rng_seed=0, independent=True)
    for statistic in ("bias-score", "mean-difference"):
        one, other = only(found, statistic), only(plain, statistic)
        assert (one.unit, other.unit) == ("writer", "")
        assert one.design_effect == pytest.approx(5.0, rel=0.06)
        assert one.high - one.low > 1.8 * (other.high - other.low)
        assert one.p > other.p
