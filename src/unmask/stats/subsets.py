"""Comparison of a subset of pairs with the rest, and of two groups of numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import fisher_exact, mannwhitneyu, ttest_ind
from statsmodels.stats.proportion import confint_proportions_2indep

from unmask.core.estimate import Estimate
from unmask.core.types import Floats
from unmask.stats.bootstrap import NO_SPREAD, Interval, no_interval
from unmask.stats.means import mean
from unmask.stats.shares import NOTHING_SCORED, bias_score
from unmask.stats.table import Flags, ScoreTable


@dataclass(frozen=True, slots=True)
class SubsetComparison:
    """Bias scores of a subset and of the other pairs; `change` is the effect of leaving the subset out."""

    inside: Estimate
    others: Estimate
    change: float
    low: float
    high: float
    method: str
    p: float | None  # of inside against others: Fisher's exact test


@dataclass(frozen=True, slots=True)
class Contrast:
    """A difference with its interval, and a test of no difference."""

    value: float
    low: float
    high: float
    method: str
    p: float | None


def compare_subset(table: ScoreTable, inside: Flags) -> SubsetComparison:
    """Bias scores of the pairs inside the subset and of the others.

    The overall score is the mean of the two weighted by size, so leaving the subset out changes it by
    its share × (others − inside): Newcombe's interval of that difference, times the share.
    """
    subset, rest = table.take(inside), table.take(~inside)
    gap = share_gap(rest, subset)
    first, second = bias_score(subset, group="inside"), bias_score(rest, group="others")
    share = first.n / max(1, first.n + second.n)
    return SubsetComparison(
        first, second, share * gap.value, share * gap.low, share * gap.high, gap.method, gap.p
    )


def share_gap(first: ScoreTable, second: ScoreTable) -> Contrast:
    """Bias score of the first minus that of the second: Newcombe's interval, Fisher's exact test."""
    first_score, second_score = bias_score(first, group="first"), bias_score(second, group="second")
    value = first_score.value - second_score.value
    if not (first_score.n and second_score.n):
        return Contrast(value, float("nan"), float("nan"), NOTHING_SCORED, None)
    wins = int(first.wins.sum()), int(second.wins.sum())
    ends = confint_proportions_2indep(
        wins[0], first_score.n, wins[1], second_score.n, method="newcomb", compare="diff"
    )
    interval = Interval(100 * float(ends[0]), 100 * float(ends[1]), "newcombe").widen_to(value)
    counts = np.array([[wins[0], first_score.n - wins[0]], [wins[1], second_score.n - wins[1]]])
    return Contrast(value, interval.low, interval.high, interval.method, float(fisher_exact(counts).pvalue))


def contrast(first: Floats, second: Floats) -> Contrast:
    """Mean of the first minus mean of the second: Welch's interval, the Mann–Whitney test of ranks."""
    value = mean(first) - mean(second)
    if not (first.size and second.size):
        return Contrast(value, float("nan"), float("nan"), NOTHING_SCORED, None)
    interval = _welch(first, second)
    p = float(mannwhitneyu(first, second).pvalue)
    return Contrast(value, interval.low, interval.high, interval.method, p)


def _welch(first: Floats, second: Floats) -> Interval:
    if min(first.size, second.size) < 2:
        return no_interval("too few: one item in a group")
    if not (np.ptp(first) and np.ptp(second)):
        return no_interval(f"{NO_SPREAD}: the items of a group are alike")
    ends = ttest_ind(first, second, equal_var=False).confidence_interval()
    return Interval(float(ends.low), float(ends.high), "welch")
