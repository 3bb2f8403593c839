"""Bias scores: the share of pairs whose stereotyping sentence scores higher, in percent; contrasts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import binomtest, fisher_exact, mannwhitneyu, ttest_ind
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from unmask.core.errors import StatsError
from unmask.core.estimate import NAN, Estimate, Value
from unmask.core.types import Floats
from unmask.stats.bootstrap import NO_SPREAD
from unmask.stats.means import mean
from unmask.stats.table import Flags, ScoreTable

NOTHING_SCORED = "none: nothing scored"
DISADVANTAGED, ADVANTAGED = "stereo", "antistereo"


@dataclass(frozen=True, slots=True)
class Contrast(Value):
    """A difference with its interval, and a test of no difference."""

    p: float | None = None


@dataclass(frozen=True, slots=True)
class SubsetComparison:
    """Bias scores of a subset and of the other pairs; `change` is the effect of leaving the subset out."""

    inside: Estimate
    others: Estimate
    change: Value
    p: float | None  # of inside against others: Fisher's exact test


def share_estimates(table: ScoreTable) -> list[Estimate]:
    """Bias score overall, by category and by direction, then the statistics derived from directions."""
    return [
        *(bias_score(part, group=group) for group, part in table.all_and_categories()),
        *(bias_score(part, group=group) for group, part in table.split_by("direction")),
        *_direction_scores(table),
    ]


def bias_score(table: ScoreTable, *, group: str) -> Estimate:
    """100 × wins / pairs (Kaneko & Bollegala 2022, eq. 6), ties counted in the denominator as not won."""
    return _share(table, group=group, statistic="bias-score", n=int(table.is_counted.sum()))


def share_gap(first: ScoreTable, second: ScoreTable) -> Contrast:
    """Bias score of the first minus that of the second: Newcombe's interval, Fisher's exact test."""
    wins, n = int(first.wins.sum()), int(first.is_counted.sum())
    return share_contrast(wins, n, int(second.wins.sum()), int(second.is_counted.sum()))


def share_contrast(wins: int, n: int, other_wins: int, other_n: int) -> Contrast:
    """The difference of two independent shares in points: Newcombe's interval, Fisher's exact test."""
    if not (n and other_n):
        return Contrast(NAN, method=NOTHING_SCORED)
    ends = confint_proportions_2indep(wins, n, other_wins, other_n, method="newcomb", compare="diff")
    low, high = 100 * float(ends[0]), 100 * float(ends[1])
    p = float(fisher_exact(np.array([[wins, n - wins], [other_wins, other_n - other_wins]])).pvalue)
    return Contrast(100 * wins / n - 100 * other_wins / other_n, low, high, "newcombe", p).widen()


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


def sign_test(wins: int, losses: int, *, null: float = 50.0) -> float | None:
    """Exact two-sided sign test of wins against losses, ignoring ties; None without wins and losses."""
    return float(binomtest(wins, wins + losses, null / 100).pvalue) if wins + losses else None


def wilson(wins: int, n: int) -> Value:
    """A share in percent, with Wilson's (1927) 95% interval."""
    if not n:
        return Value(NAN, method=NOTHING_SCORED)
    low, high = proportion_confint(wins, n, alpha=0.05, method="wilson")
    return Value(100 * wins / n, 100 * float(low), 100 * float(high), "wilson").widen()


def signed_estimate(estimate: Estimate) -> Estimate:
    """The estimate as its signed distance from the null: a bias score of 58 becomes +8."""
    if estimate.null is None:
        raise StatsError(f"{estimate.statistic} ({estimate.measure}) has no null value to subtract; use it as it is")
    return replace(
        estimate,
        statistic=f"signed-{estimate.statistic}",
        value=estimate.value - estimate.null,
        low=estimate.low - estimate.null,
        high=estimate.high - estimate.null,
        null=0.0,
    )


def _direction_scores(table: ScoreTable) -> list[Estimate]:
    """100 × wins / (wins + losses) by direction, as crows-pairs prints it, and the gap between directions.

    The gap is |advantaged − disadvantaged| bias score (Kaneko & Bollegala 2022, Table 3): Newcombe's (1998)
    interval of the signed difference, folded at zero; Fisher's exact test.
    """
    parts = dict(table.split_by("direction"))
    scores = []
    for direction, statistic in ((DISADVANTAGED, "stereo-score"), (ADVANTAGED, "antistereo-score")):
        if (part := parts.get(f"direction={direction}")) is not None:
            scores.append(_share(part, group="all", statistic=statistic, n=int(part.wins.sum() + part.losses.sum())))
    if len(scores) < 2:
        return scores
    advantaged, disadvantaged = (parts[f"direction={name}"] for name in (ADVANTAGED, DISADVANTAGED))
    signed = share_gap(advantaged, disadvantaged)
    counts = {
        "n": int(advantaged.is_counted.sum() + disadvantaged.is_counted.sum()),
        "ties": advantaged.n_ties + disadvantaged.n_ties,
        "unscored": advantaged.n_unscored + disadvantaged.n_unscored,
    }
    return [*scores, table.estimate(abs(signed), "direction-gap", "all", null=0.0, p=signed.p, **counts)]


def _share(table: ScoreTable, *, group: str, statistic: str, n: int) -> Estimate:
    wins, losses, null = int(table.wins.sum()), int(table.losses.sum()), table.measure.null
    p = None if null is None else sign_test(wins, losses, null=null)
    return table.estimate(wilson(wins, n), statistic, group, null=null, n=n, p=p)
