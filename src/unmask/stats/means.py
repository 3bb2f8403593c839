"""Means with their intervals and tests.

A mean over 30 to 1,000 units gets a BCa interval (Efron 1987). Over fewer it gets Student's, because BCa is
too short there: of normal samples of 10 it covers 89%, Student's 95%. Over more it gets Student's too: what
BCa adds, about 1.4 × skewness / √n standard errors, is by then less than the noise of 2,000 resamples.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import ttest_1samp

from unmask.core.types import Floats
from unmask.stats.bootstrap import MAX_BCA_UNITS, NO_SPREAD, Interval, bootstrap_ends, no_interval

MIN_BCA_UNITS = 30  # units; below this Student's interval covers better than BCa


def mean(values: Floats) -> float:
    """Their mean; NaN when there are none."""
    with np.errstate(invalid="ignore"):  # both infinities
        return float(np.mean(values)) if values.size else float("nan")


def mean_interval(values: Floats, *, rng: np.random.Generator, unit: str = "") -> Interval:
    """Interval of the mean of independent units; `unit` names them in the method."""
    n, named = values.size, unit or "items"
    if n < 2:
        return no_interval(f"too few: {n} {named}")
    if not np.isfinite(values).all():
        return no_interval("infinite scores")
    if not _vary(values):
        return no_interval(f"{NO_SPREAD}: {n} {named} alike")
    low, high, method = _ends(values, rng)
    return Interval(low, high, f"{method} over {n} {unit}" if unit else method).widen_to(mean(values))


def mean_test(values: Floats, null: float) -> float | None:
    """Two-sided p-value of a mean against its null value: Student's one-sample test.

    Wilcoxon's test would ask another question, whether the values lie symmetrically about the null:
    skewed differences of mean zero fail it ever more surely as pairs are added. The t test asks about
    the mean that is reported, as the interval does. None with fewer than two units, or no spread.
    """
    if values.size < 2 or not _vary(values):
        return None
    return float(ttest_1samp(values, null).pvalue)


def _vary(values: Floats) -> bool:
    """Are they finite, and different by more than rounding?"""
    return bool(np.isfinite(values).all() and np.ptp(values) > 1e-12 * np.abs(values).max())


def _ends(values: Floats, rng: np.random.Generator) -> tuple[float, float, str]:
    if MIN_BCA_UNITS <= values.size <= MAX_BCA_UNITS:
        low, high, method = bootstrap_ends((values,), np.mean, rng=rng)
        return float(low), float(high), method
    ends = ttest_1samp(values, 0.0).confidence_interval()
    return float(ends.low), float(ends.high), "t"
