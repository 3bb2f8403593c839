"""Tables as Markdown; all text is escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence

from unmask.findings import Table
from unmask.findings.html import format_cell

_MARKS = re.compile(r"([\\`*_{}\[\]#|~$])")
_HTML = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;"}


def document(tables: Sequence[Table], level: int = 2) -> str:
    """Tables one after the other, under their titles; empty ones are left out."""
    return "\n\n".join(_section(table, level) for table in tables if table.rows) + "\n"


def table(of: Table) -> str:
    """One table in GitHub-flavoured Markdown."""
    rows = [
        [_cell(format_cell(c, name, of.digits)) for c, name in zip(r, of.columns, strict=True)]
        for r in of.rows
    ]
    lines = [[_cell(name) for name in of.columns], ["---"] * len(of.columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def text(plain: str) -> str:
    """Escape Markdown and HTML and join lines."""
    return " ".join(_MARKS.sub(r"\\\1", plain).translate(_HTML).split())


def _section(of: Table, level: int) -> str:
    parts = [f"{'#' * level} {text(of.title)}", table(of), text(of.note)]
    return "\n\n".join(part for part in parts if part)


def _cell(plain: str) -> str:
    return text(plain) or " "
