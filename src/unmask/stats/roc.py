"""ROC curves, the area under them (AUC), and tests of AUCs and their differences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit
from scipy.stats import mannwhitneyu
from sklearn.metrics import roc_auc_score, roc_curve

from unmask.core.errors import StatsError
from unmask.core.estimate import Value
from unmask.core.types import Floats
from unmask.stats.bootstrap import NO_SPREAD
from unmask.stats.intervals import quantile, upper_tail, without_interval
from unmask.stats.table import Flags
from unmask.stats.units import INDEPENDENT, Units, sampling_error

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


def roc_auc(labels: Flags, scores: Floats, units: Units = INDEPENDENT) -> RocAuc:
    """The AUC, with an interval by DeLong's error of its logit, which stays inside 0 and 1.

    The p-value is that of the Mann-Whitney test, whose statistic is the AUC up to scale. Of items that share units,
    the AUC is a mean of linearised placements (Obuchowski 1997); its error is the one over units, and the test is
    Student's.
    """
    _check(labels, scores)
    value = float(roc_auc_score(labels, scores))
    p = None if np.ptp(scores) == 0 else float(mannwhitneyu(scores[labels], scores[~labels]).pvalue)
    groups = scores[labels], scores[~labels]
    sizes: dict[str, Any] = {"positives": groups[0].size, "negatives": groups[1].size}
    if min(sizes.values()) < 2:
        return RocAuc(value, method=FEW, p=p, **sizes)
    above, below = _placements(*groups), _placements(*groups[::-1])
    error = _error(above, below)
    if error < NEGLIGIBLE:
        return RocAuc(value, method=f"{NO_SPREAD}: all items of a group are placed alike", p=p, **sizes)
    over = _over_units(labels, above, below, units)
    if over is None:
        return RocAuc(value, method=without_interval(units), unit=units.tag, **sizes)
    if units.codes:
        p = 2 * upper_tail(abs(value - 0.5) / over.error, over.df)
    reach = quantile(0.975, over.df) * over.error / (value * (1 - value))
    low, high = (float(expit(logit(value) + side * reach)) for side in (-1, 1))
    return RocAuc(value, low, high, f"delong, logit{over.label}", p, **sizes, **over.fields)


def roc_auc_difference(labels: Flags, a: Floats, b: Floats, units: Units = INDEPENDENT) -> RocAuc:
    """AUC of `a` minus AUC of `b` on the same items: DeLong, DeLong & Clarke-Pearson (1988).

    The variance is that of the placements: for each item, the share of the other group it ranks above; or, of items
    that share units, that of their linearised values over units.
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
    if _error(above, below) < NEGLIGIBLE:
        return replace(without, method=f"{NO_SPREAD}: both order the items alike")
    over = _over_units(labels, above, below, units)
    if over is None:
        return replace(without, method=without_interval(units), unit=units.tag)
    reach, p = quantile(0.975, over.df) * over.error, 2 * upper_tail(abs(value) / over.error, over.df)
    ends = value - reach, value + reach
    return RocAuc(value, *ends, f"delong{over.label}", p, positives, negatives, **over.fields)


class _UnitError(NamedTuple):
    """The standard error of an AUC, and what its interval says about units."""

    error: float
    df: float | None = None
    label: str = ""
    fields: Mapping[str, Any] = {}


def _over_units(labels: Flags, above: Floats, below: Floats, units: Units) -> _UnitError | None:
    """DeLong's error, or that over units of the linearised values of the items; None with too few units.

    An AUC is the mean of n/m · (share of the others below) over m positives, and 1 minus that of the others: every
    item's deviation, weighted so, sums up to that of the AUC.
    """
    if not units.codes:
        return _UnitError(_error(above, below))
    values = np.empty(labels.size)
    values[labels] = (above - above.mean()) * labels.size / above.size
    values[~labels] = (below.mean() - below) * labels.size / below.size
    if (error := sampling_error(values, units)) is None:
        return None
    known = {"unit": units.tag, "design_effect": error.design_effect, "df": error.df}
    return _UnitError(math.sqrt(error.variance), error.df, f" over {units.label}", known)


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
