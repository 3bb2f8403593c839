"""Differential item functioning: a wrong test would call every benchmark unfair to some models, or none."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import pearsonr
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.contingency_tables import StratifiedTable

from unmask.core.errors import StatsError
from unmask.core.types import Floats
from unmask.stats.dif import (
    STRATA,
    Flags,
    invariance_test,
    item_agreement,
    mantel_haenszel,
    matching_means,
    regression_dif,
)


def groups(focal: int, others: int) -> Flags:
    return np.array([True] * focal + [False] * others)


def simulated(
    focal: Flags, items: int, rng: np.random.Generator, *, shift: float = 0.0, dif: float = 0.0, biased: int = 0
) -> Floats:
    """Items that follow the lean of a model by slopes of their own; `shift` of the focal models, DIF of some items."""
    lean = rng.normal(size=len(focal)) + shift * focal
    slopes, levels = rng.uniform(0.5, 1.5, size=items), rng.normal(size=items)
    scores = lean[:, None] * slopes + levels + rng.normal(size=(len(focal), items))
    scores[np.ix_(focal, np.arange(items) < biased)] += dif
    return np.asarray(scores)


def everything(items: int) -> Flags:
    return np.ones(items, dtype=np.bool_)


def test_matching_means_leave_the_item_out() -> None:
    """Scores 1, 2, 6 of one model: means of the others 4, 3.5, 1.5; of the last two only: 4, 6, 2."""
    scores = np.array([[1.0, 2.0, 6.0]])
    assert_allclose(matching_means(scores, everything(3)), [[4.0, 3.5, 1.5]])
    assert_allclose(matching_means(scores, np.array([False, True, True])), [[4.0, 6.0, 2.0]])


def test_regression_is_that_of_statsmodels() -> None:
    focal = groups(5, 8)
    scores = simulated(focal, 6, np.random.default_rng(0))
    found = regression_dif(scores, focal, purify=False)
    match = matching_means(scores, everything(6))
    for item in range(6):
        design = np.column_stack([np.ones(13), match[:, item], focal])
        fit = OLS(scores[:, item], design).fit()
        within = math.sqrt(
            sum(((part - part.mean()) ** 2).sum() for part in (scores[focal, item], scores[~focal, item])) / 11
        )
        assert found.effect[item] == pytest.approx(fit.params[2] / within)
        assert found.t[item] == pytest.approx(fit.tvalues[2])
        assert found.p[item] == pytest.approx(fit.pvalues[2])
        ends = fit.conf_int()[2] / within
        assert (found.value(item).low, found.value(item).high) == pytest.approx(tuple(ends))
        both = OLS(scores[:, item], np.column_stack([design, match[:, item] * focal])).fit()
        assert found.p_slopes[item] == pytest.approx(both.pvalues[3])
    assert (found.q >= found.p).all()
    assert (found.p_holm >= found.q - 1e-12).all()


def test_mantel_haenszel_is_that_of_statsmodels() -> None:
    focal = groups(20, 30)
    scores = simulated(focal, 5, np.random.default_rng(1), dif=1.0, biased=1)
    found = mantel_haenszel(scores, focal, everything(5))
    chosen = scores > 0
    match = matching_means(chosen.astype(float), everything(5))
    for item in range(5):
        cuts = np.quantile(match[:, item], [1 / 3, 2 / 3])
        stratum = (match[:, item] > cuts[0]).astype(int) + (match[:, item] > cuts[1])
        tables = [
            [
                [int((member & (stratum == place) & (chosen[:, item] == value)).sum()) for value in (True, False)]
                for member in (focal, ~focal)
            ]
            for place in range(STRATA)
        ]
        theirs = StratifiedTable([np.array(table, dtype=float) for table in tables if np.sum(table) > 1])
        assert found.log_odds[item] == pytest.approx(theirs.logodds_pooled)
        assert found.p[item] == pytest.approx(theirs.test_null_odds(correction=False).pvalue)
    assert_allclose(found.delta, -2.35 * found.log_odds)
    assert found.log_odds[0] > 0  # the planted one


def test_mantel_haenszel_by_hand() -> None:
    """One stratum in effect: 3 of 4 focal models against 1 of 4 prefer the stereotype: odds 3·3/(1·1) = 9."""
    focal = groups(4, 4)
    scores = np.where(np.array([1, 1, 1, 0, 1, 0, 0, 0])[:, None] == 1, 1.0, -1.0) * np.ones((8, 2))
    scores[:, 1] = 1.0  # an item that all prefer: the matching mean is the same for all
    found = mantel_haenszel(scores, focal, np.array([False, True]))
    assert found.log_odds[0] == pytest.approx(math.log(9))
    # excess 3 − 4·4/8 = 1, variance 4·4·4·4/(64·7)
    assert found.p[0] == pytest.approx(math.erfc(math.sqrt(1 / (256 / 448) / 2)))
    assert np.isnan(found.log_odds[1])
    assert np.isnan(found.p[1])


@pytest.mark.parametrize("dif", [3.0, -3.0])
def test_planted_dif_is_found(dif: float) -> None:
    """Four of 60 items are three standard deviations higher or lower in one group: they are found, few others."""
    focal = groups(12, 15)
    scores = simulated(focal, 60, np.random.default_rng(2), dif=dif, biased=4)
    found = regression_dif(scores, focal)
    assert found.has_dif[:4].all()
    assert found.has_dif[4:].sum() <= 1
    assert (np.sign(found.effect[:4]) == np.sign(dif)).all()
    assert not found.anchors[:4].any()
    assert invariance_test(scores, focal, rng=np.random.default_rng(0))[1] < 0.05


def test_purification_takes_the_bias_off_the_others() -> None:
    """Many items of one direction shift the mean: without purification the others seem biased the other way."""
    focal = groups(25, 25)
    scores = simulated(focal, 40, np.random.default_rng(3), dif=3.0, biased=12)
    raw, purified = (regression_dif(scores, focal, purify=purify) for purify in (False, True))
    assert abs(np.mean(purified.effect[12:])) < abs(np.mean(raw.effect[12:])) / 2
    assert purified.has_dif[12:].sum() < raw.has_dif[12:].sum()
    assert purified.rounds > 1


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_false_alarms_without_dif(shift: float) -> None:
    """5% of the items at p < 0.05, hardly any after correction, 5% of whole tests; also if one group leans more."""
    rng = np.random.default_rng(4)
    focal = groups(10, 14)
    below, flagged, whole = [], [], []
    for _ in range(40):
        scores = simulated(focal, 120, rng, shift=shift)
        found = regression_dif(scores, focal)
        below.append((found.p < 0.05).mean())
        flagged.append(found.has_dif.mean())
        if len(whole) < 12:
            whole.append(invariance_test(scores, focal, rng=rng)[1])
    assert 0.035 < np.mean(below) < 0.065
    assert np.mean(flagged) < 0.003
    assert np.mean(np.array(whole) < 0.05) <= 0.25
    assert 0.25 < np.mean(whole) < 0.75


def test_few_models_are_permuted_exhaustively() -> None:
    """3 of 7 models: 35 choices, so p is a multiple of 1/35."""
    focal = groups(3, 4)
    value, p = invariance_test(simulated(focal, 30, np.random.default_rng(5)), focal, rng=np.random.default_rng(0))
    assert value > 0
    assert p * 35 == pytest.approx(round(p * 35))


def test_the_order_and_the_unit_do_not_matter() -> None:
    rng = np.random.default_rng(6)
    focal = groups(6, 7)
    scores = simulated(focal, 20, rng)
    order, items = rng.permutation(13), rng.permutation(20)
    a = regression_dif(scores, focal, purify=False)
    b = regression_dif(7 * scores[order][:, items] + 3, focal[order], purify=False)
    assert_allclose(b.p, a.p[items])
    assert_allclose(b.effect, a.effect[items])
    swapped = regression_dif(scores, ~focal, purify=False)
    assert_allclose(swapped.effect, -a.effect)


def test_agreement_of_items_by_hand() -> None:
    """Means of items 2, 4, 9 and 3, 3, 9; the one group is without noise, the other too."""
    focal = groups(2, 3)
    scores = np.array([[1.0, 3.0, 8.0], [3.0, 5.0, 10.0], [3.0, 3.0, 9.0], [3.0, 3.0, 9.0], [3.0, 3.0, 9.0]])
    found = item_agreement(scores, focal)
    r = pearsonr([2, 4, 9], [3, 3, 9])[0]
    assert found.r.value == pytest.approx(r)
    assert found.reliabilities == (1.0, 1.0)
    assert found.corrected_r == pytest.approx(r)


def test_correction_recovers_the_correlation_without_noise() -> None:
    rng = np.random.default_rng(7)
    true = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=3000)
    scores = np.concatenate([true[:, place] + 2 * rng.normal(size=(n, 3000)) for place, n in ((0, 6), (1, 8))])
    found = item_agreement(scores, groups(6, 8))
    assert found.r.value < 0.65
    assert found.corrected_r == pytest.approx(0.8, abs=0.05)


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(StatsError, match=r"groups of 1 and 5 models: expected at least 2 in each and 5 in all"):
        regression_dif(np.ones((6, 4)), groups(1, 5))
    with pytest.raises(StatsError, match="groups of 2 and 2 models"):
        regression_dif(np.ones((4, 4)), groups(2, 2))
    with pytest.raises(StatsError, match="scores are missing"):
        regression_dif(np.full((6, 4), np.nan), groups(3, 3))
    alike = regression_dif(np.ones((6, 12)), groups(3, 3))
    assert np.isnan(alike.p).all()
    assert not alike.has_dif.any()
    assert not alike.value(0).has_interval
