"""Bias scores: the share of pairs whose stereotyping sentence scores higher, in percent; contrasts; pooled shares.

A share pooled over items counts trials, such as the tokens of a pair, which come from two nearly equal sentences and
are not independent. It is Σ hits / Σ trials, a ratio of two sums over pairs; its interval is that of the mean of its
linearised values, one per pair (Cochran 1977, Sampling Techniques, §6.8).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import binomtest, fisher_exact, mannwhitneyu, ttest_ind
from statsmodels.stats.proportion import confint_proportions_2indep

from unmask.core.errors import StatsError
from unmask.core.estimate import NAN, Estimate, Value
from unmask.core.statistic import BALANCED
from unmask.core.types import Floats
from unmask.stats.bootstrap import NO_CHANGE, NO_SPREAD
from unmask.stats.directions import balanced_share, balanced_test, has_both, is_directed, is_unbalanced
from unmask.stats.intervals import (
    mean,
    mean_interval,
    mean_test,
    mover_interval,
    upper_tail,
    wilson_ends,
    without_interval,
)
from unmask.stats.table import Flags, ScoreTable
from unmask.stats.units import INDEPENDENT, SamplingError, Units, plural, sampling_error, units_of, units_of_items

ROUNDING = 1e-9  # points: two shares that differ by less are the same
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
    """Bias score overall, by category and by direction, then the statistics derived from directions.

    Where directions are unbalanced, the mean of the two comes first.
    """
    balanced = [balanced_score(part, group=group) for group, part in balanced_groups(table)]
    return [
        *(each for each in balanced if each.group == "all"),
        *(bias_score(part, group=group) for group, part in table.all_and_categories()),
        *(each for each in balanced if each.group != "all"),
        *(bias_score(part, group=group) for group, part in table.split_by("direction")),
        *_direction_scores(table),
    ]


def bias_score(table: ScoreTable, *, group: str) -> Estimate:
    """100 × wins / pairs (Kaneko & Bollegala 2022, eq. 6), ties counted in the denominator as not won."""
    return _share(table, group=group, statistic="bias-score", counted=table.is_counted)


def balanced_groups(table: ScoreTable) -> Iterator[tuple[str, ScoreTable]]:
    """Group `all` and the categories, as far as one direction has most of their pairs.

    Where that is so of all pairs, also the other categories with both directions: they are shown and tested together.
    Pairs without a direction are left out.
    """
    groups = [(group, part, part.labels["direction"][part.is_counted]) for group, part in table.all_and_categories()]
    has_mean = has_both if is_unbalanced(groups[0][2]) else is_unbalanced
    for group, part, directions in groups:
        if has_mean(directions):
            yield group, part.take(is_directed(part.labels["direction"]))


def balanced_score(table: ScoreTable, *, group: str) -> Estimate:
    """The mean of the bias scores of the two directions."""
    rows, null = table.take(table.is_counted), table.measure.null
    decided = table.take(table.wins | table.losses)
    value = balanced_share(rows.wins, rows.labels["direction"], rows.units)
    p = None
    if null is not None:
        p = balanced_test(decided.wins, decided.labels["direction"], decided.units, null=null)
    return table.estimate(value, f"{BALANCED}bias-score", group, null=null, n=rows.items.size, p=p)


def share_gap(first: ScoreTable, second: ScoreTable) -> Contrast:
    """Bias score of the first minus that of the second: Newcombe's interval, Fisher's exact test.

    Where pairs share a unit, Newcombe's interval is made of the intervals of both scores over units, as if no unit
    had pairs in both, and the test is that of the difference over all units.
    """
    first, second = (part.take(part.is_counted) for part in (first, second))
    scores = [bias_score(part, group="all") for part in (first, second)]
    wins, n, other_wins, other_n = (
        number
        for part, score in zip((first, second), scores, strict=True)
        for number in (int(part.wins.sum()), score.n)
    )
    gap = share_contrast(wins, n, other_wins, other_n)
    if not (n and other_n) or all(part.units.independent for part in (first, second)):
        return gap
    a, b = scores
    found = mover_interval(b, a)
    if not (a.has_interval and b.has_interval):
        return Contrast(found.value, method=a.method if not a.has_interval else b.method)
    unit = first.units.tag
    method = f"newcombe over {plural(unit, 2)}" if unit else "newcombe"
    return Contrast(found.value, found.low, found.high, method, _gap_test(first, second), unit=unit).widen()


def _gap_test(first: ScoreTable, second: ScoreTable) -> float | None:
    """The p-value of equal bias scores over the units of both parts: Student's, of the linearised difference."""
    n = first.items.size + second.items.size
    columns = []
    for sign, part in ((1, first), (-1, second)):
        wins = part.wins.astype(np.float64)
        columns.append(sign * (wins - wins.mean()) * n / wins.size)
    gap = first.wins.mean() - second.wins.mean()
    labels = {name: np.concatenate([first.labels[name], second.labels[name]]) for name in first.labels}
    return mean_test(np.concatenate(columns) + gap, 0.0, units_of(labels))


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


def unit_sign_test(table: ScoreTable, *, null: float = 50.0) -> float | None:
    """The sign test of the decided pairs; where they share units, Student's with the variance under the null.

    That variance is the binomial one times the design effect.
    """
    decided = table.take(table.wins | table.losses)
    units, wins = decided.units, decided.wins.astype(np.float64)
    if units.independent or not wins.size:
        return sign_test(int(wins.sum()), wins.size - int(wins.sum()), null=null)
    if not np.ptp(wins):  # the units as single decisions
        fewest = min(units.counts)
        return sign_test(*((fewest, 0) if wins[0] else (0, fewest)), null=null)
    if (error := sampling_error(wins, units)) is None:
        return None
    expected = null / 100
    deviation = math.sqrt(expected * (1 - expected) * error.design_effect / wins.size)
    return 2 * upper_tail(abs(wins.mean() - expected) / deviation, error.df)


def wilson(wins: int, n: int) -> Value:
    """A share in percent, with Wilson's (1927) 95% interval."""
    if not n:
        return Value(NAN, method=NOTHING_SCORED)
    low, high = wilson_ends(wins / n, n)
    return Value(100 * wins / n, 100 * low, 100 * high, "wilson").widen()


def unit_share(wins: Flags, units: Units) -> Value:
    """A share in percent of items that share units: Wilson's interval with as many items as they are worth.

    n over the design effect is that number (Kish 1965; Korn & Graubard 1998), and Student's quantile is that of the
    units. If all items or none count, every unit is one item.
    """
    n, share = wins.size, mean(wins.astype(np.float64))
    if units.independent or not n:
        return replace(wilson(int(wins.sum()), n), unit=units.tag)
    method, error = f"wilson over {units.label}", sampling_error(wins.astype(np.float64), units)
    if share in (0.0, 1.0):
        fewest = min(units.counts)
        error = SamplingError(NAN, max(1, fewest - 1), n / fewest)
    elif error is None:
        return Value(100 * share, method=without_interval(units), unit=units.tag)
    low, high = wilson_ends(share, n / error.design_effect, error.df)
    effect = error.design_effect if math.isfinite(error.variance) else None
    found = Value(100 * share, 100 * low, 100 * high, method, unit=units.tag, design_effect=effect, df=error.df)
    return found.widen()


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
            scores.append(_share(part, group="all", statistic=statistic, counted=part.wins | part.losses))
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


def _share(table: ScoreTable, *, group: str, statistic: str, counted: Flags) -> Estimate:
    """The share of wins among the rows counted."""
    rows, null = table.take(counted), table.measure.null
    p = None if null is None else unit_sign_test(table, null=null)
    return table.estimate(unit_share(rows.wins, rows.units), statistic, group, null=null, n=rows.items.size, p=p)


@dataclass(frozen=True, slots=True)
class HitCounts:
    """Hits and trials of each item, and what items share; every item has at least one trial."""

    hits: Floats
    trials: Floats
    units: Units = INDEPENDENT

    @classmethod
    def of(cls, items: Iterable[tuple[int, int]], groups: Sequence[Mapping[str, str]] = ()) -> HitCounts:
        """From (hits, trials) of each item, those without trials dropped, and the group columns that name its unit."""
        every = list(items)
        rows = np.array([item for item in every if item[1]], dtype=np.float64).reshape(-1, 2)
        if not groups:
            return cls(rows[:, 0], rows[:, 1])
        own = [group for (_, trials), group in zip(every, groups, strict=True) if trials]
        return cls(rows[:, 0], rows[:, 1], units_of_items(own))

    @property
    def share(self) -> float:
        """100 × all hits / all trials; NaN without trials."""
        return 100 * float(self.hits.sum() / self.trials.sum()) if self.trials.size else float("nan")

    def linearised_values(self) -> Floats:
        """One value per item; their mean is the share."""
        values: Floats = self.share + (100 * self.hits - self.share * self.trials) / self.trials.mean()
        return values


def share_interval(counts: HitCounts, *, rng: np.random.Generator, unit: str = "pairs") -> Value:
    """The pooled share with its interval over units; `unit` names the items if they are independent.

    Wilson's if every item has one trial. Also if all trials or none are hits, counting each unit as one
    trial, because resampling would give an interval of zero width.
    """
    n, share, units = counts.trials.size, counts.share, counts.units
    if (counts.trials == 1).all() or (share in (0.0, 100.0) and not units.independent):
        return replace(unit_share(counts.hits > 0, units), value=share)
    if share in (0.0, 100.0):
        return replace(wilson(n if share else 0, n), method=f"wilson over {n} {unit}")
    found = mean_interval(counts.linearised_values(), rng=rng, unit=unit, units=units)
    return replace(found, value=share).clip(0.0, 100.0)


def difference_interval(first: HitCounts, second: HitCounts, *, rng: np.random.Generator, unit: str = "pairs") -> Value:
    """First − second with its interval, two pooled shares over the same items in the same order."""
    if first.trials.size != second.trials.size:
        raise StatsError(f"{first.trials.size} {unit} against {second.trials.size}: expected the same {unit}")
    difference = first.share - second.share
    if not first.trials.size:
        return Value(difference, method=NOTHING_SCORED)
    gaps = _gaps(first, second)
    if not gaps.any():
        return Value(difference, 0.0, 0.0, NO_CHANGE, unit=first.units.tag)
    found = mean_interval(gaps, rng=rng, unit=unit, units=first.units)
    return replace(found, value=difference).clip(-100.0, 100.0)


def difference_test(first: HitCounts, second: HitCounts) -> float | None:
    """Two-sided p-value of equal shares over the same items: Student's over units, of the values of the interval.

    McNemar's test over trials would take the tokens of a pair for independent. None if no item differs, or with too
    few units.
    """
    gaps = _gaps(first, second)
    return mean_test(gaps, 0.0, first.units) if gaps.any() else None


def _gaps(first: HitCounts, second: HitCounts) -> Floats:
    """One value per item; their mean is the difference of the shares. All 0 if they are so but for rounding."""
    if not first.trials.size:
        return np.zeros(0)
    gaps = first.linearised_values() - second.linearised_values()
    return gaps if np.abs(gaps).max() >= ROUNDING else np.zeros_like(gaps)
