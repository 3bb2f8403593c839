"""Paired comparison of two runs: what changed, and is it worse?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from unmask.core.estimate import Value
from unmask.core.seeds import generator
from unmask.core.types import Floats, Measure, Row
from unmask.stats.bootstrap import NO_CHANGE
from unmask.stats.corrections import holm
from unmask.stats.crossed import CROSSED, crossed_mean
from unmask.stats.items import STATISTICS
from unmask.stats.mcnemar import cross_tabulate, mcnemar_p
from unmask.stats.means import mean, mean_interval, mean_test
from unmask.stats.pairing import PairedRuns, paired_groups, unit_of
from unmask.stats.triples import by_term, icat_change_interval, overall


@dataclass(frozen=True, slots=True)
class Comparison:
    """One statistic in two runs, over the items both have; `change` is b − a."""

    measure: str
    data: str
    group: str
    statistic: str
    a_value: float
    b_value: float
    change: float
    low: float
    high: float
    n: int
    flips: int  # items on which the runs disagree whether the stereotyping sentence wins
    left_out: int  # items in one run only, or not scored in both
    method: str
    p: float | None = None  # against no change
    p_holm: float | None = None  # over all comparisons passed to `apply_holm`
    run: int = 1  # index of run b among several

    @property
    def difference(self) -> Value:
        """The change with its interval."""
        return Value(self.change, self.low, self.high, self.method)


@dataclass(frozen=True, slots=True)
class GateResult:
    """How much worse b is than the baseline a, and whether that exceeds noise and tolerance.

    `worsening` is |b − null| − |a − null| for bias scores, ss, appd and association, b − a for asld, and
    a − b for lms and icat, of which more is better.
    """

    measure: str
    data: str
    statistic: str
    a_value: float
    b_value: float
    null: float | None
    worsening: float
    low: float
    high: float
    tolerance: float
    n: int
    left_out: int
    method: str
    worse: bool  # low > tolerance


class Change(NamedTuple):
    """A statistic in two runs, and b − a with its p-value."""

    a: float
    b: float
    difference: Value
    p: float | None


def comparisons(
    measure: Measure, a: Sequence[Row], b: Sequence[Row], *, data: str, rng_seed: int
) -> tuple[Comparison, ...]:
    """Every statistic that can be compared item by item, the headline (group `all`) first."""
    groups = list(paired_groups(measure, a, b, data=data))
    return tuple(
        _comparison(pair.restrict_to(statistic), statistic, group=group, seed=rng_seed)
        for statistic in STATISTICS[measure.summary]
        for group, pair in groups
    )


def apply_holm(uncorrected: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """The comparisons with `p_holm` over all of them: pass exactly those you test together."""
    adjusted = holm([comparison.p for comparison in uncorrected])
    return tuple(replace(comparison, p_holm=p) for comparison, p in zip(uncorrected, adjusted, strict=True))


def change(pair: PairedRuns, statistic: str, *, rng: np.random.Generator) -> Change:
    """The statistic's change from run a to run b over the items given."""
    if statistic == "icat":
        first, second = by_term(pair.a), by_term(pair.b)
        difference = icat_change_interval(first, second, rng=rng)
        return Change(overall(first).icat, overall(second).icat, difference, None)
    a, b = pair.values(statistic)
    if statistic in CROSSED:
        return Change(mean(a), mean(b), *crossed_mean(b - a, pair.a, rng=rng))
    p = _mcnemar(pair) if statistic == "bias-score" else mean_test(b - a, 0.0)
    return Change(mean(a), mean(b), _mean_change(b - a, rng, statistic), p)


def _mean_change(changes: Floats, rng: np.random.Generator, statistic: str) -> Value:
    if changes.size and not changes.any():
        return Value(0.0, 0.0, 0.0, NO_CHANGE)
    return mean_interval(changes, rng=rng, unit=unit_of(statistic))


def _comparison(pair: PairedRuns, statistic: str, *, group: str, seed: int) -> Comparison:
    result = change(pair, statistic, rng=generator(seed, group))
    return Comparison(
        measure=pair.a.measure.name,
        data=pair.a.data,
        group=group,
        statistic=statistic,
        a_value=result.a,
        b_value=result.b,
        change=result.difference.value,
        low=result.difference.low,
        high=result.difference.high,
        n=pair.a.items.size,
        flips=pair.flips,
        left_out=pair.left_out,
        method=result.difference.method,
        p=result.p,
    )


def _mcnemar(pair: PairedRuns) -> float | None:
    """McNemar's exact test: did equally many items flip in both directions? 1 if none flipped."""
    if not pair.a.items.size:
        return None
    p = mcnemar_p(cross_tabulate(pair.a.wins, pair.b.wins), exact=True)
    return 1.0 if p is None else p
