"""Paired changes between runs, in words and as rows: did it change, and nearer to its null or not?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unmask.core.types import Estimate
from unmask.findings import numbers
from unmask.report import selection, wording
from unmask.report.selection import ALPHA, Run

if TYPE_CHECKING:
    from unmask.stats import Comparison

Nulls = Mapping[tuple[str, str, str], float | None]
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
NO_CHANGE = "no change found beyond chance"


def nulls(runs: Sequence[Run]) -> Nulls:
    """The null of every number of the runs."""
    return {(e.measure, e.data, e.statistic): e.null for one in runs for e in one.estimates}


def is_significant(one: Comparison) -> bool:
    """Is the change beyond chance? By Holm's corrected test, or by the interval of what has no test."""
    if one.p_holm is not None and math.isfinite(one.p_holm):
        return one.p_holm < ALPHA
    return math.isfinite(one.low) and not one.low <= 0 <= one.high


def reading(one: Comparison, null: float | None) -> str:
    """What the change says, in plain words."""
    if not math.isfinite(one.change):
        return "not measured in both"
    if not is_significant(one):
        return NO_CHANGE
    way = "rose" if one.change > 0 else "fell"
    if one.statistic in ("lms", "icat"):
        return f"{way}: {'better' if one.change > 0 else 'worse'} by this number"
    if null is None:
        return way
    before, after = one.a_value - null, one.b_value - null
    if abs(after) < abs(before):
        return f"{way}, nearer to its null" + ("" if before * after >= 0 else " and past it")
    return f"{way}, further from its null" + ("" if before * after >= 0 else " on the other side")


def row(one: Comparison, known: Nulls, *, several: bool) -> dict[str, Any]:
    """One change as the page's tables print it."""
    digits = wording.digits_of(one.statistic)
    return {
        "label": label(one, several=several),
        "statistic": one.statistic,
        "group": selection.plain_group(one.group),
        "letter": LETTERS[one.run],
        "before": numbers.number(one.a_value, digits),
        "after": numbers.number(one.b_value, digits),
        "change": numbers.signed_number(one.change, digits),
        "interval": wording.change_interval(one.low, one.high, digits),
        "p_holm": numbers.p_value(one.p_holm),
        "n": f"{one.n:,}",
        "flips": f"{one.flips:,}",
        "left_out": f"{one.left_out:,}",
        "method": one.method,
        "marked": is_significant(one),
        "lean": "" if not is_significant(one) else "above" if one.change > 0 else "below",
        "reading": reading(one, known.get((one.measure, one.data, one.statistic))),
    }


def label(one: Comparison, *, several: bool) -> str:
    """The measure's name, with the dataset's where there are several."""
    return f"{one.measure} · {one.data}" if several else one.measure


def as_estimate(one: Comparison) -> Estimate:
    """A change as a number to be drawn against no change."""
    return Estimate(
        measure=one.measure,
        data=one.data,
        group=one.group,
        statistic=wording.CHANGE,
        value=one.change,
        low=one.low,
        high=one.high,
        null=0.0,
        n=one.n,
        ties=0,
        unscored=one.left_out,
        method=one.method,
        p=one.p,
        p_holm=one.p_holm,
    )
