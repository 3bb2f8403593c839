"""Findings: answers in plain sentences, tables and plots; rendered to the terminal, HTML and JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from unmask.core.estimate import Estimate, Value
from unmask.findings.numbers import number, p_value

if TYPE_CHECKING:
    from unmask.findings.charts import Chart


Cell = str | int | float | Value | None  # None: unknown or not applicable
NUMERIC = {
    "score",
    "value",
    "95% interval",
    "reference value",
    "n",
    "ties",
    "unscored",
    "p",
    "p (Holm)",
}  # numbers as text
_STARRED = re.compile(r"[−-]?[\d.,]+\*+†?|[−-]?\d[\d,]*\.\d+†?")
NUMERIC |= {"before", "after", "change", "flips", "left out"}


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under named columns; `note` says how to read them."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    digits: int = 2  # decimals shown; JSON keeps full precision

    @classmethod
    def of(cls, title: str, records: Iterable[Mapping[str, Cell]], note: str = "", *, digits: int = 2) -> Self:
        """A table of records, whose keys are its columns; a record may lack some."""
        listed = list(records)
        columns = tuple(dict.fromkeys(name for record in listed for name in record))
        return cls(title, columns, tuple(tuple(map(record.get, columns)) for record in listed), note, digits)

    def texts(self) -> list[tuple[str, ...]]:
        """The rows with every cell as text."""
        named = (zip(row, self.columns, strict=True) for row in self.rows)
        return [tuple(format_cell(*cell, self.digits) for cell in cells) for cells in named]

    def is_numeric(self, column: int) -> bool:
        """Whether a column shows numbers: by its cells, also with stars, or by its name."""
        cells = [row[column] for row in self.rows if row[column] is not None]
        starred = bool(cells) and all(isinstance(cell, str) and _STARRED.fullmatch(cell) for cell in cells)
        return self.columns[column] in NUMERIC or starred or any(not isinstance(cell, str) for cell in cells)


def format_cell(cell: Cell, column: str, digits: int) -> str:
    """A cell as text: a number with its interval, a p-value, or a dash for None."""
    if cell is None:
        return "–"
    if isinstance(cell, Value):
        ends = f" ({number(cell.low, digits)} to {number(cell.high, digits)})"
        return number(cell.value, digits) + (ends if cell.low == cell.low else "")
    if isinstance(cell, float):
        return p_value(cell) if column == "p" or column.startswith("p ") else number(cell, digits)
    return f"{cell:,}" if isinstance(cell, int) else cell


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


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What a diagnosis or a task concludes: the finding, the estimates recorded beside it, and what is no number."""

    finding: Finding
    estimates: tuple[Estimate, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Section:
    """A finding under its title: the question, the finding, and a footer on data and sources."""

    name: str
    title: str
    lead: str
    finding: Finding
    foot: str = ""
