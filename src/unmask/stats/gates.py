"""Regression gate for CI: is a candidate worse than its baseline by more than noise?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unmask.core.errors import StatsError
from unmask.core.estimate import Value
from unmask.core.seeds import generator
from unmask.core.types import Floats, Measure, Row
from unmask.stats.bootstrap import NO_CHANGE, NO_SPREAD
from unmask.stats.compare import Change, GateResult, change
from unmask.stats.crossed import CROSSED, crossed_mean
from unmask.stats.items import headline_statistic
from unmask.stats.means import mean, mean_interval
from unmask.stats.pairing import PairedRuns, paired_groups, unit_of


def gate(
    measure: Measure,
    baseline: Sequence[Row],
    candidate: Sequence[Row],
    *,
    data: str,
    rng_seed: int,
    tolerance: float = 0.0,
) -> GateResult:
    """Compare the headline over items both runs scored; worse if the low end exceeds `tolerance`."""
    statistic = headline_statistic(measure)
    _, whole = next(paired_groups(measure, baseline, candidate, data=data))
    pair = whole.restrict_to(statistic)
    result = worsening(pair, statistic, rng=generator(rng_seed, "all"))
    return GateResult(
        measure=measure.name,
        data=data,
        statistic=statistic,
        a_value=result.a,
        b_value=result.b,
        null=measure.null,
        worsening=result.difference.value,
        low=result.difference.low,
        high=result.difference.high,
        tolerance=tolerance,
        n=pair.a.items.size,
        left_out=pair.left_out,
        method=result.difference.method,
        worse=result.difference.low > tolerance,
    )


def worsening(pair: PairedRuns, statistic: str, *, rng: np.random.Generator) -> Change:
    """How much worse b is than a, in the statistic's own sense of worse (see `GateResult`)."""
    if statistic in ("bias-score", "ss", *CROSSED):
        return _distance(pair, statistic, rng)
    result = change(pair, statistic, rng=rng)
    if statistic == "asld":
        return result
    rise = result.difference
    return result._replace(difference=Value(-rise.value, -rise.high, -rise.low, rise.method))


def distance_interval(less: tuple[float, float], plus: tuple[float, float]) -> tuple[float, float]:
    """Ends for |B| − |A| from the intervals of B − A and of B + A; see `_distance`."""
    low = max(min(less[0], plus[0]), min(-less[1], -plus[1]))
    return low, min(max(less[1], -plus[0]), max(plus[1], -less[0]))


def _distance(pair: PairedRuns, statistic: str, rng: np.random.Generator) -> Change:
    """|b − null| − |a − null|, with an interval that is robust to the kinks at the null.

    With B = b − null and A = a − null it equals max over the sign s of min over the sign t of sB + tA, and
    also min max. Each sB + tA is a mean with an interval of its own; the low end is the max min of their
    low ends, the high end the min max of their high ends, which is the wider choice. (In simulations of
    CrowS-Pairs' size this has at most 2.7% false alarms; BCa of the distance itself up to 8%.)
    """
    null = _null(pair.a.measure)
    a, b = pair.values(statistic)
    value = abs(mean(b) - null) - abs(mean(a) - null)
    if not (b - a).any():
        return Change(mean(a), mean(b), Value(0.0, 0.0, 0.0, NO_CHANGE), None)
    less, plus = (_plain(column, pair, statistic, rng) for column in (b - a, a + b - 2 * null))
    low, high = distance_interval((less.low, less.high), (plus.low, plus.high))
    return Change(mean(a), mean(b), Value(value, low, high, less.method).widen(), None)


def _plain(values: Floats, pair: PairedRuns, statistic: str, rng: np.random.Generator) -> Value:
    """A mean with its interval, which has zero width if the values do not vary."""
    if statistic in CROSSED:
        return crossed_mean(values, pair.a, rng=rng)[0]
    found = mean_interval(values, rng=rng, unit=unit_of(statistic))
    return replace(found, low=found.value, high=found.value) if found.method.startswith(NO_SPREAD) else found


def _null(measure: Measure) -> float:
    if measure.null is None:
        raise StatsError(f"{measure.name} has no null value to compare with; gate on another measure")
    return measure.null
