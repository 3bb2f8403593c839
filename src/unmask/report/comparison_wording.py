"""Paired changes between runs in words and as table rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unmask.audit.interpretation import ALPHA, CHANGE, digits_of
from unmask.core.estimate import Estimate
from unmask.findings import numbers
from unmask.findings.envelope import Result
from unmask.report import selection

if TYPE_CHECKING:
    from unmask.stats import Comparison

Nulls = Mapping[tuple[str, str, str], float | None]
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
NO_CHANGE = "no significant change"


def lettered_names(names: Sequence[str]) -> list[str]:
    """The models' names prefixed with their letters, which order the legends."""
    return [f"{letter} {name}" for letter, name in zip(LETTERS, names, strict=False)]


def nulls(runs: Sequence[Result]) -> Nulls:
    """The null of every statistic of the runs."""
    return {(e.measure, e.data, e.statistic): e.null for run in runs for e in run.estimates}


def is_significant(comparison: Comparison) -> bool:
    """Whether the change is significant: by the Holm-corrected p-value, else by the interval."""
    if comparison.p_holm is not None and math.isfinite(comparison.p_holm):
        return comparison.p_holm < ALPHA
    return comparison.difference.excludes(0)


def reading(comparison: Comparison, null: float | None) -> str:
    """The change in plain words."""
    if not math.isfinite(comparison.change):
        return "not measured in both"
    if not is_significant(comparison):
        return NO_CHANGE
    way = "rose" if comparison.change > 0 else "fell"
    if comparison.statistic in ("lms", "icat"):
        return f"{way}: {'better' if comparison.change > 0 else 'worse'} by this statistic"
    if null is None:
        return way
    before, after = comparison.a_value - null, comparison.b_value - null
    if abs(after) < abs(before):
        return f"{way}, nearer to its null" + ("" if before * after >= 0 else " and past it")
    return f"{way}, further from its null" + ("" if before * after >= 0 else " on the other side")


def row(comparison: Comparison, known: Nulls, *, several: bool) -> dict[str, Any]:
    """One change as a row of the page's tables."""
    digits, signed = digits_of(comparison.statistic), numbers.signed_number
    ends = f"{signed(comparison.low, digits)} to {signed(comparison.high, digits)}"
    marked = is_significant(comparison)
    null = known.get((comparison.measure, comparison.data, comparison.statistic))
    return {
        "label": label(comparison, several=several),
        **{name: getattr(comparison, name) for name in ("data", "measure", "statistic", "method")},
        "group": selection.group_name(comparison.group),
        "letter": LETTERS[comparison.run],
        "before": numbers.number(comparison.a_value, digits),
        "after": numbers.number(comparison.b_value, digits),
        "change": signed(comparison.change, digits),
        "interval": ends if comparison.difference.has_interval else "none",
        "p_holm": numbers.p_value(comparison.p_holm),
        **{name: f"{getattr(comparison, name):,}" for name in ("n", "flips", "left_out")},
        "marked": marked,
        "lean": "" if not marked else "above" if comparison.change > 0 else "below",
        "reading": reading(comparison, null),
    }


def label(comparison: Comparison, *, several: bool) -> str:
    """The name of the measure, with that of the dataset if there are several."""
    return f"{comparison.measure} · {comparison.data}" if several else comparison.measure


def as_estimate(comparison: Comparison) -> Estimate:
    """A change as an estimate with null 0, for the charts."""
    same = {name: getattr(comparison, name) for name in ("measure", "data", "group", "n", "p", "p_holm")}
    left_out = comparison.left_out
    return Estimate.of(comparison.difference, statistic=CHANGE, null=0.0, unscored=left_out, **same)
