"""Means with intervals and tests.

An interval has the outer ends of Student's and of the studentised bootstrap (bootstrap-t; Efron & Tibshirani 1993,
§12.5): Student's covers means of heavy-tailed values, the bootstrap those of skewed ones, and where values are neither
they agree. Below 8 units, and above 1,000, where the bootstrap would only add noise, it is Student's alone.

Items that share a unit (see `units.py`) are not independent: the variance is then that over units, units are
resampled whole, and the method names them. Means over words × templates have Student's interval over both.
"""

from __future__ import annotations

import math

import numpy as np

from unmask.core.estimate import Value
from unmask.core.types import Floats
from unmask.stats.bootstrap import MAX_BOOTSTRAP_UNITS, NO_CHANGE, NO_SPREAD, studentised_ends
from unmask.stats.student import quantile, upper_tail
from unmask.stats.units import INDEPENDENT, MIN_CROSSED, SamplingError, Units, sampling_error

CROSSED = ("appd", "association")  # statistics that are means over words × templates
MIN_BOOTSTRAP_UNITS = 8  # with fewer, resamples of one value are too frequent
MAX_STRETCH = 3.0  # times Student's: beyond it, resamples of nearly equal values decide, not skewness
ALPHA = 0.05


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
    half = quantile(1 - ALPHA / 2, error.df) * math.sqrt(error.variance)
    return value - half, value + half


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
