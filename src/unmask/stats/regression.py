"""Regression of a measure on another property of pairs: least squares and correlations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata, t
from statsmodels.regression.linear_model import OLS

from unmask.core.estimate import NAN, Estimate, Value
from unmask.core.seeds import generator
from unmask.core.types import Floats, Measure, Row
from unmask.stats.bootstrap import NO_SPREAD
from unmask.stats.means import mean_interval
from unmask.stats.shares import NOTHING_SCORED, bias_score
from unmask.stats.table import ScoreTable

METHOD = "HC3"
FULL_LEVERAGE = 1 - 1e-9  # leverage of a point that determines the line alone; its HC3 error is undefined
JACKKNIFE = "jackknife, Fisher's z"
NEGLIGIBLE = 1e-12  # of the sum of squares: no spread
MIN_UNITS = 4  # fewest units for an interval of a correlation


@dataclass(frozen=True, slots=True)
class LinearFit:
    """y = intercept + slope · x by ordinary least squares, with errors robust to unequal spread (HC3)."""

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


def fit_line(x: Floats, y: Floats) -> LinearFit:
    """Fit a line; if x is always 0 there is no slope, and the intercept is the mean."""
    spread = x.size > 1 and np.ptp(x) > 0
    if not x.size or (not spread and x.any()):
        return LinearFit(_nothing(x.size), _nothing(x.size), None, x.size)
    design = np.column_stack([np.ones(x.size), x] if spread else [np.ones(x.size)])
    with np.errstate(divide="ignore", invalid="ignore"):
        fit = OLS(y, design).fit(cov_type=METHOD, use_t=True)
        decided = fit.df_resid == 0 or fit.get_influence().hat_matrix_diag.max() > FULL_LEVERAGE
        ends = np.full((design.shape[1], 2), np.nan) if decided else np.asarray(fit.conf_int())
    numbers = [_fitted(value, span, y) for value, span in zip(fit.params, ends, strict=True)]
    if not spread:
        return LinearFit(_nothing(x.size), numbers[0], None, x.size)
    p = float(fit.pvalues[1]) if np.isfinite(numbers[1].low) else None
    return LinearFit(numbers[1], numbers[0], p, x.size)


def correlation(x: Sequence[Floats], y: Sequence[Floats], *, ranks: bool = False) -> Value:
    """Pearson's correlation (Spearman's if `ranks`) of the concatenated columns of x with those of y.

    A unit is one row across all columns, such as a pair with one column per sentence. The interval is that of
    Fisher's z = artanh r with the jackknife error over units and Student's t: it holds for heavy tails, where the
    usual 1 / √(n − 3) is too narrow, and for few units, where a bootstrap is. NaN without spread.
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
    if n < MIN_UNITS:
        return Value(value, method=f"too few: {n} items")
    with np.errstate(divide="ignore", invalid="ignore"):
        left_out = _pearson(totals[:, None] - products.sum(axis=1), one.size - len(x))
        transformed = np.arctanh(np.clip(left_out, -1.0, 1.0))
        error = math.sqrt((n - 1) * transformed.var())
        ends = np.tanh(np.arctanh(value) + np.array([-1, 1]) * t.ppf(0.975, n - 2) * error)
    if abs(value) == 1 or not np.isfinite(ends).all():
        return Value(value, method=f"too few of {n} items differ")
    return Value(value, float(ends[0]), float(ends[1]), JACKKNIFE)


def _pearson(sums: Floats, count: int) -> Floats:
    """Pearson's correlation from the sums of x, y, x², y² and xy over so many values; NaN without spread."""
    x, y, xx, yy, xy = sums
    return np.asarray((xy - x * y / count) / np.sqrt(_spread(x, xx, count) * _spread(y, yy, count)))


def _spread(total: Floats, squares: Floats, count: int) -> Floats:
    """The sum of squared deviations from the mean; NaN if it is rounding error alone."""
    spread = squares - total**2 / count
    return np.where(spread > NEGLIGIBLE * np.max(squares), spread, np.nan)


def regress_on_property(
    measure: Measure, rows: Sequence[Row], by: Mapping[str, float], *, data: str, seed: int
) -> PropertyRegression:
    """Regress a measure's differences and wins on a property of pairs; pairs without it are left out."""
    table = ScoreTable.of(measure, [row for row in rows if row.item in by], data=data).headline_rows()
    x = np.array([by[item] for item in table.items.tolist()], dtype=np.float64)
    y = table.difference
    if measure.summary == "magnitude":
        x, y = np.abs(x), np.abs(y)
    kept = table.is_scored
    won = score = None
    if measure.summary == "share":
        won = fit_line(x[table.is_counted], 100 * table.wins[table.is_counted].astype(np.float64))
        score = bias_score(table, group="all")
    return PropertyRegression(
        line=fit_line(x[kept], y[kept]),
        r=correlation([x[kept]], [y[kept]]),
        mean=mean_interval(y[kept], rng=generator(seed, "all"), units=table.take(kept).units),
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
