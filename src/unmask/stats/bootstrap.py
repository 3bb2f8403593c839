"""Bootstrap intervals by `scipy.stats.bootstrap`, with bounded memory and time."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import DegenerateDataWarning, bootstrap

from unmask.core.types import Floats

RESAMPLES = 2_000
MAX_BCA_UNITS = 1_000  # above this the BCa correction is smaller than the noise of the resamples
BATCH_CELLS = 100_000  # numbers resampled per batch, so that they fit the CPU cache
NO_CHANGE = "no change"  # method of an interval when two runs agree on every unit
NO_SPREAD = "no spread"  # prefix of the method when all units have one value

Statistic = Callable[..., Floats]  # columns, axis → values


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95% interval and its method; the ends are NaN where no interval exists."""

    low: float
    high: float
    method: str

    def widen_to(self, value: float) -> Interval:
        """The interval, widened if necessary to contain `value`."""
        return Interval(min(self.low, value), max(self.high, value), self.method)

    def clip(self, least: float, most: float) -> Interval:
        """The interval, clipped to the scale: Student's interval of few units may exceed it."""
        low, high = np.clip([self.low, self.high], least, most).tolist()
        return Interval(low, high, self.method)


def no_interval(method: str) -> Interval:
    """An empty interval; `method` states the reason."""
    return Interval(float("nan"), float("nan"), method)


def bootstrap_ends(
    columns: tuple[Floats, ...], statistic: Statistic, *, rng: np.random.Generator
) -> tuple[Floats, Floats, str]:
    """Lower ends, upper ends and the method, for each value of the statistic.

    Columns of equal length are resampled jointly; the statistic maps them to an array whose last axis
    runs over the resamples. BCa up to `MAX_BCA_UNITS` units; percentile above, and where BCa is undefined.
    """
    batch = max(1, BATCH_CELLS // sum(column.size for column in columns))
    with warnings.catch_warnings():  # a degenerate resample makes the ends NaN or infinite
        warnings.simplefilter("ignore", DegenerateDataWarning)
        percentile = bootstrap(
            columns,
            statistic,
            axis=-1,
            paired=len(columns) > 1,
            vectorized=True,
            n_resamples=RESAMPLES,
            batch=batch,
            method="percentile",
            rng=rng,
        )
    low, high = (
        np.asarray(percentile.confidence_interval.low),
        np.asarray(percentile.confidence_interval.high),
    )
    if columns[0].shape[-1] > MAX_BCA_UNITS:
        return low, high, "percentile"
    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
        warnings.simplefilter("ignore", DegenerateDataWarning)
        bca = bootstrap(
            columns,
            statistic,
            axis=-1,
            paired=len(columns) > 1,
            vectorized=True,
            n_resamples=0,
            batch=batch,
            method="bca",
            bootstrap_result=percentile,
        ).confidence_interval
    undefined = np.isnan(bca.low) | np.isnan(bca.high)
    method = "percentile" if undefined.any() else "bca"
    return np.where(undefined, low, bca.low), np.where(undefined, high, bca.high), method
