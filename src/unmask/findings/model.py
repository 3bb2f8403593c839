"""Findings: answers in plain sentences, tables and plots; rendered to the terminal, HTML and JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from unmask.core.types import Estimate

if TYPE_CHECKING:
    from unmask.findings.charts import Chart


@dataclass(frozen=True, slots=True)
class Value:
    """A number with its 95% interval; the ends are NaN if there is none."""

    value: float
    low: float
    high: float
    method: str = ""


def value_of(estimate: Estimate) -> Value:
    """Convert an estimate to a table cell."""
    return Value(estimate.value, estimate.low, estimate.high, estimate.method)


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
        return {key: _cell(value) for key, value in asdict(cell).items()}
    return None if isinstance(cell, float) and cell != cell else cell  # noqa: PLR0124 - only NaN differs from itself
