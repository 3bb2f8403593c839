"""Reports of audit runs: self-contained HTML pages that work offline and as mail attachments.

one run ──► selection ──► wording, charts, pairs ──► audit_page ──► page.html.jinja
several ──► audit.run.compare ──► comparison_wording ──► comparison_page ──► comparison.html.jinja
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unmask.findings.envelope import Result
    
__all__ = ["comparison", "page", "write", "write_text"]


def page(result: Result) -> str:
    """Render the page of one run as HTML; it loads nothing from the network."""
    from unmask.report import audit_page

    return audit_page.page(result)


def comparison(first: Result, *others: Result) -> str:
    """Render the page that compares every other run with the first."""
    from unmask.report import comparison_page

    runs = [first, *others]
    return comparison_page.page(runs, comparison_page.compare_runs(runs))


def write(result: Result, path: Path | str) -> Path:
    """Write the page of one run to `path` atomically and return the path."""
    return write_text(page(result), path)


def write_text(text: str, path: Path | str) -> Path:
    """Write a text file atomically (temporary file, then rename) and return its path."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    part.write_text(text, encoding="utf-8", newline="\n")
    return part.replace(target)
