"""Variance components and reliability: a wrong one would call noise a ranking."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import f
from statsmodels.regression.mixed_linear_model import MixedLM

from unmask.core.errors import StatsError
from unmask.core.types import Floats
from unmask.stats.generalizability import CROSSED, NESTED, GStudy, g_study

TRUE = {"model": 0.5, "item": 1.0, "wording": 0.3, "mi": 0.8, "mt": 0.2, "it": 0.4, "rest": 0.6}


def simulated(shape: tuple[int, int, int], rng: np.random.Generator) -> Floats:
    """Scores with the variances of `TRUE`."""
    sizes = {
        "model": (shape[0], 1, 1),
        "item": (1, shape[1], 1),
        "wording": (1, 1, shape[2]),
        "mi": (shape[0], shape[1], 1),
        "mt": (shape[0], 1, shape[2]),
        "it": (1, shape[1], shape[2]),
        "rest": shape,
    }
    return np.sum(
        [np.sqrt(TRUE[name]) * rng.normal(size=size) + np.zeros(shape) for name, size in sizes.items()], axis=0
    )


def mixed_model(scores: Floats, nested: bool) -> list[float]:
    """REML components by statsmodels, in the order of the design."""
    places = np.indices(scores.shape).reshape(3, -1)
    table = pd.DataFrame({"y": scores.ravel(), "m": places[0], "i": places[1], "t": places[2]})
    table["mi"], table["mt"] = table.m * 1000 + table.i, table.m * 1000 + table.t
    table["it"] = table.i * 1000 + table.t
    names = ["m", "i", "it", "mi"] if nested else ["m", "i", "t", "mi", "mt", "it"]
    formulas = {name: f"0 + C({name})" for name in names}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a component at its bound
        fit = MixedLM.from_formula("y ~ 1", table, groups=np.ones(len(table)), vc_formula=formulas).fit(reml=True)
    by_name = dict(zip(fit.model.exog_vc.names, fit.vcomp, strict=True))
    return [*(by_name[name] for name in names), fit.scale]


def restricted_likelihood(scores: Floats, components: Sequence[float] | Floats) -> float:
    """The log of the restricted likelihood with the whole covariance matrix, up to a constant."""
    places = np.indices(scores.shape).reshape(3, -1).T
    axes = {"model": 0, "item": 1, "wording": 2}
    covariance = np.zeros((scores.size, scores.size))
    for effect, component in zip(CROSSED, components, strict=True):
        of = places[:, [axes[facet] for facet in sorted(effect.facets)]]
        covariance += component * (of[:, None] == of[None]).all(axis=2)
    inverse, ones = np.linalg.inv(covariance), np.ones(scores.size)
    weight = ones @ inverse @ ones
    rest = scores.ravel() - ones @ inverse @ scores.ravel() / weight
    return -float(np.linalg.slogdet(covariance)[1] + np.log(weight) + rest @ inverse @ rest) / 2


def test_two_items_by_hand() -> None:
    """Means of models 2, 3, 5.5, of items 3, 4: mean squares 13/2, 1.5 and 3/2; so 2.5, 0 and 1.5."""
    scores = np.array([[1.0, 3.0], [2.0, 4.0], [6.0, 5.0]])[:, :, None]
    study = g_study(scores)
    assert_allclose(study.squares, [6.5, 1.5, 1.5])
    assert_allclose(study.freedom, [2, 1, 2])
    assert_allclose(study.components, [2.5, 0.0, 1.5], atol=1e-12)
    assert study.reliability(2, 1).value == pytest.approx(2.5 / (2.5 + 1.5 / 2))
    assert study.reliability(10, 1, absolute=True).value == pytest.approx(2.5 / (2.5 + (1.5 + 0.0) / 10))
    assert study.standard_error(2, 1).value == pytest.approx(np.sqrt(0.75))
    assert study.share(0).value == pytest.approx(100 * 2.5 / 4)
    alpha = 2 * (1 - scores.var(axis=0, ddof=1).sum() / scores.sum(axis=1).var(ddof=1))  # Cronbach's
    assert study.reliability(2, 1).value == pytest.approx(alpha)


def test_crossed_wordings_by_hand() -> None:
    """A score that is the sum of its row, column and layer has no interactions, and these mean squares."""
    models, items, wordings = np.array([0.0, 1.0, 5.0]), np.array([0.0, 2.0]), np.array([0.0, 3.0])
    scores = models[:, None, None] + items[None, :, None] + wordings[None, None, :]
    study = g_study(scores)
    assert [effect.name for effect in study.effects] == [effect.name for effect in CROSSED]
    assert_allclose(study.squares, [4 * 7.0, 6 * 2.0, 6 * 4.5, 0, 0, 0, 0], atol=1e-12)
    assert_allclose(study.components, [7.0, 2.0, 4.5, 0, 0, 0, 0], atol=1e-12)
    assert study.reliability(2, 2).value == pytest.approx(1.0)
    # absolute: 7 / (7 + 2/2 + 4.5/2)
    assert study.reliability(2, 2, absolute=True).value == pytest.approx(7 / 10.25)


@pytest.mark.parametrize("nested", [False, True])
def test_components_are_those_of_a_mixed_model(nested: bool) -> None:
    """Where none is negative, ANOVA, our REML and the REML of statsmodels agree."""
    seed = 3 if nested else 8
    scores = simulated((6, 7, 4), np.random.default_rng(seed))
    study = g_study(scores, nested=nested)
    assert (study.components > 0).all()
    assert_allclose(study.restricted_components, study.components)
    assert_allclose(mixed_model(scores, nested), study.components, rtol=0.02, atol=2e-3)


def test_negative_components_are_zero_in_the_mixed_model() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(5, 6, 3)) + rng.normal(size=(1, 6, 1))
    study = g_study(scores)
    assert (study.components < 0).any()
    assert (study.restricted_components >= 0).all()
    best = restricted_likelihood(scores, study.restricted_components)
    assert best >= restricted_likelihood(scores, mixed_model(scores, nested=False)) - 1e-6
    for _ in range(100):
        other = np.maximum(
            study.restricted_components * rng.uniform(0.5, 1.5, size=7) + 0.02 * rng.uniform(size=7), 1e-9
        )
        assert best >= restricted_likelihood(scores, other)
    assert all(study.component(number).low >= min(0, study.components[number]) for number in range(7))


def test_nested_wordings_against_plain_sums() -> None:
    scores = simulated((4, 5, 3), np.random.default_rng(1))
    study = g_study(scores, nested=True)
    assert [effect.name for effect in study.effects] == [effect.name for effect in NESTED]
    grand, by_item, by_wording = scores.mean(), scores.mean(axis=(0, 2)), scores.mean(axis=0)
    by_model, both = scores.mean(axis=(1, 2)), scores.mean(axis=2)
    squares = [
        sum(15 * (by_model[m] - grand) ** 2 for m in range(4)) / 3,
        sum(12 * (by_item[i] - grand) ** 2 for i in range(5)) / 4,
        sum(4 * (by_wording[i, t] - by_item[i]) ** 2 for i in range(5) for t in range(3)) / 10,
        sum(3 * (both[m, i] - by_model[m] - by_item[i] + grand) ** 2 for m in range(4) for i in range(5)) / 12,
        sum(
            (scores[m, i, t] - both[m, i] - by_wording[i, t] + by_item[i]) ** 2
            for m in range(4)
            for i in range(5)
            for t in range(3)
        )
        / 30,
    ]
    assert_allclose(study.squares, squares)
    assert_allclose(study.freedom, [3, 4, 10, 12, 30])


def test_the_order_of_models_items_and_wordings_does_not_matter() -> None:
    rng = np.random.default_rng(5)
    scores = simulated((5, 6, 3), rng)
    shuffled = scores[rng.permutation(5)][:, rng.permutation(6)][:, :, rng.permutation(3)]
    assert_allclose(g_study(shuffled).components, g_study(scores).components)
    assert_allclose(g_study(3 * scores + 7).components, 9 * g_study(scores).components)


def test_the_interval_of_two_mean_squares_is_that_of_the_f_test() -> None:
    """Feldt's exact interval of Cronbach's α, which is the generalisability with one wording."""
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(12, 1, 1)) + rng.normal(size=(12, 9, 1))
    found = g_study(scores).reliability(9, 1)
    ends = [1 - (1 - found.value) * f.ppf(q, 11, 88) for q in (0.975, 0.025)]
    assert (found.low, found.high) == pytest.approx(ends, abs=0.01)


def covered(study: GStudy, *asked: int) -> bool:
    true = TRUE["model"] / (
        TRUE["model"] + TRUE["mi"] / asked[0] + TRUE["mt"] / asked[1] + TRUE["rest"] / np.prod(asked)
    )
    value = study.reliability(*asked)
    return bool(value.low <= true <= value.high)


def test_intervals_contain_the_true_reliability() -> None:
    """200 studies of 11 models: about 95%; of the model component too."""
    rng = np.random.default_rng(7)
    studies = [g_study(simulated((11, 30, 4), rng), seed=seed) for seed in range(200)]
    for asked in ((30, 1), (30, 4), (200, 10)):
        assert 0.91 <= np.mean([covered(study, *asked) for study in studies]) <= 0.99
    inside = [study.component(0).low <= TRUE["model"] <= study.component(0).high for study in studies]
    assert 0.91 <= np.mean(inside) <= 0.99


def test_items_needed_by_hand() -> None:
    """With σ²(m) = 1, σ²(mi) = 2, σ²(mt) = 0.3, rest 4: 0.8 in 4 wordings leaves 0.25 − 0.075 for (2 + 4/4)/n."""
    study = g_study(simulated((5, 6, 3), np.random.default_rng(0)))
    components = np.array([1.0, 0.0, 0.0, 2.0, 0.3, 0.0, 4.0])
    known = GStudy(study.effects, study.sizes, study.expected_squares @ components, study.freedom)
    assert known.items_needed(0.8, 4) == int(np.ceil(3 / (0.25 - 0.075))) == 18
    assert known.reliability(18, 4).value >= 0.8 > known.reliability(17, 4).value
    assert known.items_needed(0.8, 1) is None  # 0.3 > 0.25 whatever is asked
    one = g_study(np.random.default_rng(1).normal(size=(6, 8, 1)) + np.arange(6)[:, None, None])
    n = one.items_needed(0.99, 1)
    assert n is not None
    assert one.reliability(n, 1).value >= 0.99 > one.reliability(n - 1, 1).value


def test_what_cannot_be_studied_is_refused() -> None:
    for scores in (np.ones((2, 5, 1)), np.ones((5, 1, 1))):
        with pytest.raises(StatsError, match="expected at least 3 models and two items"):
            g_study(scores)
    holed = np.ones((4, 4, 1))
    holed[0, 0] = np.nan
    with pytest.raises(StatsError, match="scores are missing"):
        g_study(holed)
    flat = g_study(np.ones((4, 4, 2)))
    assert np.isnan(flat.reliability(4, 2).value)
    assert not flat.share(0).has_interval
