"""Validity on known doses: wrong correlations would say that a measure can be trusted when it cannot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import pearsonr

from unmask.core.types import Floats, Row
from unmask.measures import find
from unmask.stats.table import ScoreTable
from unmask.stats.validity import Validity, validity

DOSES = {"religion": [-3.0, 3.0, -1.0, 1.0, 0.0, 2.0, -2.0, 0.5], "age": [2.0, 2.0, -3.0, -2.0, 1.0, -1.0, 0.0, 3.0]}
ITEMS = 30


def tables_of(values: Floats, measure: str = "aul", lacking: tuple[int, int] | None = None) -> list[ScoreTable]:
    """A table for every model (first axis) and a row for every item; the differences are the values."""
    rows = [
        [
            Row(measure, "d", f"d/{item:03}", {}, {"more": x, "less": 0.0}, "more" if x > 0 else "less")
            for item, x in enumerate(own)
        ]
        for own in values.tolist()
    ]
    if lacking is not None:
        model, item = lacking
        rows[model][item] = replace(rows[model][item], scores={}, outcome="unscored", reason="too long")
    return [ScoreTable.of(find(measure), own, data="d") for own in rows]


def measured(follows: str, *, noise: float, statistic: str = "mean-difference", measure: str = "aul") -> Validity:
    rng = np.random.default_rng(0)
    items = rng.normal(size=ITEMS)
    values = np.array(DOSES[follows])[:, None] + items + noise * rng.normal(size=(8, ITEMS))
    found = validity(tables_of(values, measure), statistic, DOSES, axis="religion", seed=0)
    assert found is not None
    return found


def test_a_score_that_follows_its_dose_is_specific_and_reliable() -> None:
    found = measured("religion", noise=0.5)
    assert found.own.value > 0.99
    assert found.follows
    assert found.is_specific
    assert found.reliability.value > 0.95


def test_a_score_that_follows_another_dose_is_neither_valid_nor_specific() -> None:
    found = measured("age", noise=0.5)
    assert found.others["age"].value > 0.99
    assert not found.is_specific
    assert found.margin.value == pytest.approx(found.own.value - found.others["age"].value)


def test_correlations_are_those_of_scipy_over_mean_scores() -> None:
    found = measured("religion", noise=20.0)
    for name, value in {"religion": found.own, **found.others}.items():
        assert value.value == pytest.approx(pearsonr(found.scores, DOSES[name]).statistic)
        assert value.low <= value.value <= value.high


def test_an_unsigned_score_is_compared_with_the_size_of_the_dose() -> None:
    values = np.abs(np.array(DOSES["religion"]))[:, None] * np.where(np.arange(ITEMS) % 2, 1.0, -1.0)
    found = validity(tables_of(values, "sld"), "asld", DOSES, axis="religion", seed=0)
    assert found is not None
    assert found.own.value == pytest.approx(1.0)


def test_reliability_is_cronbachs_alpha_of_models_by_items() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(8, 1)) + rng.normal(size=(8, ITEMS))
    found = validity(tables_of(values), "mean-difference", DOSES, axis="religion", seed=0)
    assert found is not None
    alpha = ITEMS / (ITEMS - 1) * (1 - values.var(axis=0, ddof=1).sum() / values.sum(axis=1).var(ddof=1))
    assert found.reliability.value == pytest.approx(alpha)


def test_items_that_one_model_could_not_score_are_left_out() -> None:
    values = np.array(DOSES["religion"])[:, None] + np.zeros(ITEMS)
    found = validity(tables_of(values, lacking=(2, 5)), "mean-difference", DOSES, axis="religion", seed=0)
    assert found is not None
    assert found.items == ITEMS - 1


def test_items_whose_slopes_cancel_do_not_follow_a_dose() -> None:
    """With the items taken as given, half of such scores would be said to rise or fall with the bias beyond chance."""
    rng, models, items, draws = np.random.default_rng(0), 36, 40, 200
    doses = {"religion": rng.permutation(np.repeat([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0], 6)).tolist()}
    table = tables_of(np.zeros((1, items)))[0]
    sides = []
    for _ in range(draws):
        slopes = 0.3 * rng.normal(size=items)  # of mean zero
        values = np.outer(doses["religion"], slopes) + rng.normal(size=items) + rng.normal(size=(models, items))
        tables = [replace(table, more=own, less=np.zeros(items)) for own in values]
        found = validity(tables, "mean-difference", doses, axis="religion", seed=0)
        assert found is not None
        sides.append(np.sign(found.own.value) if found.own.excludes(0.0) else 0.0)
    rising, falling = (sides.count(side) / draws for side in (1.0, -1.0))
    assert rising <= 0.06  # 0.025 and 3 standard errors
    assert falling <= 0.06


def test_the_margin_holds_the_truth() -> None:
    """Resampled margins missed it in one study of eight: the largest of two noisy correlations is too large."""
    rng, models, items, draws = np.random.default_rng(0), 36, 40, 200
    levels = np.repeat([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0], 6)
    table, missed = tables_of(np.zeros((1, items)))[0], 0
    for _ in range(draws):
        doses = {name: rng.permutation(levels) for name in ("religion", "age", "occupation")}
        values = 0.3 * doses["religion"][:, None] + rng.normal(size=(models, 1)) + rng.normal(size=(models, items))
        truth = (0.09 * levels.var() / (0.09 * levels.var() + 1 + 1 / items)) ** 0.5  # of religion; of the others 0
        tables = [replace(table, more=own, less=np.zeros(items)) for own in values]
        found = validity(tables, "mean-difference", {n: d.tolist() for n, d in doses.items()}, axis="religion", seed=0)
        assert found is not None
        missed += not found.margin.low <= truth <= found.margin.high
    assert missed / draws <= 0.08
