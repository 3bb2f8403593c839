"""ROC curves, the area under them (AUC), and tests of AUCs and their differences."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, logit
from scipy.stats import mannwhitneyu, norm
from sklearn.metrics import roc_auc_score, roc_curve

from unmask.core.errors import StatsError
from unmask.core.estimate import Value
from unmask.core.types import Floats
from unmask.stats.bootstrap import NO_SPREAD
from unmask.stats.table import Flags

FEW = "too few: 1 item in a group"
NEGLIGIBLE = 1e-12  # of an error


@dataclass(frozen=True, slots=True)
class RocAuc(Value):
    """An AUC, or a difference of two, with its interval and p-value against chance."""

    p: float | None = None
    positives: int = 0
    negatives: int = 0


def roc_points(labels: Flags, scores: Floats) -> tuple[Floats, Floats]:
    """False and true positive rates at every threshold, by scikit-learn."""
    _check(labels, scores)
    false, true, _ = roc_curve(labels, scores)
    return np.asarray(false, dtype=np.float64), np.asarray(true, dtype=np.float64)


def roc_auc(labels: Flags, scores: Floats) -> RocAuc:
    """The AUC, with an interval by DeLong's error of its logit, which stays inside 0 and 1.

    The p-value is that of the Mann-Whitney test, whose statistic is the AUC up to scale.
    """
    _check(labels, scores)
    value = float(roc_auc_score(labels, scores))
    p = None if np.ptp(scores) == 0 else float(mannwhitneyu(scores[labels], scores[~labels]).pvalue)
    groups = scores[labels], scores[~labels]
    sizes: dict[str, Any] = {"positives": groups[0].size, "negatives": groups[1].size}
    if min(sizes.values()) < 2:
        return RocAuc(value, method=FEW, p=p, **sizes)
    error = _error(_placements(*groups), _placements(*groups[::-1]))
    if error < NEGLIGIBLE:
        return RocAuc(value, method=f"{NO_SPREAD}: all items of a group are placed alike", p=p, **sizes)
    reach = float(norm.ppf(0.975)) * error / (value * (1 - value))
    low, high = (float(expit(logit(value) + side * reach)) for side in (-1, 1))
    return RocAuc(value, low, high, "delong, logit", p, **sizes)


def roc_auc_difference(labels: Flags, a: Floats, b: Floats) -> RocAuc:
    """AUC of `a` minus AUC of `b` on the same items: DeLong, DeLong & Clarke-Pearson (1988).

    The variance is that of the placements: for each item, the share of the other group it ranks above.
    """
    _check(labels, a)
    _check(labels, b)
    value = float(roc_auc_score(labels, a)) - float(roc_auc_score(labels, b))
    positives, negatives = int(labels.sum()), int((~labels).sum())
    without = RocAuc(value, method=FEW, positives=positives, negatives=negatives)
    if min(positives, negatives) < 2:
        return without
    above = _placements(a[labels], a[~labels]) - _placements(b[labels], b[~labels])
    below = _placements(a[~labels], a[labels]) - _placements(b[~labels], b[labels])
    error = _error(above, below)
    if error < NEGLIGIBLE:
        return replace(without, method=f"{NO_SPREAD}: both order the items alike")
    reach = float(norm.ppf(0.975)) * error
    p = float(2 * norm.sf(abs(value) / error))
    return RocAuc(value, value - reach, value + reach, "delong", p, positives, negatives)


def _error(above: Floats, below: Floats) -> float:
    """DeLong's standard error, from the placements of the positives and of the negatives."""
    return float(np.sqrt(above.var(ddof=1) / above.size + below.var(ddof=1) / below.size))


def _placements(values: Floats, others: Floats) -> Floats:
    """For each value, the share of the others below it; ties count half."""
    ordered = np.sort(others)
    below = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    return np.asarray(below / (2 * others.size), dtype=np.float64)


def _check(labels: Flags, scores: Floats) -> None:
    if labels.size != scores.size or not np.isfinite(scores).all():
        raise StatsError("an ROC curve needs one finite score for every label; drop unscored items")
    if labels.all() or not labels.any():
        raise StatsError(f"all {labels.size} items have the same label: an ROC curve needs both")
