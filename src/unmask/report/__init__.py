"""Runs as a self-contained web page that reads offline and travels as a mail attachment.

result ──► run (what to show) ──► words, charts, pairs ──► view ──► page.html.jinja
results ─► auditing.compare ──► changing, versus_figures ──► versus ──► versus.html.jinja
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unmask.audit.result import Result
    from unmask.report.selection import Run

__all__ = ["comparison", "page", "write", "write_text"]


def page(result: Run) -> str:
    """The page of one run as HTML; it loads nothing from anywhere."""
    from unmask.report import audit_page

    return audit_page.page(result)


def comparison(first: Result, *others: Result) -> str:
    """The page that compares runs with the first of them."""
    from unmask.report import comparison_page

    runs = [first, *others]
    return comparison_page.page(runs, comparison_page.compare_runs(runs))


def write(result: Run, path: Path | str) -> Path:
    """Write the page of one run to `path`, whole or not at all, and return where it lies."""
    return write_text(page(result), path)


def write_text(text: str, path: Path | str) -> Path:
    """Write a text to `path`, whole or not at all, and return where it lies."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    part.write_text(text, encoding="utf-8", newline="\n")
    return part.replace(target)
