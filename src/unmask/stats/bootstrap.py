"""Bootstrap intervals by `scipy.stats.bootstrap`, within bounds of memory and time."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import DegenerateDataWarning, bootstrap

from unmask.core.types import Floats

RESAMPLES = 2_000
MAX_BCA_UNITS = 1_000  # units; beyond this what BCa corrects drowns in the noise of so many resamples
BATCH_CELLS = 100_000  # numbers drawn at a time: they stay in the processor's cache
NO_CHANGE = "no change"  # the method where two runs give the same on every unit
NO_SPREAD = "no spread"  # how the method begins where all units are alike

Statistic = Callable[..., Floats]  # columns, axis → values


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95% interval and how it was had; NaN ends where there can be none."""

    low: float
    high: float
    method: str

    def widen_to(self, value: float) -> Interval:
        """The same, widened where it must be to hold the value it belongs to."""
        return Interval(min(self.low, value), max(self.high, value), self.method)

    def clip(self, least: float, most: float) -> Interval:
        """The same, cut where the scale ends: Student's interval of few units may go beyond."""
        low, high = np.clip([self.low, self.high], least, most).tolist()
        return Interval(low, high, self.method)


def no_interval(method: str) -> Interval:
    """No interval, and why."""
    return Interval(float("nan"), float("nan"), method)


def generator(seed: int, label: str) -> np.random.Generator:
    """A generator of its own for every label, so that no estimate depends on which others are made."""
    return np.random.default_rng([seed, zlib.crc32(label.encode())])


def bootstrap_ends(
    columns: tuple[Floats, ...], statistic: Statistic, *, rng: np.random.Generator
) -> tuple[Floats, Floats, str]:
    """Low ends, high ends and the method, for every value of the statistic.

    Columns of equal length are resampled together; the statistic maps them to an array whose last axis
    runs over the resamples. BCa up to `MAX_BCA_UNITS` units; percentiles beyond, and where BCa is undefined.
    """
    batch = max(1, BATCH_CELLS // sum(column.size for column in columns))
    drawn = bootstrap(
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
    low, high = np.asarray(drawn.confidence_interval.low), np.asarray(drawn.confidence_interval.high)
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
            bootstrap_result=drawn,
        ).confidence_interval
    lacking = np.isnan(bca.low) | np.isnan(bca.high)
    method = "percentile" if lacking.any() else "bca"
    return np.where(lacking, low, bca.low), np.where(lacking, high, bca.high), method
