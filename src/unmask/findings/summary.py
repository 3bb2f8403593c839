"""A result in at most 15 lines: what `repr` of it shows in a Python session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from unmask.core.estimate import Estimate
from unmask.findings.numbers import number

if TYPE_CHECKING:
    from unmask.findings.envelope import Result

LINES = 11  # estimates shown; with the lines around them 15
DIGITS = 3  # significant ones of an estimate, about
FAILED = 6  # failed checks listed by name


def summarise(result: Result) -> str:
    """The model, the data, the headline estimates with their intervals, and whether a check failed."""
    headlines = result.headlines()
    several = any(estimate.model for estimate in headlines)
    rows = [((each.model,) if several else ()) + _cells(each, result) for each in headlines[:LINES]]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
             for row in rows]  # fmt: skip
    if len(headlines) > LINES:
        lines.append(f"  and {len(headlines) - LINES} more; table() has all estimates as a data frame")
    return "\n".join([_head(result), *lines, *_checks(result)])


def _head(result: Result) -> str:
    models = ", ".join(str(facts["id"]) for facts in result.models[:3]) or result.meta["title"]
    more = f" and {len(result.models) - 3} more" if len(result.models) > 3 else ""
    data = ", ".join(map(_describe_data, result.meta["data"]))
    return f"{type(result).__name__} ({result.kind}): {models}{more}" + (data and f"; {data}")


def _describe_data(facts: Mapping[str, Any]) -> str:
    """The name of a dataset, and how many items of how many."""
    n, whole = facts.get("n"), facts.get("subset_of")
    if n is None:
        return str(facts["name"])
    return f"{facts['name']} ({n:,}" + (f" of {whole:,} items, a subset)" if whole else " items)")


def _cells(estimate: Estimate, result: Result) -> tuple[str, ...]:
    largest = max(abs(estimate.value), abs(estimate.null or 0))
    digits = 1 if largest >= 10 else DIGITS
    interval = " to ".join(number(end, digits) for end in (estimate.low, estimate.high))
    return (
        estimate.data,
        estimate.measure,
        estimate.statistic,
        number(estimate.value, digits),
        f"({interval})" if estimate.has_interval else "(no interval)",
        "" if estimate.null is None else f"reference value {estimate.null:g}",
        f"n {estimate.n:,}" if estimate.n else "",
        "baseline" if result.is_baseline(estimate.measure) else "",
    )


def _checks(result: Result) -> list[str]:
    """One line on the checks, if there are any."""
    if not result.checks:
        return []
    failed = [check.name for check in result.checks if not check.ok]
    if not failed:
        return [f"checks: {len(result.checks)} passed"]
    named = ", ".join(failed[:FAILED]) + (", …" if len(failed) > FAILED else "")
    return [f"checks: {len(failed)} of {len(result.checks)} FAILED: {named}. print(result) says what that means"]
