"""Print findings to the terminal: answers, tables and notes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from unmask.findings import Finding, Table


def console() -> Console:
    """A console on stdout, 140 columns wide if it is not a terminal."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else 140, highlight=False, markup=False)


def show(finding: Finding) -> None:
    """Print the answers, every table, and the notes."""
    screen = console()
    for line in finding.answers:
        screen.print(f"  {line}")
    for table in finding.tables:
        _print(table)
    for note in finding.notes:
        screen.print(f"  note: {note}")


def _print(table: Table) -> None:
    from rich.table import Table as Grid

    from unmask.findings.html import format_cell

    grid = Grid(title=table.title, title_justify="left", title_style="bold", caption=table.note)
    grid.caption_justify = "left"
    for index, name in enumerate(table.columns):
        numeric = any(not isinstance(row[index], str | None) for row in table.rows)
        grid.add_column(name, justify="right" if numeric else "left")
    for row in table.rows:
        grid.add_row(
            *(format_cell(cell, name, table.digits) for cell, name in zip(row, table.columns, strict=True))
        )
    console().print(grid)
