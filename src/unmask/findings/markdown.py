"""Tables as Markdown; all text is escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence

from unmask.findings import Table

_MARKS = re.compile(r"([\\`*_{}\[\]#|~$])")
_HTML = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;"}


def document(tables: Sequence[Table], level: int = 2) -> str:
    """Tables one after the other, under their titles; empty ones are left out."""
    shown = [(f"{'#' * level} {text(each.title)}", table(each), text(each.note)) for each in tables if each.rows]
    return "\n\n".join(part for parts in shown for part in parts if part) + "\n"


def table(of: Table) -> str:
    """One table in GitHub-flavoured Markdown."""
    lines = [of.columns, ["---"] * len(of.columns), *of.texts()]
    return "\n".join(f"| {' | '.join(text(cell) or ' ' for cell in line)} |" for line in lines)


def text(plain: str) -> str:
    """Escape Markdown and HTML and join lines."""
    return " ".join(_MARKS.sub(r"\\\1", plain).translate(_HTML).split())
