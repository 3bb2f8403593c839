"""Estimates as tables for readers, rounded and with intervals: for Markdown, LaTeX and model cards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from unmask.core.estimate import Estimate
from unmask.findings import Table, numbers
from unmask.report import selection as of
from unmask.report import wording
from unmask.report.selection import Run

if TYPE_CHECKING:
    from unmask.stats import Comparison

NULL = "The null is the expected value for a model without a preference."
HOLM = "* differs from the null after Holm's correction (p < 0.05)."
CHANGED = "Change is after minus before over the items both runs scored; p is corrected by Holm's method."


def headline(runs: Sequence[Run], names: Sequence[str]) -> Table:
    """The headline estimate of every measure, dataset and model."""
    rows = [
        (
            *_model(name, names),
            estimate.data,
            estimate.measure,
            estimate.statistic,
            *_numbers(estimate),
            numbers.p_value(estimate.p),
        )
        for name, run in zip(names, runs, strict=True)
        for estimate in of.headlines(run)
    ]
    columns = ("data", "measure", "statistic", "value", "95% interval", "null", "n", "ties", "unscored", "p")
    return Table("Headline estimates", _columns(columns, names), tuple(rows), NULL)


def category(runs: Sequence[Run], names: Sequence[str]) -> Table:
    """The headline estimates by category, marked if significant after Holm's correction."""
    rows = [
        (
            *(
                *_model(name, names),
                estimate.data,
                estimate.measure,
                of.group_name(estimate),
                *_numbers(estimate),
            ),
            *(numbers.p_value(estimate.p_holm), "*" if wording.holm(estimate) == wording.DIFFERS else ""),
        )
        for name, run in zip(names, runs, strict=True)
        for estimate in of.by_group(run, "category")
    ]
    counts = ("n", "ties", "unscored", "p (Holm)", "mark")
    columns = ("data", "measure", "category", "value", "95% interval", "null", *counts)
    return Table("By category", _columns(columns, names), tuple(rows), HOLM)


def changes(compared: Sequence[Comparison], names: Sequence[str]) -> Table:
    """Every paired comparison with the first run."""
    rows = [
        (
            *(
                names[comparison.run],
                comparison.data,
                comparison.measure,
                comparison.statistic,
                of.plain_group(comparison.group),
            ),
            *_change(comparison),
            *(
                numbers.p_value(comparison.p_holm),
                f"{comparison.n:,}",
                f"{comparison.flips:,}",
                f"{comparison.left_out:,}",
            ),
        )
        for comparison in compared
    ]
    values = ("before", "after", "change", "95% interval", "p (Holm)", "n", "flips", "left out")
    columns = ("model", "data", "measure", "statistic", "group", *values)
    return Table(f"Changes from {names[0]}", columns, tuple(rows), CHANGED)


def checks(runs: Sequence[Run], names: Sequence[str]) -> Table:
    """The checks of all runs."""
    rows = [
        (*_model(name, names), "passed" if check.ok else "FAILED", check.name, check.detail)
        for name, run in zip(names, runs, strict=True)
        for check in run.checks
    ]
    return Table("Checks", _columns(("result", "check", "detail"), names), tuple(rows))


def _columns(columns: tuple[str, ...], names: Sequence[str]) -> tuple[str, ...]:
    return ("model", *columns) if len(names) > 1 else columns


def _model(name: str, names: Sequence[str]) -> tuple[str, ...]:
    return (name,) if len(names) > 1 else ()


def _numbers(estimate: Estimate) -> tuple[str, ...]:
    digits = wording.digits_of(estimate.statistic)
    counts = (f"{estimate.n:,}", f"{estimate.ties:,}", f"{estimate.unscored:,}")
    value, null = numbers.number(estimate.value, digits), numbers.number(estimate.null, 0)
    return value, wording.interval(estimate, digits), null, *counts


def _change(comparison: Comparison) -> tuple[str, ...]:
    digits = wording.digits_of(comparison.statistic)
    before, after = numbers.number(comparison.a_value, digits), numbers.number(comparison.b_value, digits)
    return (
        before,
        after,
        numbers.signed_number(comparison.change, digits),
        wording.change_interval(comparison.low, comparison.high, digits),
    )
