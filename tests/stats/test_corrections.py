"""Holm's correction, and which estimates it covers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from unmask.core.estimate import Estimate
from unmask.stats import estimates
from unmask.stats.corrections import correct_headlines, holm

from .tables import DATA, measure, normal, row


def reference_holm(ps: list[float]) -> list[float]:
    """Holm (1979): the k-th smallest times (n − k + 1), never below the one before it."""
    adjusted, least = [0.0] * len(ps), 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        least = max(least, min(1.0, ps[place] * (len(ps) - rank)))
        adjusted[place] = least
    return adjusted


def test_by_hand() -> None:
    # sorted: 0.01 × 3 = 0.03; 0.02 × 2 = 0.04; 0.04 × 1 = 0.04
    assert holm([0.04, 0.01, None, 0.02]) == pytest.approx((0.04, 0.03, None, 0.04))


def test_a_later_value_is_never_smaller() -> None:
    # 0.03 × 2 = 0.06; 0.04 × 1 = 0.04, lifted to 0.06
    assert holm([0.03, 0.04]) == pytest.approx((0.06, 0.06))


def test_nothing_to_correct() -> None:
    assert holm([]) == ()
    assert holm([None, None]) == (None, None)


@given(st.lists(st.floats(0, 1), max_size=12))
def test_equals_the_reference(ps: list[float]) -> None:
    assert holm(ps) == pytest.approx(reference_holm(ps), abs=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(5))
def test_equals_statsmodels(seed: int) -> None:
    ps = np.random.default_rng(seed).beta(0.3, 1.0, 9).tolist()
    assert holm(ps) == pytest.approx(multipletests(ps, method="holm")[1].tolist(), rel=1e-12)


def test_families_are_the_categories_of_one_statistic() -> None:
    table = [
        row(100 * k + i, x, category=f"c{k}", direction="stereo" if i % 3 else "antistereo")
        for k in range(4)
        for i, x in enumerate(normal(40, k, shift=0.2 * k))
    ]
    found = estimates(measure(), table, data=DATA, rng_seed=0)
    for statistic in ("bias-score", "mean-difference"):
        family = [one for one in found if one.statistic == statistic and one.group.startswith("category=")]
        assert len(family) == 4
        assert [one.p_holm for one in family] == pytest.approx(reference_holm([one.p or 0.0 for one in family]))
    assert all(one.p_holm is None for one in found if not one.group.startswith("category="))


def test_headlines_of_a_dataset_are_one_family_without_baselines() -> None:
    """A baseline among the tests, or one dataset with another's, would change which leans are stated."""
    known = {"group": "all", "null": 50.0, "n": 100}
    table = [
        Estimate(60.0, measure="sss", data="d", statistic="bias-score", p=0.01, **known),
        Estimate(0.1, measure="sss", data="d", statistic="mean-difference", p=0.001, **known),
        Estimate(60.0, measure="cps", data="d", statistic="bias-score", p=0.02, **known),
        Estimate(44.0, measure="all-masked", data="d", statistic="bias-score", p=1e-9, **known),
        Estimate(66.0, measure="icat", data="d", statistic="icat", p=None, group="all"),
        Estimate(60.0, measure="sss", data="other", statistic="bias-score", p=0.03, **known),
    ]
    corrected = correct_headlines(table, ["all-masked"])
    assert [each.p_holm for each in corrected] == [pytest.approx(0.02), None, pytest.approx(0.02), None, None, 0.03]
    assert correct_headlines(corrected, ["all-masked"]) == corrected
