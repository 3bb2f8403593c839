"""Format numbers for display."""

from __future__ import annotations

import math
from typing import TypeGuard

from unmask.core.estimate import Value


def number(value: float | None, digits: int = 2) -> str:
    """A number with a fixed number of decimals; a dash if it is None or not finite."""
    if value is None or not math.isfinite(value):
        return "–"
    text = f"{value:,.{digits}f}"
    return text.replace("-", "−") if float(text.replace(",", "")) else text.lstrip("-")


def signed_number(value: float | None, digits: int = 2) -> str:
    """A number with an explicit sign."""
    text = number(value, digits)
    return f"+{text}" if value is not None and value > 0 and text != "–" else text


def signed_value(value: Value, digits: int = 2) -> str:
    """A value with explicit signs and its interval, as in a sentence: `+0.45 (−0.10 to +0.61)`."""
    ends = " to ".join(signed_number(end, digits) for end in (value.low, value.high))
    return f"{signed_number(value.value, digits)} ({ends if value.has_interval else 'no interval'})"


def p_value(value: float | None) -> str:
    """A p-value with three decimals, or `< 0.001`."""
    if value is None or not math.isfinite(value):
        return "–"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def plural_unit(unit: str) -> str:
    """What was resampled: `words × templates` of `word × template`."""
    return " × ".join(f"{part}s" for part in unit.split(" × "))


def is_number(value: object) -> TypeGuard[float]:
    """Whether it is a finite number."""
    return isinstance(value, (int, float)) and math.isfinite(value)
