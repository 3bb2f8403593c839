"""Item discrimination and short forms: a wrong sign would throw out the good items."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import kendalltau, norm, pearsonr

from unmask.core.errors import StatsError
from unmask.core.types import Floats
from unmask.stats.reliability import MIN_HALF, discrimination, item_rest_correlations, short_forms


def planted(models: int, good: int, noise: int, bad: int, rng: np.random.Generator, *, noisy: float = 0.5) -> Floats:
    """Items that follow the model, that have nothing to do with it, and that go against it."""
    lean = rng.normal(size=(models, 1))
    slopes = np.array([1.0] * good + [0.0] * noise + [-1.0] * bad)
    return lean * slopes + noisy * rng.normal(size=(models, slopes.size))


def test_correlations_against_plain_loops() -> None:
    scores = planted(7, 3, 2, 1, np.random.default_rng(0))
    rest = [np.delete(scores, item, axis=1).sum(axis=1) for item in range(6)]
    assert_allclose(item_rest_correlations(scores), [pearsonr(scores[:, item], rest[item])[0] for item in range(6)])
    scores[:, 4] = 2.0  # every model alike
    assert np.isnan(item_rest_correlations(scores)[4])


def test_planted_items_push_the_wrong_way() -> None:
    found = discrimination(planted(20, 60, 0, 10, np.random.default_rng(1)))
    assert (found.r[:60] > 0).all()
    assert (found.r[60:] < 0).all()
    assert (found.q[60:] < 0.05).all()
    assert not (found.q[:60] < 0.05).any()
    assert found.negative.value == pytest.approx(100 / 7)
    assert found.negative.low <= 100 / 7 <= found.negative.high
    p = pearsonr(planted(20, 60, 0, 10, np.random.default_rng(1))[:, 65], rest_of(65), alternative="less").pvalue
    assert found.p[65] == pytest.approx(p)


def rest_of(item: int) -> Floats:
    return np.delete(planted(20, 60, 0, 10, np.random.default_rng(1)), item, axis=1).sum(axis=1)


def test_equal_items_are_negative_by_noise_only() -> None:
    """All items have the same slope: so many are negative as noise gives, over many models none would be."""
    rng = np.random.default_rng(2)
    scores = 0.3 * rng.normal(size=(10, 1)) + rng.normal(size=(10, 3000))
    found = discrimination(scores)
    assert found.negative.value == pytest.approx(found.by_noise, abs=4)
    assert found.truly_negative < 3
    assert found.negative.value > 5


def test_the_share_of_items_that_are_truly_negative_is_recovered() -> None:
    """z of the items is normal around 0.3 with deviation 0.4: Φ(−0.75) = 23% are negative, whatever the models."""
    rng = np.random.default_rng(3)
    r = np.tanh(rng.normal(0.3, 0.4, size=4000))
    for models in (10, 40):
        lean = rng.normal(size=(models, 1))
        scores = r * lean + np.sqrt(1 - r**2) * rng.normal(size=(models, r.size))
        assert discrimination(scores).truly_negative == pytest.approx(100 * norm.cdf(-0.75), abs=5)


def test_a_short_form_is_found_and_kept_on_other_models() -> None:
    """30 of 400 items follow the models: chosen on one half they rank the other; at random many more are needed."""
    scores = planted(24, 30, 370, 0, np.random.default_rng(4), noisy=0.2)
    short = short_forms(scores, rng=np.random.default_rng(0))
    assert short is not None
    assert short.enough is not None
    assert short.enough <= 60
    assert short.enough_random is None or short.enough_random > short.enough
    assert short.is_worth_choosing
    assert set(short.best[:20].tolist()) <= set(range(30))
    value = short.chosen[short.sizes.index(20)]
    assert value.low <= value.value <= value.high


def test_agreement_of_a_form_by_hand() -> None:
    """With six models of which each half has three, τ of the first items is scipy's."""
    scores = planted(2 * MIN_HALF, 5, 5, 0, np.random.default_rng(6))
    short = short_forms(scores, rng=np.random.default_rng(1))
    assert short is not None
    rng = np.random.default_rng(1)
    taus = []
    for _ in range(200):
        order = rng.permutation(6)
        half, other = order[:3], order[3:]
        best = np.argsort(-np.nan_to_num(item_rest_correlations(scores[half]), nan=-2.0), kind="stable")
        rng.permutation(10)  # the items drawn at random
        taus.append(kendalltau(scores[other][:, best[:5]].sum(axis=1), scores[other].sum(axis=1)).statistic)
    assert short.chosen[0].value == pytest.approx(np.mean(taus))


def test_too_few_models() -> None:
    assert short_forms(np.ones((5, 50)), rng=np.random.default_rng(0)) is None
    assert short_forms(np.ones((9, 4)), rng=np.random.default_rng(0)) is None
    with pytest.raises(StatsError, match="3 models: expected at least 4"):
        discrimination(np.ones((3, 5)))
    with pytest.raises(StatsError, match="every item has one score"):
        discrimination(np.ones((5, 5)))
