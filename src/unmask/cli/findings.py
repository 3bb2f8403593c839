"""What was found, printed: answers, tables and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unmask.cli.words import console

if TYPE_CHECKING:
    from unmask.findings import Finding, Table


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

    from unmask.report.findings import shown

    drawn = Grid(title=table.title, title_justify="left", title_style="bold", caption=table.note)
    drawn.caption_justify = "left"
    for place, name in enumerate(table.columns):
        numeric = any(not isinstance(row[place], str | None) for row in table.rows)
        drawn.add_column(name, justify="right" if numeric else "left")
    for row in table.rows:
        drawn.add_row(
            *(shown(cell, name, table.digits) for cell, name in zip(row, table.columns, strict=True))
        )
    console().print(drawn)
