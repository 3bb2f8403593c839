"""Print findings to the terminal: answers, tables and notes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table as Grid

    from unmask.findings import Finding, Section, Table


def console() -> Console:
    """A console on stdout, 140 columns wide if it is not a terminal."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else 140, highlight=False, markup=False)


def show(*findings: Finding) -> None:
    """Print answers, tables and notes to stdout."""
    screen = console()
    for finding in findings:
        _print(finding, screen)


def show_sections(sections: Sequence[Section], screen: Console | None = None) -> None:
    """Print sections under their questions."""
    screen = screen or console()
    for section in sections:
        screen.print(f"{section.name}: {section.lead}" if section.lead else section.title, style="bold")
        _print(section.finding, screen)


def render(sections: Sequence[Section]) -> str:
    """Sections as text without colours, 140 columns wide."""
    from io import StringIO

    from rich.console import Console

    text = StringIO()
    show_sections(sections, Console(file=text, width=140, highlight=False, markup=False))
    return text.getvalue().rstrip()


def _print(finding: Finding, screen: Console) -> None:
    for line in finding.answers:
        screen.print(f"  {line}")
    for table in finding.tables:
        screen.print(_grid(table))
    for note in finding.notes:
        screen.print(f"  note: {note}")


def _grid(table: Table) -> Grid:
    from rich.table import Table as Grid

    grid = Grid(title=table.title, title_justify="left", title_style="bold", caption=table.note)
    grid.caption_justify = "left"
    for index, name in enumerate(table.columns):
        grid.add_column(name, justify="right" if table.is_numeric(index) else "left", overflow="fold")
    for row in table.texts():
        grid.add_row(*row)
    return grid
