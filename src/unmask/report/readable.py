"""The numbers of runs as tables for people: rounded, with intervals; for Markdown, LaTeX and cards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from unmask.core.types import Estimate
from unmask.findings import Table, numbers
from unmask.report import selection as of
from unmask.report import wording
from unmask.report.selection import Run

if TYPE_CHECKING:
    from unmask.stats import Comparison

NULL = "The null is the value a model without the preference would have."
HOLM = "* differs from the null after Holm's correction (p < 0.05)."
CHANGED = "Change is after minus before over the items both runs scored; p is corrected by Holm's method."


def headline(runs: Sequence[Run], names: Sequence[str]) -> Table:
    """The headline number of every measure, dataset and model."""
    rows = [
        (*_model(name, names), one.data, one.measure, one.statistic, *_numbers(one), numbers.p_value(one.p))
        for name, run in zip(names, runs, strict=True)
        for one in of.headlines(run)
    ]
    columns = ("data", "measure", "number", "value", "95% interval", "null", "n", "ties", "unscored", "p")
    return Table("Headline numbers", _columns(columns, names), tuple(rows), NULL)


def category(runs: Sequence[Run], names: Sequence[str]) -> Table:
    """The headline numbers by category, marked where Holm's correction leaves a difference."""
    rows = [
        (
            *(*_model(name, names), one.data, one.measure, of.group_name(one), *_numbers(one)),
            *(numbers.p_value(one.p_holm), "*" if wording.holm(one) == wording.DIFFERS else ""),
        )
        for name, run in zip(names, runs, strict=True)
        for one in of.by_group(run, "category")
    ]
    counts = ("n", "ties", "unscored", "p (Holm)", "mark")
    columns = ("data", "measure", "category", "value", "95% interval", "null", *counts)
    return Table("By category", _columns(columns, names), tuple(rows), HOLM)


def changes(compared: Sequence[Comparison], names: Sequence[str]) -> Table:
    """Every paired comparison of the others with the first run."""
    rows = [
        (
            *(names[one.run], one.data, one.measure, one.statistic, of.plain_group(one.group)),
            *_change(one),
            *(numbers.p_value(one.p_holm), f"{one.n:,}", f"{one.flips:,}", f"{one.left_out:,}"),
        )
        for one in compared
    ]
    numbers = ("before", "after", "change", "95% interval", "p (Holm)", "n", "flips", "left out")
    columns = ("model", "data", "measure", "number", "group", *numbers)
    return Table(f"Changes from {names[0]}", columns, tuple(rows), CHANGED)


def checks(runs: Sequence[Run], names: Sequence[str]) -> Table:
    """The evidence that the models were really read."""
    rows = [
        (*_model(name, names), "passed" if one.ok else "FAILED", one.name, one.detail)
        for name, run in zip(names, runs, strict=True)
        for one in run.checks
    ]
    return Table("Checks", _columns(("result", "check", "what was seen"), names), tuple(rows))


def _columns(columns: tuple[str, ...], names: Sequence[str]) -> tuple[str, ...]:
    return ("model", *columns) if len(names) > 1 else columns


def _model(name: str, names: Sequence[str]) -> tuple[str, ...]:
    return (name,) if len(names) > 1 else ()


def _numbers(one: Estimate) -> tuple[str, ...]:
    digits = wording.digits_of(one.statistic)
    counts = (f"{one.n:,}", f"{one.ties:,}", f"{one.unscored:,}")
    value, null = numbers.number(one.value, digits), numbers.number(one.null, 0)
    return value, wording.interval(one, digits), null, *counts


def _change(one: Comparison) -> tuple[str, ...]:
    digits = wording.digits_of(one.statistic)
    before, after = numbers.number(one.a_value, digits), numbers.number(one.b_value, digits)
    return (
        before,
        after,
        numbers.signed_number(one.change, digits),
        wording.change_interval(one.low, one.high, digits),
    )
