"""Comparison of a subset of pairs with the rest, and of two groups of numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import mannwhitneyu, ttest_ind

from unmask.core.estimate import Estimate, Value
from unmask.core.types import Floats
from unmask.stats.bootstrap import NO_SPREAD
from unmask.stats.means import mean
from unmask.stats.shares import NOTHING_SCORED, Contrast, bias_score, share_gap
from unmask.stats.table import Flags, ScoreTable


@dataclass(frozen=True, slots=True)
class SubsetComparison:
    """Bias scores of a subset and of the other pairs; `change` is the effect of leaving the subset out."""

    inside: Estimate
    others: Estimate
    change: Value
    p: float | None  # of inside against others: Fisher's exact test


def compare_subset(table: ScoreTable, inside: Flags) -> SubsetComparison:
    """Bias scores of the pairs inside the subset and of the others.

    The overall score is the mean of the two weighted by size, so leaving the subset out changes it by
    its share × (others − inside): Newcombe's interval of that difference, times the share.
    """
    subset, rest = table.take(inside), table.take(~inside)
    gap = share_gap(rest, subset)
    first, second = bias_score(subset, group="inside"), bias_score(rest, group="others")
    share = first.n / max(1, first.n + second.n)
    change = Value(share * gap.value, share * gap.low, share * gap.high, gap.method)
    return SubsetComparison(first, second, change, gap.p)


def contrast(first: Floats, second: Floats) -> Contrast:
    """Mean of the first minus mean of the second: Welch's interval, the Mann–Whitney test of ranks."""
    value = mean(first) - mean(second)
    if not (first.size and second.size):
        return Contrast(value, method=NOTHING_SCORED)
    p = float(mannwhitneyu(first, second).pvalue)
    if min(first.size, second.size) < 2:
        return Contrast(value, method="too few: one item in a group", p=p)
    if not (np.ptp(first) and np.ptp(second)):
        return Contrast(value, method=f"{NO_SPREAD}: the items of a group are alike", p=p)
    ends = ttest_ind(first, second, equal_var=False).confidence_interval()
    return Contrast(value, float(ends.low), float(ends.high), "welch", p)
