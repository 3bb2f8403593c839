"""Print to the terminal: findings, messages and JSON. Text never controls it: control characters are escaped."""

from __future__ import annotations

import json
import sys
from io import StringIO
from typing import TYPE_CHECKING, Any

from unmask.core.errors import escape_controls

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

    from rich.table import Table as Grid

    from unmask.findings import Finding, Section, Table


class Screen:
    """Prints lines and tables; if it is not a terminal, no line is wrapped and no value cut, however long."""

    def __init__(self, stream: TextIO) -> None:
        """Print to a stream."""
        from rich.console import Console

        self._wraps = stream.isatty()
        self._console = Console(file=stream, highlight=False, markup=False, emoji=False)
        self._console.on_broken_pipe = _reraise  # type: ignore[method-assign]

    def print(self, text: str = "", style: str = "", *, soft_wrap: bool = False) -> None:
        """Print text, with control characters escaped; with `soft_wrap` the terminal breaks long lines."""
        self._console.print(printable(text), style=style, soft_wrap=soft_wrap or not self._wraps)

    def print_finding(self, finding: Finding) -> None:
        """Print answers, tables and notes."""
        for line in finding.answers:
            self._print_indented(line)
        for table in finding.tables:
            if self._wraps:
                self._print_padded(_grid(table))
            else:
                self.print(plain_table(table))
        for note in finding.notes:
            self._print_indented(f"note: {note}")

    def _print_indented(self, line: str) -> None:
        """Print a line two columns to the right; where the terminal wraps it, the rest is two more."""
        from rich.text import Text

        if not self._wraps:
            self.print(f"  {line}")
            return
        wrapped = Text(printable(line)).wrap(self._console, max(self._console.width - 4, 20))
        for index, part in enumerate(wrapped):
            part.rstrip()
            self._console.print(Text("  " if not index else "    ") + part, soft_wrap=True)

    def _print_padded(self, grid: Grid) -> None:
        from rich.padding import Padding

        self._console.print(Padding(grid, (0, 0, 0, 2)))


def _reraise() -> None:
    """Leave a closed pipe to the command line, which ends quietly; rich would exit with code 1."""
    raise  # noqa: PLE0704 - rich calls this while it handles the error


def console() -> Screen:
    """The screen of stdout."""
    return Screen(sys.stdout)


def show(*findings: Finding) -> None:
    """Print answers, tables and notes to stdout."""
    screen = console()
    for finding in findings:
        screen.print_finding(finding)


def show_sections(sections: Sequence[Section], screen: Screen | None = None) -> None:
    """Print sections under their questions."""
    screen = screen or console()
    for section in sections:
        screen.print(f"{section.name}: {section.lead}" if section.lead else section.title, style="bold")
        screen.print_finding(section.finding)


def render(sections: Sequence[Section]) -> str:
    """Sections as text without colours."""
    text = StringIO()
    show_sections(sections, Screen(text))
    return text.getvalue().rstrip()


def say(line: str, *, bold: bool = False) -> None:
    """Print a message to stderr."""
    text = printable(line)
    sys.stderr.write(f"\x1b[1m{text}\x1b[0m\n" if bold and sys.stderr.isatty() else f"{text}\n")
    sys.stderr.flush()


def write_out(text: str) -> None:
    """Print text to stdout as it is, but for control characters."""
    sys.stdout.write(printable(text))


def print_json(content: Any) -> None:
    """Print an object as JSON to stdout; whatever a terminal would obey is escaped as JSON does."""
    text = json.dumps(content, indent=2, ensure_ascii=False)
    controls = {char for char in text if not char.isprintable() and char != "\n"}
    escapes = {ord(char): json.dumps(char)[1:-1] for char in controls if escape_controls(char) != char}
    sys.stdout.write(f"{text.translate(escapes)}\n")
    sys.stdout.flush()


def printable(text: str) -> str:
    """Text for the terminal: control characters but line ends and tabs are escaped."""
    return escape_controls(text, keep="\n\t")


def plain_table(table: Table) -> str:
    """A table without boxes, one line a row: titles and notes above and below it."""
    from rich.cells import cell_len

    rows = [[" ".join(printable(cell).split()) for cell in row] for row in (table.columns, *table.texts())]
    widths = [max(cell_len(row[column]) for row in rows) for column in range(len(table.columns))]
    lines = [f"  {printable(table.title)}"] if table.title else []
    for row in rows:
        padded = []
        for index, (cell, width) in enumerate(zip(row, widths, strict=True)):
            space = " " * (width - cell_len(cell))
            padded.append(space + cell if table.is_numeric(index) else cell + space)
        lines.append(f"  {'  '.join(padded)}".rstrip())
    return "\n".join([*lines, *([f"  {printable(table.note)}"] if table.note else [])])


def _grid(table: Table) -> Grid:
    from rich.table import Table as Grid
    from rich.text import Text

    title, note = (Text(printable(text)) if text else None for text in (table.title, table.note))
    grid = Grid(title=title, title_justify="left", title_style="bold", caption=note, caption_justify="left", box=None)
    grid.pad_edge = False
    for index, name in enumerate(table.columns):
        justify = "right" if table.is_numeric(index) else "left"
        grid.add_column(printable(name), justify=justify, overflow="fold")  # type: ignore[arg-type]
    for row in table.texts():
        grid.add_row(*map(printable, row))
    return grid
