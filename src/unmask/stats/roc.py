"""How well scores tell two groups of items apart: ROC curves, the area under them, and their comparison."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import bootstrap, mannwhitneyu, norm, rankdata
from sklearn.metrics import roc_auc_score, roc_curve

from unmask.core.errors import StatsError
from unmask.core.types import Floats
from unmask.stats.bootstrap import BATCH_CELLS, NO_SPREAD, RESAMPLES, Interval, no_interval
from unmask.stats.table import Flags


@dataclass(frozen=True, slots=True)
class RocAuc:
    """An area under the curve, or a difference of two, with its interval and p-value against chance."""

    value: float
    interval: Interval
    p: float | None
    positives: int
    negatives: int


def roc_points(labels: Flags, scores: Floats) -> tuple[Floats, Floats]:
    """Shares of false and of true positives at every threshold, by scikit-learn."""
    _check(labels, scores)
    false, true, _ = roc_curve(labels, scores)
    return np.asarray(false, dtype=np.float64), np.asarray(true, dtype=np.float64)


def roc_auc(labels: Flags, scores: Floats, *, rng: np.random.Generator) -> RocAuc:
    """The area under the curve, with a bootstrap interval that resamples either group on its own.

    The p-value is that of the Mann-Whitney test, whose statistic the area is.
    """
    _check(labels, scores)
    value = float(roc_auc_score(labels, scores))
    p = None if np.ptp(scores) == 0 else float(mannwhitneyu(scores[labels], scores[~labels]).pvalue)
    interval = _bootstrapped(scores[labels], scores[~labels], rng).widen_to(value)
    return RocAuc(value, interval, p, int(labels.sum()), int((~labels).sum()))


def roc_auc_difference(labels: Flags, a: Floats, b: Floats) -> RocAuc:
    """Area of `a` less that of `b` on the same items: DeLong, DeLong & Clarke-Pearson (1988).

    The variance is that of the placements: for each item the share of the other group it stands above.
    """
    _check(labels, a)
    _check(labels, b)
    value = float(roc_auc_score(labels, a)) - float(roc_auc_score(labels, b))
    positives, negatives = int(labels.sum()), int((~labels).sum())
    if min(positives, negatives) < 2:
        return RocAuc(value, no_interval("too few: 1 item in a group"), None, positives, negatives)
    above = _placed(a[labels], a[~labels]) - _placed(b[labels], b[~labels])
    below = _placed(a[~labels], a[labels]) - _placed(b[~labels], b[labels])
    error = float(np.sqrt(above.var(ddof=1) / positives + below.var(ddof=1) / negatives))
    if error < 1e-12:
        return RocAuc(
            value, no_interval(f"{NO_SPREAD}: both order the items alike"), None, positives, negatives
        )
    reach = float(norm.ppf(0.975)) * error
    p = float(2 * norm.sf(abs(value) / error))
    return RocAuc(value, Interval(value - reach, value + reach, "delong"), p, positives, negatives)


def _bootstrapped(positives: Floats, negatives: Floats, rng: np.random.Generator) -> Interval:
    if min(positives.size, negatives.size) < 2:
        return no_interval("too few: 1 item in a group")
    drawn = bootstrap(
        (positives, negatives),
        _areas,
        n_resamples=RESAMPLES,
        batch=max(1, BATCH_CELLS // (positives.size + negatives.size)),
        vectorized=True,
        method="percentile",
        rng=rng,
    ).confidence_interval
    if drawn.low == drawn.high:
        return no_interval(f"{NO_SPREAD}: every resample gives the same area")
    return Interval(float(drawn.low), float(drawn.high), "percentile, stratified")


def _areas(positives: Floats, negatives: Floats, axis: int = -1) -> Floats:
    """The area in many resamples at once: the share of pairs of a positive and a negative in order."""
    size, others = positives.shape[axis], negatives.shape[axis]
    ranks = rankdata(np.concatenate([positives, negatives], axis=axis), axis=axis)
    total = np.take(ranks, np.arange(size), axis=axis).sum(axis=axis)
    return np.asarray((total - size * (size + 1) / 2) / (size * others))


def _placed(values: Floats, others: Floats) -> Floats:
    """For each value the share of the others below it, ties half."""
    ordered = np.sort(others)
    below = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    return np.asarray(below / (2 * others.size), dtype=np.float64)


def _check(labels: Flags, scores: Floats) -> None:
    if labels.size != scores.size or not np.isfinite(scores).all():
        raise StatsError("an ROC curve needs one finite score for every label; leave out what is not scored")
    if labels.all() or not labels.any():
        raise StatsError(f"all {labels.size} items bear one label: an ROC curve needs both")
