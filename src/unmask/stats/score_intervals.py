"""Score intervals: the values that a test with the variance under the value itself does not reject.

They hold their level near 0 and 100% and with rare events, where a mean plus or minus its error does not. The number
of items may be a fraction: what items that share units are worth, n over the design effect, with the degrees of
freedom of the units.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from unmask.core.estimate import NAN, Value
from unmask.core.types import Floats
from unmask.stats.means import without_interval
from unmask.stats.student import quantile, upper_tail
from unmask.stats.units import SamplingError, Units, sampling_error

ALPHA = 0.05
STEPS = 60  # of the bisection: to the last digit


def wilson_ends(share: float, n: float, df: float = math.inf) -> tuple[float, float]:
    """Ends of a share of n items (Wilson 1927)."""
    square = quantile(1 - ALPHA / 2, df) ** 2
    middle = share + square / (2 * n)
    half = math.sqrt(square) * math.sqrt(share * (1 - share) / n + square / (4 * n**2))
    return max(0.0, (middle - half) / (1 + square / n)), min(1.0, (middle + half) / (1 + square / n))


def paired_ends(gained: float, lost: float, n: float, df: float = math.inf) -> tuple[float, float]:
    """Ends of (gained − lost) / n: the difference of two shares of the same n items (Tango 1998).

    `gained` items count in the second share only, `lost` ones in the first only.
    """
    critical = quantile(1 - ALPHA / 2, df)
    value = (gained - lost) / n
    low = _bisect(lambda difference: _tango(gained, lost, n, difference) > critical, -1.0, value)
    high = _bisect(lambda difference: _tango(gained, lost, n, difference) < -critical, 1.0, value)
    return low, high


def paired_interval(changes: Floats, units: Units) -> Value:
    """The mean of changes of −100, 0 or 100 points, such as those of wins in two runs, with Tango's interval.

    If all changes are alike, their design effect is unknown and every unit is one item.
    """
    n = changes.size
    if n < 2:
        return Value(float(changes[0]) if n else NAN, method=f"too few: {n} items", unit=units.tag)
    value, fewest = float(np.mean(changes)), min(units.counts, default=n)
    error = sampling_error(changes, units)
    known = error is not None
    if error is None and np.ptp(changes):
        return Value(value, method=without_interval(units), unit=units.tag)
    if error is None:
        error = SamplingError(NAN, max(1, fewest - 1) if units.codes else math.inf, n / fewest)
    worth, df = n / error.design_effect, error.df if units.codes else math.inf
    gained, lost = (worth * float(np.mean(side)) for side in (changes > 0, changes < 0))
    low, high = paired_ends(gained, lost, worth, df)
    method = f"score over {units.label}" if units.codes else "score"
    effect = error.design_effect if known and units.codes else None
    df_known = error.df if units.codes else None
    return Value(value, 100 * low, 100 * high, method, unit=units.tag, design_effect=effect, df=df_known).widen()


def paired_test(changes: Floats, units: Units) -> float | None:
    """McNemar's test over units: did as many items gain as lost? None without changes or with too few units."""
    error = sampling_error(changes, units)
    if error is None:
        return None
    flipped = float(np.abs(changes).sum())
    score = abs(float(changes.sum())) / math.sqrt(flipped * 100 * error.design_effect)
    return 2 * upper_tail(score, error.df)


def _tango(gained: float, lost: float, n: float, difference: float) -> float:
    """The score statistic of the hypothesis that the difference is so much."""
    b = -gained - lost + (2 * n - gained + lost) * difference
    root = math.sqrt(max(0.0, b**2 + 8 * n * lost * difference * (1 - difference)))
    share_lost = (root - b) / (4 * n)  # by maximum likelihood under the hypothesis
    variance = n * (2 * share_lost + difference * (1 - difference))
    surplus = gained - lost - n * difference
    if variance <= 0:
        return 0.0 if surplus == 0 else math.copysign(math.inf, surplus)
    return surplus / math.sqrt(variance)


def _bisect(is_rejected: Callable[[float], bool], outer: float, inner: float) -> float:
    """The border between values that are rejected, at the outer end, and those that are not."""
    if not is_rejected(outer):
        return outer
    for _ in range(STEPS):
        middle = (outer + inner) / 2
        outer, inner = (middle, inner) if is_rejected(middle) else (outer, middle)
    return inner
