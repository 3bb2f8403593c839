"""ILPS and shares of words, with intervals over documents: words of one document are not independent.

ILPS = ln(P_f / P_m), the log ratio of the probabilities of feminine and masculine words (Kaneko, Bollegala &
Okazaki 2022, Table 1); the number of words in all cancels, so it is ln(n_f / n_m).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.stats import binomtest, t

from unmask.core.seeds import generator
from unmask.core.types import Floats, Ints
from unmask.findings import Value
from unmask.stats.bootstrap import Interval, bootstrap_ends, no_interval
from unmask.stats.means import MIN_BCA_UNITS

LEVEL = 0.95


def ilps(groups: Ints, *, seed: int = 0, unit: str = "documents") -> Value:
    """The log ratio of the first column's sum to the second's; above 0 the first set is more frequent."""
    first, second = groups[:, 0].astype(np.float64), groups[:, 1].astype(np.float64)
    if not (first.sum() and second.sum()):
        return Value(np.nan, np.nan, np.nan, "no ratio: one of the sets has no word here")
    value = float(np.log(first.sum() / second.sum()))
    if (groups[:, :2].sum(1) > 0).sum() == 1:
        return _value(value, _exact(int(first.sum()), int((first + second).sum()), logged=True))
    return _value(value, _document_interval(first, second, _log_ratio, seed, unit))


def word_share(groups: Ints, column: int, *, seed: int = 0, unit: str = "documents") -> Value:
    """The share of a column's words among all words: P_f, P_m."""
    words_of_set, words = groups[:, column].astype(np.float64), groups[:, 2].astype(np.float64)
    value = float(words_of_set.sum() / words.sum())
    if (words > 0).sum() == 1:
        return _value(value, _exact(int(words_of_set.sum()), int(words.sum()), logged=False))
    if not words_of_set.sum():
        return Value(value, np.nan, np.nan, "no interval: no such word here")
    return _value(value, _document_interval(words_of_set, words, _ratio, seed, unit).clip(0.0, 1.0))


Ratio = Callable[..., Floats]


def _ratio(first: Floats, second: Floats, axis: int = -1) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Floats = first.sum(axis=axis) / second.sum(axis=axis)
    return ratio


def _log_ratio(first: Floats, second: Floats, axis: int = -1) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(_ratio(first, second, axis))


def _document_interval(first: Floats, second: Floats, ratio: Ratio, seed: int, unit: str) -> Interval:
    """Interval over documents: jackknife with Student's t if they are few, else the bootstrap."""
    n = len(first)
    interval = (
        _jackknife(first, second, ratio) if n < MIN_BCA_UNITS else _bootstrap(first, second, ratio, seed)
    )
    if not np.isfinite([interval.low, interval.high]).all():
        return no_interval(f"no interval: too few words over {n} {unit}")
    value = float(ratio(first, second))
    return Interval(interval.low, interval.high, f"{interval.method} over {n} {unit}").widen_to(value)


def _bootstrap(first: Floats, second: Floats, ratio: Ratio, seed: int) -> Interval:
    low, high, method = bootstrap_ends((first, second), ratio, rng=generator(seed, "corpus"))
    return Interval(float(low), float(high), method)


def _jackknife(first: Floats, second: Floats, ratio: Ratio) -> Interval:
    """Leave out one document at a time (Tukey 1958); Student's t with n - 1 degrees of freedom."""
    n, whole = len(first), float(ratio(first, second))
    with np.errstate(divide="ignore", invalid="ignore"):
        left = ratio((first.sum() - first)[:, None], (second.sum() - second)[:, None])
        error = float(np.sqrt((n - 1) / n * np.sum((left - left.mean()) ** 2)))
    low, high = t.interval(LEVEL, n - 1, loc=whole, scale=error) if error != 0 else (whole, whole)
    return Interval(float(low), float(high), "jackknife t")


def _exact(hits: int, total: int, *, logged: bool) -> Interval:
    """Interval of one document: Clopper & Pearson (1934), as if its words were independent."""
    ends = binomtest(hits, total).proportion_ci(LEVEL, method="exact")
    low, high = float(ends.low), float(ends.high)
    method = "exact, words of one document as if independent"
    return Interval(_logit(low), _logit(high), method) if logged else Interval(low, high, method)


def _logit(share: float) -> float:
    return float(np.log(share / (1 - share)))


def _value(value: float, interval: Interval) -> Value:
    return Value(value, interval.low, interval.high, interval.method)
