"""Tables as CSV in full precision; no text can be read as a formula by a spreadsheet."""

from __future__ import annotations

import math

from unmask.core.estimate import Value
from unmask.core.files import to_csv
from unmask.findings.model import Cell, Table


def table(of: Table) -> str:
    """One table; a number with an interval becomes three columns."""
    columns: dict[str, list[Cell]] = {}
    for index, name in enumerate(of.columns):
        cells = [row[index] for row in of.rows]
        columns[name] = [cell.value if isinstance(cell, Value) else cell for cell in cells]
        if any(isinstance(cell, Value) for cell in cells):
            columns |= {f"{name} {end}": [getattr(cell, end, None) for cell in cells] for end in ("low", "high")}
    known = (map(_without_nan, cells) for cells in columns.values())
    return to_csv([[*columns], *zip(*known, strict=True)])


def _without_nan(cell: Cell) -> Cell:
    return None if isinstance(cell, float) and math.isnan(cell) else cell
