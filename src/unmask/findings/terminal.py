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
    """Prints lines and tables, 140 columns wide if it is not a terminal."""

    def __init__(self, stream: TextIO) -> None:
        """Print to a stream."""
        from rich.console import Console

        width = None if stream.isatty() else 140
        self._console = Console(file=stream, width=width, highlight=False, markup=False, emoji=False)
        self._console.on_broken_pipe = _reraise  # type: ignore[method-assign]

    def print(self, text: str = "", style: str = "", *, soft_wrap: bool = False) -> None:
        """Print text, with control characters escaped; with `soft_wrap` the terminal breaks long lines."""
        self._console.print(printable(text), style=style, soft_wrap=soft_wrap)

    def print_finding(self, finding: Finding) -> None:
        """Print answers, tables and notes."""
        for line in finding.answers:
            self.print(f"  {line}")
        for table in finding.tables:
            self._console.print(_grid(table))
        for note in finding.notes:
            self.print(f"  note: {note}")


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
    """Sections as text without colours, 140 columns wide."""
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


def printable(text: str) -> str:
    """Text for the terminal: control characters but line ends and tabs are escaped."""
    return escape_controls(text, keep="\n\t")


def _grid(table: Table) -> Grid:
    from rich.table import Table as Grid
    from rich.text import Text

    title, note = (Text(printable(text)) if text else None for text in (table.title, table.note))
    grid = Grid(title=title, title_justify="left", title_style="bold", caption=note, caption_justify="left")
    for index, name in enumerate(table.columns):
        justify = "right" if table.is_numeric(index) else "left"
        grid.add_column(printable(name), justify=justify, overflow="fold")  # type: ignore[arg-type]
    for row in table.texts():
        grid.add_row(*map(printable, row))
    return grid
