"""ROC areas against plain counting, DeLong's test against its definition written out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import mannwhitneyu, norm, t
from sklearn.metrics import auc as under

from unmask.core.errors import StatsError
from unmask.stats.roc import roc_auc, roc_auc_difference, roc_points
from unmask.stats.units import units_of


def case(seed: int, n: int = 60, tied: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.random(n) < 0.6
    a = rng.normal(size=n) + 0.7 * labels
    b = 0.5 * a + rng.normal(size=n)
    return (labels, np.round(a), np.round(b)) if tied else (labels, a, b)


def psi(positive: float, negative: float) -> float:
    return 1.0 if positive > negative else 0.5 if positive == negative else 0.0


def counted(labels: np.ndarray, scores: np.ndarray) -> float:
    """The share of pairs of a positive and a negative that stand in the right order."""
    ups, downs = scores[labels].tolist(), scores[~labels].tolist()
    return sum(psi(x, y) for x in ups for y in downs) / (len(ups) * len(downs))


def delong(labels: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Difference and p-value by the structural components of DeLong et al. (1988), covariances and all."""
    parts = []
    for scores in (a, b):
        ups, downs = scores[labels].tolist(), scores[~labels].tolist()
        v10 = [sum(psi(x, y) for y in downs) / len(downs) for x in ups]
        v01 = [sum(psi(x, y) for x in ups) / len(ups) for y in downs]
        parts.append((v10, v01))
    s10, s01 = (np.cov([parts[0][side], parts[1][side]]) for side in (0, 1))
    s = s10 / labels.sum() + s01 / (~labels).sum()
    difference = counted(labels, a) - counted(labels, b)
    z = difference / math.sqrt(s[0, 0] + s[1, 1] - 2 * s[0, 1])
    return difference, 2 * (1 - norm.cdf(abs(z)))


def test_an_area_by_hand() -> None:
    # positives 3, 1; negatives 2, 0: three of the four pairs in order
    labels = np.array([True, True, False, False])
    found = roc_auc(labels, np.array([3.0, 1.0, 2.0, 0.0]))
    assert found.value == 0.75
    assert (found.positives, found.negatives) == (2, 2)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_area_is_the_share_of_pairs_in_order(seed: int, tied: bool) -> None:
    labels, a, _ = case(seed, tied=tied)
    found = roc_auc(labels, a)
    assert found.value == pytest.approx(counted(labels, a), abs=1e-12)
    assert found.value == pytest.approx(under(*roc_points(labels, a)), abs=1e-12)
    assert found.low < found.value < found.high


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_delong_is_its_definition(seed: int, tied: bool) -> None:
    labels, a, b = case(seed, tied=tied)
    found = roc_auc_difference(labels, a, b)
    difference, p = delong(labels, a, b)
    assert found.value == pytest.approx(difference, abs=1e-12)
    assert found.p == pytest.approx(p, rel=1e-9)
    assert (found.p < 0.05) == (found.low > 0 or found.high < 0)
    back = roc_auc_difference(labels, b, a)
    assert (back.value, back.p) == (pytest.approx(-found.value), pytest.approx(found.p))


def test_the_interval_is_delongs_on_the_logit() -> None:
    labels, a, _ = case(5, n=400)
    ups, downs = a[labels], a[~labels]
    v10 = [np.mean(x > downs) for x in ups]
    v01 = [np.mean(ups > y) for y in downs]
    error = math.sqrt(np.var(v10, ddof=1) / len(ups) + np.var(v01, ddof=1) / len(downs))
    interval = roc_auc(labels, a)
    odds = math.log(interval.value / (1 - interval.value))
    reach = 1.959964 * error / (interval.value * (1 - interval.value))
    expected = [1 / (1 + math.exp(-odds - side * reach)) for side in (-1, 1)]
    assert (interval.low, interval.high) == pytest.approx(expected, abs=1e-7)
    assert interval.method == "delong, logit"


def test_what_cannot_be_had_is_said() -> None:
    labels = np.array([True, True, False, False])
    apart = roc_auc(labels, np.array([3.0, 2.0, 1.0, 0.0]))
    assert apart.value == 1.0
    assert math.isnan(apart.low)
    assert apart.method.startswith("no spread")
    flat = roc_auc(labels, np.ones(4))
    assert (flat.value, flat.p) == (0.5, None)
    lone = np.array([True, False, False, False])
    assert roc_auc(lone, np.arange(4.0)).method.startswith("too few")
    assert roc_auc_difference(lone, np.arange(4.0), -np.arange(4.0)).p is None
    same = roc_auc_difference(labels, np.arange(4.0), 2 * np.arange(4.0))
    assert (same.value, same.p) == (0.0, None)
    with pytest.raises(StatsError, match="have the same label"):
        roc_auc(np.ones(3, dtype=bool), np.arange(3.0))
    with pytest.raises(StatsError, match="finite"):
        roc_points(labels, np.array([1.0, np.nan, 2.0, 3.0]))


def test_the_test_of_an_area_is_mann_and_whitneys() -> None:
    labels, a, _ = case(2, n=40)
    found = roc_auc(labels, a)
    assert found.p == pytest.approx(mannwhitneyu(a[labels], a[~labels]).pvalue)
    assert (found.positives, found.negatives) == (labels.sum(), (~labels).sum())
    assert found.positives != found.negatives


def test_an_area_has_about_the_interval_of_a_plain_bootstrap_of_either_group() -> None:
    rng = np.random.default_rng(6)
    ups, downs = rng.normal(0.5, 1, 12), rng.normal(0, 1, 8)
    labels = np.arange(20) < 12
    found = roc_auc(labels, np.concatenate([ups, downs]))
    above = np.array([[psi(x, y) for y in downs] for x in ups])
    drawn = [above[np.ix_(rng.integers(12, size=12), rng.integers(8, size=8))].mean() for _ in range(4000)]
    assert (found.low, found.high) == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.04)


def test_two_items_in_a_group_are_enough_for_a_difference() -> None:
    labels = np.array([True, True, False, False, False])
    a, b = np.array([3.0, 1.0, 2.0, 0.0, 1.5]), np.array([1.0, 2.0, 3.0, 0.5, 1.2])
    found = roc_auc_difference(labels, a, b)
    value, p = delong(labels, a, b)
    assert (found.value, found.p) == pytest.approx((value, p))
    assert found.method == "delong"
    error = abs(value) / norm.isf(p / 2)
    assert (found.low, found.high) == pytest.approx((value - 1.959964 * error, value + 1.959964 * error), rel=1e-5)


# ------------------------------------------------------------------------------------- items that share units


def test_an_auc_over_writers_by_hand() -> None:
    """Copies of five pairs, each pair with its copy one writer: the errors of the five pairs, by hand.

    Biased 3, 1 and others 0, 2, −1: of the others 3 exceeds all, 1 two thirds, so the AUC is 5/6. Of the biased, 0 and
    −1 exceed none, 2 half. Linearised deviations are n/m times (1 − 5/6, 2/3 − 5/6) for the biased and n/m times
    (1/6 − 0, 1/6 − 1/2, 1/6 − 0) for the others: 5/2 · (1/6, −1/6) and 5/3 · (1/6, −1/3, 1/6). The variance over five
    writers is their sum of squares / (5 · 4).
    """
    labels = np.repeat([True, True, False, False, False], 2)
    scores = np.repeat([3.0, 1.0, 0.0, 2.0, -1.0], 2)
    writers = units_of({"writer": np.repeat(list("abcde"), 2)})
    found = roc_auc(labels, scores, writers)
    squares = 2 * (5 / 2 / 6) ** 2 + 2 * (5 / 3 / 6) ** 2 + (5 / 3 / 3) ** 2
    error = math.sqrt(squares / 20)
    assert found.value == pytest.approx(5 / 6)
    assert found.df == pytest.approx(4.0)
    reach = t.ppf(0.975, 4) * error / (5 / 6 * 1 / 6)
    assert (found.low, found.high) == pytest.approx((expit(logit(5 / 6) - reach), expit(logit(5 / 6) + reach)))
    assert found.p == pytest.approx(2 * t.sf((5 / 6 - 1 / 2) / error, 4))
    assert (found.method, found.unit) == ("delong, logit over 5 writers", "writer")
    other = roc_auc_difference(labels, scores, np.zeros(10), writers)  # an AUC of 1/2 without an error
    assert other.value == pytest.approx(1 / 3)
    assert other.high - other.value == pytest.approx(t.ppf(0.975, 4) * error)
    assert other.unit == "writer"


def test_two_writers_are_too_few_where_one_wrote_everything() -> None:
    labels = np.array([True, False] * 4)
    found = roc_auc(labels, np.arange(8.0), units_of({"writer": np.array(["a"] * 8)}))
    assert not found.has_interval
    assert found.method.startswith("too few: 1 writer")
