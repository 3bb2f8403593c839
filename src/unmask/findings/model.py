"""Findings: answers in plain sentences, tables and plots; rendered to the terminal, HTML and JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unmask.core.estimate import Value
from unmask.core.files import plain

if TYPE_CHECKING:
    from unmask.findings.charts import Chart


Cell = str | int | float | Value | None  # None: unknown or not applicable


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under named columns; `note` says how to read them."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    digits: int = 2  # decimals shown; JSON keeps full precision


@dataclass(frozen=True, slots=True)
class Plot:
    """A chart with its title and alternative text."""

    id: str  # "human-roc"; also its file name
    title: str
    alt: str
    chart: Chart


@dataclass(frozen=True, slots=True)
class Finding:
    """The answers in plain sentences, then tables, plots and notes."""

    answers: tuple[str, ...]
    tables: tuple[Table, ...]
    plots: tuple[Plot, ...] = ()
    notes: tuple[str, ...] = ()


def as_json(finding: Finding) -> dict[str, Any]:
    """A finding in full precision, without plots (they show the same numbers)."""
    return {
        "answers": list(finding.answers),
        "notes": list(finding.notes),
        "tables": [_table(table) for table in finding.tables],
    }


def _table(table: Table) -> dict[str, Any]:
    rows = [{name: _cell(cell) for name, cell in zip(table.columns, row, strict=True)} for row in table.rows]
    return {"title": table.title, "note": table.note, "rows": rows}


def _cell(cell: Cell) -> Any:
    if isinstance(cell, Value):
        return plain({"value": cell.value, "low": cell.low, "high": cell.high, "method": cell.method})
    return plain(cell)
