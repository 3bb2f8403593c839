"""Tables as papers print them: a row for each model or category, a column for each measure, stars for significance.

Constants (statistic, reference value, number of items, widest interval) are in the caption, not in columns. Stars are
after Holm's correction over all cells of a table; a model with a failed check is marked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from unmask.audit.interpretation import digits_of, failure_note, subset_note
from unmask.audit.result import AuditResult
from unmask.core.estimate import Estimate
from unmask.findings import Cell, Table
from unmask.findings.numbers import number
from unmask.report.selection import by_group, group_name
from unmask.stats.corrections import holm

STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
FAILED = "†"


@dataclass(frozen=True, slots=True)
class _Entry:
    """An estimate, the row it stands in, and what marks the row."""

    row: str
    estimate: Estimate
    mark: str = ""


def by_model(results: Sequence[AuditResult], names: Sequence[str]) -> list[Table]:
    """For each dataset and statistic the headline estimates: rows are models, columns are measures."""
    entries = [
        _Entry(name, estimate, _mark(result))
        for name, result in zip(names, results, strict=True)
        for estimate in result.headlines()
    ]
    return _tables("model", entries, results)


def by_category(results: Sequence[AuditResult], names: Sequence[str]) -> list[Table]:
    """For each model, dataset and statistic the estimates by category, and of all items: columns are measures."""
    tables = []
    for name, result in zip(names, results, strict=True):
        estimates = [*by_group(result, "category"), *result.headlines()]
        categorised = {(each.measure, each.data) for each in estimates if each.group != "all"}
        entries = [
            _Entry(group_name(each.group), each, _mark(result))
            for each in estimates
            if (each.measure, each.data) in categorised
        ]
        tables += _tables("category", entries, [result], model=name)
    return tables


def _mark(result: AuditResult) -> str:
    return "" if all(check.ok for check in result.checks) else FAILED


def _tables(rows: str, entries: Iterable[_Entry], results: Sequence[AuditResult], *, model: str = "") -> list[Table]:
    """One table for each dataset and statistic."""

    def place(entry: _Entry) -> tuple[str, str]:
        return entry.estimate.data, entry.estimate.statistic

    ordered = sorted(entries, key=place)  # stable: models, categories and measures keep their order
    return [_table(rows, list(group), results, model) for _, group in groupby(ordered, place)]


def _table(rows: str, entries: Sequence[_Entry], results: Sequence[AuditResult], model: str) -> Table:
    first = entries[0].estimate
    measures = list(dict.fromkeys(entry.estimate.measure for entry in entries))
    corrected = holm([entry.estimate.p for entry in entries])
    cells = {
        (entry.row, entry.estimate.measure): _cell(entry.estimate, p)
        for entry, p in zip(entries, corrected, strict=True)
    }
    marks = {entry.row: entry.mark for entry in entries}
    lines: list[tuple[Cell, ...]] = [
        (f"{row}{mark}", *(cells.get((row, measure)) for measure in measures)) for row, mark in marks.items()
    ]
    title = " · ".join(filter(None, (first.data, first.statistic, model)))
    cards = [card for result in results for card in result.meta.get("data") or () if card.get("name") == first.data]
    tested = sum(p is not None for p in corrected)
    parts = (subset_note(cards), _constants(entries), _stars(tested), failure_note(results))
    return Table(title, (rows, *measures), tuple(lines), " ".join(filter(None, parts)))


def _cell(estimate: Estimate, p: float | None) -> str:
    stars = next((stars for most, stars in STARS if p is not None and p < most), "")
    return f"{number(estimate.value, digits_of(estimate.statistic))}{stars}"


def _constants(entries: Sequence[_Entry]) -> str:
    """Reference value, items and the widest interval of a table, in one sentence each."""
    estimates = [entry.estimate for entry in entries]
    nulls = {number(each.null, 0) for each in estimates}
    counts = sorted({each.n for each in estimates})
    n = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    widths = [each.high - each.low for each in estimates if each.has_interval]
    digits = digits_of(estimates[0].statistic)
    widest = f"; 95% intervals are at most {number(max(widths), digits)} wide" if widths else ""
    left_out = max(each.unscored for each in estimates)
    unscored = f"; up to {left_out:,} items unscored" if left_out else ""
    return f"Chance level {' or '.join(sorted(nulls))}; n = {n}{widest}{unscored}."


def _stars(tested: int) -> str:
    if not tested:
        return ""
    return f"* p < 0.05, ** p < 0.01, *** p < 0.001, by Holm's correction over {tested} tests."
