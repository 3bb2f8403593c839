"""Regression of a measure on another property of pairs: least squares and correlations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata
from statsmodels.regression.linear_model import OLS

from unmask.core.estimate import NAN, Estimate, Value
from unmask.core.seeds import generator
from unmask.core.types import Floats, Ints, Measure, Row
from unmask.stats.bootstrap import NO_SPREAD
from unmask.stats.intervals import design_effect, mean_interval, student_ends, upper_tail, without_interval
from unmask.stats.power import standard_error
from unmask.stats.shares import NOTHING_SCORED, bias_score
from unmask.stats.table import ScoreTable
from unmask.stats.units import INDEPENDENT, SamplingError, Units, sampling_error

METHOD = "HC3"
FULL_LEVERAGE = 1 - 1e-9  # leverage of a point that determines the line alone; its HC3 error is undefined
JACKKNIFE = "jackknife, Fisher's z"
NEGLIGIBLE = 1e-12  # of the sum of squares: no spread
MIN_UNITS = 4  # fewest units for an interval of a correlation


@dataclass(frozen=True, slots=True)
class LinearFit:
    """y = intercept + slope · x by ordinary least squares, with errors robust to unequal spread (HC3), over units."""

    slope: Value
    intercept: Value
    p: float | None  # of the slope against 0
    n: int


@dataclass(frozen=True, slots=True)
class PropertyRegression:
    """A measure regressed on a property of pairs: slope, correlation, and the intercept at zero."""

    line: LinearFit  # of the differences; for a magnitude, of absolute differences on the absolute property
    r: Value  # Pearson's correlation: the slope when both are in standard deviations
    mean: Value  # of what the line was fitted to
    wins: LinearFit | None  # of 100 × won: its intercept is the bias score where the property is zero
    score: Estimate | None  # the bias score of the same pairs

    @property
    def r_squared(self) -> Value:
        """The explained share of the variance; its interval is that of the correlation, squared."""
        size = abs(self.r)
        return Value(size.value**2, size.low**2, size.high**2, size.method)


def fit_line(x: Floats, y: Floats, units: Units = INDEPENDENT) -> LinearFit:
    """Fit a line; if x is always 0 there is no slope, and the intercept is the mean.

    Of items that share units, a coefficient is a mean of its linearised values, whose residuals are those of HC3; the
    sampling error of that mean is the one over units.
    """
    spread = x.size > 1 and np.ptp(x) > 0
    if not x.size or (not spread and x.any()):
        return LinearFit(_nothing(x.size), _nothing(x.size), None, x.size)
    design = np.column_stack([np.ones(x.size), x] if spread else [np.ones(x.size)])
    with np.errstate(divide="ignore", invalid="ignore"):
        fit = OLS(y, design).fit(cov_type=METHOD, use_t=True)
        decided = fit.df_resid == 0 or fit.get_influence().hat_matrix_diag.max() > FULL_LEVERAGE
        ends = np.full((design.shape[1], 2), np.nan) if decided else np.asarray(fit.conf_int())
    clustered = bool(units.codes) and not decided and np.ptp(y) > 0
    if clustered:
        numbers = [_over_units(fit, design, place, units) for place in range(design.shape[1])]
    else:
        numbers = [_fitted(value, span, y) for value, span in zip(fit.params, ends, strict=True)]
    if not spread:
        return LinearFit(_nothing(x.size), numbers[0], None, x.size)
    slope = numbers[1]
    if not slope.has_interval:
        p = None
    else:
        p = 2 * upper_tail(abs(slope.value) / standard_error(slope), slope.df) if clustered else float(fit.pvalues[1])
    return LinearFit(slope, numbers[0], p, x.size)


def _over_units(fit: Any, design: Floats, place: int, units: Units) -> Value:
    """A coefficient of a fit by statsmodels, with its interval over units."""
    value, weights = float(fit.params[place]), design @ np.linalg.inv(design.T @ design)[place]
    residuals = fit.resid / (1 - fit.get_influence().hat_matrix_diag)
    error = sampling_error(value + design.shape[0] * weights * residuals, units)
    if error is None:
        return Value(value, method=without_interval(units), unit=units.tag)
    (low, high), method = student_ends(value, error), f"{METHOD} over {units.label}"
    return Value(value, low, high, method, unit=units.tag, design_effect=error.design_effect, df=error.df)


def correlation(x: Sequence[Floats], y: Sequence[Floats], *, ranks: bool = False, units: Units = INDEPENDENT) -> Value:
    """Pearson's correlation (Spearman's if `ranks`) of the concatenated columns of x with those of y.

    An item is one row across all columns, such as a pair with one column per sentence. The interval is that of
    Fisher's z = artanh r with the jackknife error over items and Student's t: it holds for heavy tails, where the
    usual 1 / √(n − 3) is too narrow, and for few items, where a bootstrap is. Of items that share a
    unit, units are left out whole; of words × templates the error is that of the pseudo-values' mean over both. NaN
    without spread.
    """
    n = x[0].size
    if n < 2 or any(np.ptp(np.concatenate(part)) == 0 for part in (x, y)):
        return _nothing(n)
    sides = [np.stack([np.asarray(column, dtype=np.float64) for column in part]) for part in (x, y)]
    if ranks:
        sides = [rankdata(side).reshape(side.shape) for side in sides]
    one, other = (side - side.mean() for side in sides)
    products = np.stack([one, other, one * one, other * other, one * other])
    totals = products.sum(axis=(1, 2))
    value = float(np.clip(_pearson(totals, one.size), -1.0, 1.0))
    if min(units.counts, default=n) < MIN_UNITS:
        return Value(value, method=f"too few: {units.label or f'{n} items'}", unit=units.tag)
    error = _jackknife(totals, products.sum(axis=1), len(x), units) if abs(value) < 1 else None
    if error is None:
        return Value(value, method=f"too few of {n} items differ", unit=units.tag)
    low, high = (math.tanh(end) for end in student_ends(math.atanh(value), error))
    method = f"{JACKKNIFE} over {units.label}" if units.codes else JACKKNIFE
    return Value(value, low, high, method, unit=units.tag, design_effect=design_effect(error, units), df=error.df)


def _jackknife(totals: Floats, items: Floats, columns: int, units: Units) -> SamplingError | None:
    """The sampling error of Fisher's z, from the sums of all items and those of each; None if it is undefined."""
    n = items.shape[1]
    each = _without(totals, items, np.full(n, columns), n * columns)
    if not np.isfinite(each).all() or (error := sampling_error((1 - n) * each, units)) is None:
        return None
    if units.independent:
        return error._replace(df=n - 2.0)
    if len(units.codes) > 1:
        return error
    (codes,), (count,) = units.codes, units.counts
    parts = np.stack([np.bincount(codes, row) for row in items]).astype(np.float64)
    whole = _without(totals, parts, columns * np.bincount(codes), n * columns)
    if not np.isfinite(whole).all():
        return None
    variance = (count - 1) * float(whole.var())
    return error._replace(variance=variance, design_effect=error.design_effect * variance / error.variance)


def _without(totals: Floats, parts: Floats, sizes: Floats | Ints, count: int) -> Floats:
    """Fisher's z without each of the parts, which have so many values."""
    with np.errstate(divide="ignore", invalid="ignore"):
        left = _pearson(totals[:, None] - parts, count - sizes)
        return np.asarray(np.arctanh(np.clip(left, -1.0, 1.0)))


def _pearson(sums: Floats, count: int | Floats | Ints) -> Floats:
    """Pearson's correlation from the sums of x, y, x², y² and xy over so many values; NaN without spread."""
    x, y, xx, yy, xy = sums
    return np.asarray((xy - x * y / count) / np.sqrt(_spread(x, xx, count) * _spread(y, yy, count)))


def _spread(total: Floats, squares: Floats, count: int | Floats | Ints) -> Floats:
    """The sum of squared deviations from the mean; NaN if it is rounding error alone."""
    spread = squares - total**2 / count
    return np.where(spread > NEGLIGIBLE * np.max(squares), spread, np.nan)


def regress_on_property(
    measure: Measure, rows: Sequence[Row], by: Mapping[str, float], *, data: str, seed: int, independent: bool = False
) -> PropertyRegression:
    """Regress a measure's differences and wins on a property of pairs; pairs without it are left out."""
    own = [row for row in rows if row.item in by]
    table = ScoreTable.of(measure, own, data=data, independent=independent).headline_rows()
    x = np.array([by[item] for item in table.items.tolist()], dtype=np.float64)
    y = table.difference
    if measure.summary == "magnitude":
        x, y = np.abs(x), np.abs(y)
    kept = table.is_scored
    units, won, score = table.take(kept).units, None, None
    if measure.summary == "share":
        counted = table.is_counted
        wins = 100 * table.wins[counted].astype(np.float64)
        won = fit_line(x[counted], wins, table.take(counted).units)
        score = bias_score(table, group="all")
    return PropertyRegression(
        line=fit_line(x[kept], y[kept], units),
        r=correlation([x[kept]], [y[kept]], units=units),
        mean=mean_interval(y[kept], rng=generator(seed, "all"), units=units),
        wins=won,
        score=score,
    )


def _fitted(value: float, ends: Floats, y: Floats) -> Value:
    """A coefficient; without interval if y is constant or there are too few points."""
    alike = np.ptp(y) == 0
    if np.isfinite(ends).all() and not alike:
        return Value(float(value), float(ends[0]), float(ends[1]), METHOD)
    few = f"too few: {y.size} items, or one of them decides the line"
    return Value(float(value), method=f"{NO_SPREAD}: {y.size} items alike" if alike and y.size > 1 else few)


def _nothing(n: int) -> Value:
    return Value(NAN, method=f"{NO_SPREAD}: {n} items alike" if n else NOTHING_SCORED)
