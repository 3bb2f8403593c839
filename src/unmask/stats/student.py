"""Quantiles and tails of Student's t, normal without degrees of freedom; scipy.special, which `scipy.stats.t` calls."""

from __future__ import annotations

import math

from scipy.special import stdtr, stdtrit


def quantile(level: float, df: float | None = None) -> float:
    """The value below which this share of the distribution lies."""
    return float(stdtrit(math.inf if df is None else df, level))


def upper_tail(score: float, df: float | None = None) -> float:
    """The probability of a value above the score."""
    return float(stdtr(math.inf if df is None else df, -score))
