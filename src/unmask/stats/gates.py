"""Is a candidate worse than its baseline beyond noise? What continuous integration asks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unmask.core.errors import StatsError
from unmask.core.types import Floats, Measure, Row
from unmask.stats.bootstrap import NO_CHANGE, NO_SPREAD, Interval, generator
from unmask.stats.compare import Change, GateResult, change
from unmask.stats.crossed import CROSSED, crossed_mean
from unmask.stats.means import mean, mean_interval
from unmask.stats.pairing import STATISTICS, PairedRuns, paired_groups, unit_of


def gate(
    measure: Measure,
    baseline: Sequence[Row],
    candidate: Sequence[Row],
    *,
    data: str,
    rng_seed: int,
    tolerance: float = 0.0,
) -> GateResult:
    """Judge the headline over the items both runs scored: worse when the low end exceeds `tolerance`."""
    statistic = STATISTICS[measure.summary][0]
    _, whole = next(paired_groups(measure, baseline, candidate, data=data))
    pair = whole.restrict_to(statistic)
    found = worsening(pair, statistic, rng=generator(rng_seed, "all"))
    return GateResult(
        measure=measure.name,
        data=data,
        statistic=statistic,
        a_value=found.a,
        b_value=found.b,
        null=measure.null,
        worsening=found.value,
        low=found.interval.low,
        high=found.interval.high,
        tolerance=tolerance,
        n=pair.a.items.size,
        left_out=pair.left_out,
        method=found.interval.method,
        worse=found.interval.low > tolerance,
    )


def worsening(pair: PairedRuns, statistic: str, *, rng: np.random.Generator) -> Change:
    """How much worse b is than a, in the statistic's own sense of worse (see `GateResult`)."""
    if statistic in ("bias-score", "ss", *CROSSED):
        return _distance(pair, statistic, rng)
    found = change(pair, statistic, rng=rng)
    if statistic == "asld":
        return found
    ends = found.interval
    return found._replace(value=-found.value, interval=Interval(-ends.high, -ends.low, ends.method))


def _distance(pair: PairedRuns, statistic: str, rng: np.random.Generator) -> Change:
    """|b − null| − |a − null|, by an interval that the kinks at the null cannot upset.

    With B = b − null and A = a − null it is the greatest, over the sign s, of the least, over the sign t,
    of sB + tA, and as well the least of the greatest. These are plain means; the low end is had the first
    way from their low ends, the high end the second way, which is the wider choice. (Simulated on
    CrowS-Pairs' size this raises 2.7% false alarms at most; BCa of the distance itself up to 8%.)
    """
    null = _null(pair.a.measure)
    a, b = pair.values(statistic)
    value = abs(mean(b) - null) - abs(mean(a) - null)
    if not (b - a).any():
        return Change(mean(a), mean(b), 0.0, Interval(0.0, 0.0, NO_CHANGE), None)
    less, plus = (_plain(column, pair, statistic, rng) for column in (b - a, a + b - 2 * null))
    low = max(min(less.low, plus.low), min(-less.high, -plus.high))
    high = min(max(less.high, -plus.low), max(plus.high, -less.low))
    return Change(mean(a), mean(b), value, Interval(low, high, less.method).widen_to(value), None)


def _plain(values: Floats, pair: PairedRuns, statistic: str, rng: np.random.Generator) -> Interval:
    """Interval of a mean, which shrinks to the mean itself where nothing varies."""
    if statistic in CROSSED:
        return crossed_mean(values, pair.a, rng=rng)[0]
    interval = mean_interval(values, rng=rng, unit=unit_of(statistic))
    if interval.method.startswith(NO_SPREAD):
        return Interval(mean(values), mean(values), interval.method)
    return interval


def _null(measure: Measure) -> float:
    if measure.null is None:
        raise StatsError(f"{measure.name} has no null value to be worse against; gate on another measure")
    return measure.null
