"""Means with intervals and tests.

A mean over 30 to 1,000 units gets a BCa interval (Efron 1987). Over fewer units it gets Student's, because
BCa is too short there: for normal samples of 10 it covers 89%, Student's 95%. Over more it gets Student's as
well: the BCa correction, about 1.4 × skewness / √n standard errors, is then below the resampling noise.

Rows of words × templates are not independent: they share words and templates. The interval of their mean
resamples both at once (the pigeonhole bootstrap of Owen 2007): the weight of a row is the multiplicity of its
word times that of its template. It generalises to other words and other templates.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import ttest_1samp

from unmask.core.estimate import Value
from unmask.core.types import Floats
from unmask.stats.bootstrap import MAX_BCA_UNITS, NO_CHANGE, NO_SPREAD, bootstrap_value, crossed_means
from unmask.stats.table import ScoreTable

CROSSED = ("appd", "association")  # statistics that are means over words × templates
MIN_BCA_UNITS = 30  # below this Student's interval has better coverage than BCa


def mean(values: Floats) -> float:
    """The mean; NaN for no values."""
    with np.errstate(invalid="ignore"):  # both infinities
        return float(np.mean(values)) if values.size else float("nan")


def mean_interval(values: Floats, *, rng: np.random.Generator, unit: str = "") -> Value:
    """The mean of independent units with its interval; `unit` names them in the method."""
    n, named, value = values.size, unit or "items", mean(values)
    if n < 2:
        return Value(value, method=f"too few: {n} {named}")
    if not np.isfinite(values).all():
        return Value(value, method="infinite scores")
    if not _vary(values):
        return Value(value, method=f"{NO_SPREAD}: {n} {named} alike")
    if MIN_BCA_UNITS <= n <= MAX_BCA_UNITS:
        return bootstrap_value(value, (values,), np.mean, rng=rng, unit=unit)
    ends = ttest_1samp(values, 0.0).confidence_interval()
    return Value(value, float(ends.low), float(ends.high), f"t over {n} {unit}" if unit else "t").widen()


def mean_test(values: Floats, null: float) -> float | None:
    """Two-sided p-value of a mean against its null value: Student's one-sample test.

    Wilcoxon's test has another null hypothesis, symmetry about the null value: with enough pairs it
    rejects skewed differences of mean zero. The t test is about the reported mean, as the interval is.
    None with fewer than two units, or without spread.
    """
    if values.size < 2 or not _vary(values):
        return None
    return float(ttest_1samp(values, null).pvalue)


def crossed_mean(
    values: Floats, table: ScoreTable, *, rng: np.random.Generator, null: float = 0.0
) -> tuple[Value, float | None]:
    """The mean and its p-value against the null; `values` are those of the table's scored rows."""
    scored = table.take(table.is_scored)
    words, row_words = np.unique(scored.labels["word"], return_inverse=True)
    templates, row_templates = np.unique(scored.labels["template"], return_inverse=True)
    if min(words.size, templates.size) < 2:
        return mean_interval(values, rng=rng), mean_test(values, null)
    if not (values - null).any():
        return Value(mean(values), null, null, NO_CHANGE), None
    resampled = crossed_means(values, row_words, row_templates, rng)
    low, high = np.quantile(resampled, [0.025, 0.975])
    method = f"two-way bootstrap over {words.size} words and {templates.size} templates"
    beyond = min((resampled <= null).sum(), (resampled >= null).sum())
    p = min(1.0, 2 * (beyond + 1) / (len(resampled) + 1))
    return Value(mean(values), float(low), float(high), method).widen(), float(p)


def _vary(values: Floats) -> bool:
    """Whether the values are finite and differ by more than rounding errors."""
    return bool(np.isfinite(values).all() and np.ptp(values) > 1e-12 * np.abs(values).max())
