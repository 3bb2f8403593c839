"""All resampling: bootstrap intervals by scipy, and resampled means that scipy does not offer.

Memory and time are bounded: resamples are computed in batches.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
from scipy.stats import DegenerateDataWarning, bootstrap

from unmask.core.estimate import Value
from unmask.core.types import Floats, Ints
from unmask.stats.units import INDEPENDENT, Units

RESAMPLES = 2_000
STUDENTISED = 1_000  # resamples of the studentised bootstrap, which Student's interval bounds from inside
MAX_BOOTSTRAP_UNITS = 1_000  # above this a correction for skewness is smaller than the noise of the resamples
BATCH_CELLS = 100_000  # numbers resampled per batch, so that they fit the CPU cache
ROUNDING = 1e-6  # a resample whose error is smaller, relative to that of all units, has no spread
MAX_WITHOUT_SPREAD = 0.005  # share of resamples of one value beyond which the studentised bootstrap is undefined
NO_CHANGE = "no change"  # method of an interval when two runs agree on every unit
NO_SPREAD = "no spread"  # prefix of the method when all units have one value

Statistic = Callable[..., Floats]  # columns, axis → values
BootstrapMethod = Literal["BCa", "percentile"]  # as scipy calls them


def bootstrap_value(
    value: float, columns: tuple[Floats, ...], statistic: Statistic, *, rng: np.random.Generator, unit: str = ""
) -> Value:
    """A value with the bootstrap interval of its statistic; `unit` names what is resampled in the method."""
    low, high, method = bootstrap_ends(columns, statistic, rng=rng)
    over = f"{method} over {columns[0].size} {unit}" if unit else method
    return Value(value, float(low), float(high), over).widen()


def bootstrap_ends(
    columns: tuple[Floats, ...], statistic: Statistic, *, rng: np.random.Generator
) -> tuple[Floats, Floats, str]:
    """Lower ends, upper ends and the method, for each value of the statistic.

    Columns of equal length are resampled jointly; the statistic maps them to an array whose last axis
    runs over the resamples. BCa up to `MAX_BOOTSTRAP_UNITS` units; percentile above, and where BCa is undefined.
    """
    paired = len(columns) > 1
    percentile = _bootstrap(columns, statistic, "percentile", paired=paired, rng=rng)
    ends = percentile.confidence_interval
    low, high = np.asarray(ends.low), np.asarray(ends.high)
    if columns[0].shape[-1] > MAX_BOOTSTRAP_UNITS:
        return low, high, "percentile"
    again = {"paired": paired, "n_resamples": 0, "bootstrap_result": percentile}
    bca = _bootstrap(columns, statistic, "BCa", **again).confidence_interval
    undefined = np.isnan(bca.low) | np.isnan(bca.high)
    method = "percentile" if undefined.any() else "bca"
    return np.where(undefined, low, bca.low), np.where(undefined, high, bca.high), method


def stratified_ends(
    columns: tuple[Floats | Ints, ...],
    statistic: Statistic,
    *,
    methods: Sequence[BootstrapMethod],
    rng: np.random.Generator,
    cells: int | None = None,
    resamples: int = RESAMPLES,
) -> tuple[float, float, str]:
    """Ends of one value whose columns are resampled separately, by the first method that gives finite ones.

    `cells` is the number of values of one resample, if it is not that of the columns.
    """
    for method in methods:
        ends = _bootstrap(columns, statistic, method, cells, rng=rng, n_resamples=resamples).confidence_interval
        if np.isfinite([ends.low, ends.high]).all():
            return float(ends.low), float(ends.high), method.lower()
    return float("nan"), float("nan"), "none"


def _bootstrap(
    columns: tuple[Floats | Ints, ...],
    statistic: Statistic,
    method: BootstrapMethod,
    cells: int | None = None,
    **options: Any,
) -> Any:
    """The result of scipy, with its own `options`."""
    batch = max(1, BATCH_CELLS // (cells or sum(column.size for column in columns)))
    given = {"axis": -1, "vectorized": True, "n_resamples": RESAMPLES, **options}
    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
        warnings.simplefilter("ignore", DegenerateDataWarning)  # the ends are then NaN or infinite
        return bootstrap(columns, statistic, batch=batch, method=method, **given)


def studentised_ends(sums: Floats, sizes: Floats, *, rng: np.random.Generator) -> tuple[float, float] | None:
    """Ends of Σ sums / Σ sizes by the studentised bootstrap over units; None if resamples without spread decide them.

    The error of every resample is that of its own linearised values, so that the ends follow the distribution of
    (estimate − truth) / error, which is skewed where the values are.
    """
    n, value = sums.size, float(sums.sum() / sizes.sum())
    deviations = sums - value * sizes
    error = float(np.sqrt((deviations @ deviations) * n / (n - 1)) / sizes.sum())
    found, step = [], max(1, BATCH_CELLS // n)
    for begin in range(0, STUDENTISED, step):
        index = rng.integers(0, n, (min(step, STUDENTISED - begin), n))
        drawn, of_unit = deviations[index], sizes[index]
        total = of_unit.sum(axis=1)
        moved = drawn.sum(axis=1) / total
        residuals = drawn - moved[:, None] * of_unit
        errors = np.sqrt(np.einsum("ru,ru->r", residuals, residuals) * n / (n - 1)) / total
        found.append(np.divide(moved, errors, out=np.full_like(moved, np.nan), where=errors > ROUNDING * error))
    pivots = np.concatenate(found)
    kept = pivots[np.isfinite(pivots)]
    if kept.size < (1 - MAX_WITHOUT_SPREAD) * pivots.size:
        return None
    high, low = np.quantile(kept, [0.025, 0.975]).tolist()
    return value - low * error, value - high * error


def resampled_means(totals: Floats, counts: Floats, *, rng: np.random.Generator) -> Floats:
    """Means in every resample of the units along the last axis, the same resamples for all rows.

    A unit is an item, or a word with all its templates: `totals` are the sums of its values, `counts` their
    numbers. The first axis of the result runs over resamples; NaN if a row has no values left.
    """
    means = []
    for (drawn,) in _multiplicities(totals.shape[-1:], totals.shape[-1], rng):
        means.append(_weighted_means(drawn.astype(np.float64), totals, counts))
    return np.concatenate(means)


def _weighted_means(weights: Floats, totals: Floats, counts: Floats) -> Floats:
    """Σ weight · total / Σ weight · count, a row of weights per resample; NaN without any."""
    sums, sizes = (np.einsum("ru,...u->r...", weights, values, optimize=True) for values in (totals, counts))
    return np.asarray(np.divide(sums, sizes, out=np.full_like(sums, np.nan), where=sizes > 0))


def resampled_items(values: Floats, units: Units = INDEPENDENT, *, rng: np.random.Generator) -> Floats:
    """Means of items, the last axis, in every resample of their units; NaN marks an item that does not count in a row.

    Words and templates are resampled both: an item counts as often as its word times as often as its template.
    """
    kept = np.isfinite(values)
    totals, counts = np.where(kept, values, 0.0), kept.astype(np.float64)
    if len(units.codes) < 2:
        return resampled_means(*(sum_by_unit(each, units) for each in (totals, counts)), rng=rng)
    means = []
    for drawn in _multiplicities(units.counts, values.shape[-1], rng):
        weights = np.prod([times[:, codes] for times, codes in zip(drawn, units.codes, strict=True)], axis=0)
        means.append(_weighted_means(weights.astype(np.float64), totals, counts))
    return np.concatenate(means)


def sum_by_unit(values: Floats, units: Units) -> Floats:
    """Sums over the items of each unit along the last axis; the values themselves if items are independent."""
    if units.independent:
        return values
    (codes,) = units.codes
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(units.counts[0]))
    return np.asarray(np.add.reduceat(values[..., order], starts, axis=-1), np.float64)


def percentile_interval(resampled: Floats, value: float, unit: str) -> Value:
    """The value with the middle 95% of the resampled ones, ignoring NaN."""
    kept = resampled[np.isfinite(resampled)]
    if kept.size < resampled.size / 2 or not np.isfinite(value):
        return Value(value, method=f"none: most resamples of {unit} leave nothing to rank")
    low, high = np.quantile(kept, [0.025, 0.975]).tolist()
    return Value(value, low, high, f"percentile over {unit}").widen()


def _multiplicities(sizes: Sequence[int], cells: int, rng: np.random.Generator) -> Iterator[list[Ints]]:
    """Yield how often each of `sizes` units was drawn, a row per resample, in batches."""
    step = max(1, BATCH_CELLS // cells)
    for begin in range(0, RESAMPLES, step):
        yield [rng.multinomial(size, np.full(size, 1 / size), size=min(step, RESAMPLES - begin)) for size in sizes]
