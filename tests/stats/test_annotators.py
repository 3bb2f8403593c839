"""Agreement of annotators: a wrong κ would call labels trustworthy that were given by chance."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from statsmodels.stats.inter_rater import fleiss_kappa

from unmask.stats.agreement import fleiss, label_counts, resampled_agreement

LABELS = [("age", "age", "race"), ("race", "race", "race"), ("age", "none", "race"), ("none", "none", "none")]


def test_counts_have_a_column_for_each_label() -> None:
    assert_array_equal(label_counts(LABELS), [[2, 0, 1], [0, 0, 3], [1, 1, 1], [0, 3, 0]])


def test_fleiss_by_hand() -> None:
    """Pairs that agree: 1/3, 1, 0, 1, so 7/12; shares 3/12, 4/12, 5/12, so 50/144 by chance: (84 − 50)/(144 − 50)."""
    assert fleiss(label_counts(LABELS)) == pytest.approx((84 - 50) / (144 - 50))
    assert fleiss(label_counts(LABELS)) == pytest.approx(fleiss_kappa(label_counts(LABELS)))
    assert np.isnan(fleiss(label_counts([("age", "age")] * 3)))


def test_the_interval_is_over_units() -> None:
    counts = label_counts(LABELS * 20)
    value = resampled_agreement(fleiss, counts, rng=np.random.default_rng(0), unit="items")
    assert value.low < value.value < value.high
    assert value.method == "percentile over 80 items"
    one = resampled_agreement(fleiss, counts[:1], rng=np.random.default_rng(0), unit="items")
    assert one.method == "too few: 1 item"
