"""Intervals and tests: of means, and of shares by the score test.

The interval of a mean has the outer ends of Student's and of the studentised bootstrap (bootstrap-t; Efron & Tibshirani
1993, §12.5): Student's covers means of heavy-tailed values, the bootstrap those of skewed ones, and where values are
neither they agree. Below 8 units, and above 1,000, where the bootstrap would only add noise, it is Student's alone.

A score interval has the values that a test with the variance under the value itself does not reject. It holds its level
near 0 and 100% and with rare events, where a mean plus or minus its error does not. The number of items may be a
fraction: what items that share units are worth, n over the design effect, with the degrees of freedom of the units.

Items that share a unit (see `units.py`) are not independent: the variance is then that over units, units are
resampled whole, and the method names them. Means over words × templates have Student's interval over both.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import stdtr, stdtrit

from unmask.core.estimate import NAN, Value
from unmask.core.statistic import LEVEL
from unmask.core.types import Floats
from unmask.stats.bootstrap import MAX_BOOTSTRAP_UNITS, NO_CHANGE, NO_SPREAD, studentised_ends
from unmask.stats.units import INDEPENDENT, MIN_CROSSED, SamplingError, Units, sampling_error


def quantile(level: float, df: float | None = None) -> float:
    """The value below which this share of the distribution lies."""
    return float(stdtrit(math.inf if df is None else df, level))


def critical(df: float | None = None) -> float:
    """The quantile beyond which a two-sided test at the level `LEVEL` rejects; the half width of an interval."""
    return quantile(1 - LEVEL / 2, df)


def upper_tail(score: float, df: float | None = None) -> float:
    """The probability of a value above the score."""
    return float(stdtr(math.inf if df is None else df, -score))


CROSSED = ("appd", "association")  # statistics that are means over words × templates
MIN_BOOTSTRAP_UNITS = 8  # with fewer, resamples of one value are too frequent
STEPS = 60  # of the bisection of a score interval: to the last digit
MAX_STRETCH = 3.0  # times Student's: beyond it, resamples of nearly equal values decide, not skewness


def mean(values: Floats) -> float:
    """The mean; NaN for no values."""
    with np.errstate(invalid="ignore"):  # both infinities
        return float(np.mean(values)) if values.size else float("nan")


def mean_interval(values: Floats, *, rng: np.random.Generator, unit: str = "", units: Units = INDEPENDENT) -> Value:
    """The mean with its interval: of independent values, which `unit` names in the method, or of items in `units`."""
    n, value, named = values.size, mean(values), unit or "items"
    if n < 2:
        return Value(value, method=f"too few: {n} {named}", unit=units.tag)
    if not np.isfinite(values).all():
        return Value(value, method="infinite scores", unit=units.tag)
    if not _vary(values):
        return Value(value, method=f"{NO_SPREAD}: {n} {named} alike", unit=units.tag)
    error = sampling_error(values, units)
    if error is None:
        return Value(value, method=without_interval(units), unit=units.tag)
    ends, method = student_ends(value, error), "t"
    if (resampled := _bootstrap_ends(values, units, rng)) is not None:
        farthest = [value + MAX_STRETCH * (end - value) for end in ends]
        low, high = max(farthest[0], resampled[0]), min(farthest[1], resampled[1])
        ends, method = (min(ends[0], low), max(ends[1], high)), "bootstrap-t"
    over = units.label or (f"{n} {unit}" if unit else "")
    named = f"{method} over {over}" if over else method
    return Value(value, *ends, named, unit=units.tag, design_effect=design_effect(error, units), df=error.df)


def mean_test(values: Floats, null: float, units: Units = INDEPENDENT) -> float | None:
    """Two-sided p-value of a mean against its null value: Student's, over units.

    Wilcoxon's test has another null hypothesis, symmetry about the null value: with enough pairs it
    rejects skewed differences of mean zero. The t test is about the reported mean, as the interval is.
    None with fewer than two units, or without spread.
    """
    if values.size < 2 or not _vary(values) or (error := sampling_error(values, units)) is None:
        return None
    return 2 * upper_tail(abs(mean(values) - null) / math.sqrt(error.variance), error.df)


def crossed_mean(
    values: Floats, units: Units, *, rng: np.random.Generator, null: float = 0.0
) -> tuple[Value, float | None]:
    """The mean and its p-value against the null; all values at the null are no change."""
    if len(units.codes) == 2 and values.size and not (values - null).any():
        return Value(mean(values), null, null, NO_CHANGE, unit=units.tag), None
    return mean_interval(values, rng=rng, units=units), mean_test(values, null, units)


def student_ends(value: float, error: SamplingError) -> tuple[float, float]:
    """Student's interval of a value with this sampling error."""
    half = critical(error.df) * math.sqrt(error.variance)
    return value - half, value + half


def mover_interval(a: Value, b: Value) -> Value:
    """B − a with the interval that both have, as if they were independent (MOVER, Zou & Donner 2008); NaN without."""
    change = b.value - a.value
    low = change - math.hypot(b.value - b.low, a.high - a.value)
    return Value(change, low, change + math.hypot(b.high - b.value, a.value - a.low), "MOVER")


def design_effect(error: SamplingError, units: Units) -> float | None:
    """The design effect that stands beside an interval; None if items are independent."""
    return None if units.independent else error.design_effect


def without_interval(units: Units) -> str:
    """Why there is no interval over these units."""
    if len(units.codes) == 2 and min(units.counts) < MIN_CROSSED:
        return f"too few: {units.label}, expected at least {MIN_CROSSED} of each"
    few = not units.independent and min(units.counts) < 2
    return f"too few: {units.label}" if few else f"{NO_SPREAD}: {units.label or 'items'} alike"


def _bootstrap_ends(values: Floats, units: Units, rng: np.random.Generator) -> tuple[float, float] | None:
    """The ends of the studentised bootstrap over units; None where it does not help or is undefined."""
    if len(units.codes) > 1:
        return None
    sums, sizes = values, np.ones(values.size)
    if units.codes:
        (codes,) = units.codes
        sums, sizes = (np.bincount(codes, weights).astype(np.float64) for weights in (values, sizes))
    if not MIN_BOOTSTRAP_UNITS <= sums.size <= MAX_BOOTSTRAP_UNITS:
        return None
    return studentised_ends(sums, sizes, rng=rng)


def _vary(values: Floats) -> bool:
    """Whether the values are finite and differ by more than rounding errors."""
    return bool(np.isfinite(values).all() and np.ptp(values) > 1e-12 * np.abs(values).max())


def wilson_ends(share: float, n: float, df: float = math.inf) -> tuple[float, float]:
    """Ends of a share of n items (Wilson 1927)."""
    square = critical(df) ** 2
    middle = share + square / (2 * n)
    half = math.sqrt(square) * math.sqrt(share * (1 - share) / n + square / (4 * n**2))
    return max(0.0, (middle - half) / (1 + square / n)), min(1.0, (middle + half) / (1 + square / n))


def paired_ends(gained: float, lost: float, n: float, df: float = math.inf) -> tuple[float, float]:
    """Ends of (gained − lost) / n: the difference of two shares of the same n items (Tango 1998).

    `gained` items count in the second share only, `lost` ones in the first only.
    """
    limit = critical(df)
    value = (gained - lost) / n
    low = _bisect(lambda difference: _tango(gained, lost, n, difference) > limit, -1.0, value)
    high = _bisect(lambda difference: _tango(gained, lost, n, difference) < -limit, 1.0, value)
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
