"""A value with its 95% interval, and an estimate: a value of a named measure on named data."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Self

NAN = math.nan


@dataclass(frozen=True, slots=True)
class Value:
    """A number with its 95% interval; the ends are NaN where there is none, and `method` says why."""

    value: float
    low: float = NAN
    high: float = NAN
    method: str = ""  # "wilson", "bootstrap-t over 77 writers", …
    unit: str = field(default="", kw_only=True)  # what was resampled: "writer", "target term"; empty: single items
    design_effect: float | None = field(default=None, kw_only=True)  # variance over that of independent items
    df: float | None = field(default=None, kw_only=True)  # degrees of freedom of the interval; None: normal, or unknown

    @property
    def has_interval(self) -> bool:
        """Whether both ends are finite."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    def excludes(self, null: float) -> bool:
        """Whether the interval lies on one side of `null`."""
        return self.has_interval and not self.low <= null <= self.high

    def widen(self) -> Self:
        """The same, its interval widened if necessary to contain the value."""
        return replace(self, low=min(self.low, self.value), high=max(self.high, self.value))

    def clip(self, least: float, most: float) -> Self:
        """The same, its interval clipped to the scale: Student's interval of few units may exceed it."""
        low, high = (min(max(end, least), most) for end in (self.low, self.high))
        return replace(self, low=low, high=high)

    def __abs__(self) -> Self:
        """The absolute value; its interval starts at 0 if that of the signed value contains 0."""
        low, high = sorted((abs(self.low), abs(self.high)))
        return replace(self, value=abs(self.value), low=0.0 if self.low <= 0 <= self.high else low, high=high)


@dataclass(frozen=True, slots=True)
class Estimate(Value):
    """A value of one statistic of a measure on some data, as every command's `result.json` lists them."""

    measure: str = ""
    data: str = ""
    group: str = "all"  # "all", or "category=gender"
    statistic: str = ""  # "bias-score", "mean-difference", "asld", "lms", …
    null: float | None = None  # expected value for a model without a preference
    n: int = 0
    ties: int = 0
    unscored: int = 0
    p: float | None = None  # against the null
    p_holm: float | None = None  # corrected over its family (`unmask.stats.corrections`)
    model: str = ""  # which model, if the result is about several

    @classmethod
    def of(cls, value: Value, **fields: Any) -> Self:
        """A value with what it estimates; its interval contains it."""
        value = value.widen() if value.has_interval else value
        known = {"unit": value.unit, "design_effect": value.design_effect, "df": value.df}
        return cls(value.value, value.low, value.high, value.method, **known | fields)

    @property
    def signed(self) -> float | None:
        """Distance from the null, positive towards the stereotype, as in Kaneko et al. (2022)."""
        return None if self.null is None else self.value - self.null

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What it estimates: measure, data, group and statistic."""
        return self.measure, self.data, self.group, self.statistic
