"""Numbers for reading."""

from __future__ import annotations

import math
from typing import TypeGuard


def number(value: float | None, digits: int = 2) -> str:
    """A number for reading; a dash where there is none."""
    if value is None or not math.isfinite(value):
        return "–"
    text = f"{value:,.{digits}f}"
    return text.replace("-", "−") if float(text.replace(",", "")) else text.lstrip("-")


def signed_number(value: float | None, digits: int = 2) -> str:
    """A number with its sign."""
    text = number(value, digits)
    return f"+{text}" if value is not None and value > 0 and text != "–" else text


def p_value(value: float | None) -> str:
    """A p-value for reading."""
    if value is None or not math.isfinite(value):
        return "–"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def is_number(value: object) -> TypeGuard[float]:
    """Is it there, and finite?"""
    return isinstance(value, (int, float)) and math.isfinite(value)
