"""What commands conclude: plain sentences, tables and plots. The terminal, pages and JSON read these."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from unmask.core.types import Estimate

if TYPE_CHECKING:
    from unmask.findings.charts import Chart


@dataclass(frozen=True, slots=True)
class Value:
    """A number with its 95% interval; NaN ends where there is none."""

    value: float
    low: float
    high: float
    method: str = ""


def value_of(estimate: Estimate) -> Value:
    """An estimate as a number with its interval."""
    return Value(estimate.value, estimate.low, estimate.high, estimate.method)


Cell = str | int | float | Value | None  # None: not known, not applicable


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under named columns; `note` says how to read them."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    digits: int = 2  # shown; JSON keeps them all


@dataclass(frozen=True, slots=True)
class Plot:
    """A chart and what it shows, in words."""

    id: str  # "human-roc": also the name of its file
    title: str
    alt: str
    chart: Chart


@dataclass(frozen=True, slots=True)
class Finding:
    """Plain sentences first, then tables and plots."""

    answers: tuple[str, ...]
    tables: tuple[Table, ...]
    plots: tuple[Plot, ...] = ()
    notes: tuple[str, ...] = ()


def as_json(finding: Finding) -> dict[str, Any]:
    """Everything that was found, in full precision; plots are drawn from the same numbers."""
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
