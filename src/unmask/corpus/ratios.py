"""ILPS and shares of words, with intervals over documents: words of one document are not independent.

ILPS = ln(P_f / P_m), the log ratio of the probabilities of feminine and masculine words (Kaneko, Bollegala &
Okazaki 2022, Table 1); the number of words in all cancels, so it is ln(n_f / n_m).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.stats import binomtest, t

from unmask.core.estimate import NAN, Value
from unmask.core.seeds import generator
from unmask.core.types import Floats, Ints
from unmask.stats.bootstrap import bootstrap_value

LEVEL = 0.95
MIN_BCA_UNITS = 30  # documents; with fewer the jackknife has better coverage than BCa
EXACT = "exact, words of one document as if independent"


def ilps(groups: Ints, *, seed: int = 0, unit: str = "documents") -> Value:
    """The log ratio of the first column's sum to the second's; above 0 the first set is more frequent."""
    first, second = groups[:, 0].astype(np.float64), groups[:, 1].astype(np.float64)
    if not (first.sum() and second.sum()):
        return Value(NAN, method="no ratio: one of the sets has no word here")
    if (groups[:, :2].sum(1) > 0).sum() == 1:
        low, high = _exact_ends(int(first.sum()), int((first + second).sum()))
        return Value(float(_log_ratio(first, second)), _logit(low), _logit(high), EXACT)
    return _over_documents(first, second, _log_ratio, seed, unit)


def word_share(groups: Ints, column: int, *, seed: int = 0, unit: str = "documents") -> Value:
    """The share of a column's words among all words: P_f, P_m."""
    words_of_set, words = groups[:, column].astype(np.float64), groups[:, 2].astype(np.float64)
    value = float(_ratio(words_of_set, words))
    if (words > 0).sum() == 1:
        return Value(value, *_exact_ends(int(words_of_set.sum()), int(words.sum())), EXACT)
    if not words_of_set.sum():
        return Value(value, method="no interval: no such word here")
    return _over_documents(words_of_set, words, _ratio, seed, unit).clip(0.0, 1.0)


def scale_value(value: Value, factor: float) -> Value:
    """A value and its interval times a factor."""
    return Value(value.value * factor, value.low * factor, value.high * factor, value.method)


Ratio = Callable[..., Floats]


def _ratio(first: Floats, second: Floats, axis: int = -1) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Floats = first.sum(axis=axis) / second.sum(axis=axis)
    return ratio


def _log_ratio(first: Floats, second: Floats, axis: int = -1) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(_ratio(first, second, axis))


def _over_documents(first: Floats, second: Floats, ratio: Ratio, seed: int, unit: str) -> Value:
    """A ratio with its interval over documents: jackknife with Student's t if few, else the bootstrap."""
    n, value = len(first), float(ratio(first, second))
    if n < MIN_BCA_UNITS:
        found = Value(value, *_jackknife_ends(first, second, ratio), f"jackknife t over {n} {unit}").widen()
    else:
        rng = generator(seed, "corpus")
        found = bootstrap_value(value, (first, second), ratio, rng=rng, unit=unit)
    return found if found.has_interval else Value(value, method=f"no interval: too few words over {n} {unit}")


def _jackknife_ends(first: Floats, second: Floats, ratio: Ratio) -> tuple[float, float]:
    """Leave out one document at a time (Tukey 1958); Student's t with n - 1 degrees of freedom."""
    n, whole = len(first), float(ratio(first, second))
    with np.errstate(divide="ignore", invalid="ignore"):
        left = ratio((first.sum() - first)[:, None], (second.sum() - second)[:, None])
        error = float(np.sqrt((n - 1) / n * np.sum((left - left.mean()) ** 2)))
    low, high = t.interval(LEVEL, n - 1, loc=whole, scale=error) if error != 0 else (whole, whole)
    return float(low), float(high)


def _exact_ends(hits: int, total: int) -> tuple[float, float]:
    """Ends of a share in one document: Clopper & Pearson (1934), as if its words were independent."""
    ends = binomtest(hits, total).proportion_ci(LEVEL, method="exact")
    return float(ends.low), float(ends.high)


def _logit(share: float) -> float:
    return float(np.log(share / (1 - share)))
