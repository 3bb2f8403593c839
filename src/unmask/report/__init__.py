"""Reports of audit runs: self-contained HTML pages that work offline and as mail attachments.

one run ──► selection ──► wording, charts, pairs ──► audit_page ──► page.html.jinja
several ──► audit.run.compare ──► comparison_wording ──► comparison_page ──► comparison.html.jinja
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from unmask.core.files import write_text

if TYPE_CHECKING:
    from unmask.findings.envelope import Result

__all__ = ["comparison", "page", "write"]


def page(result: Result) -> str:
    """Render the page of one run as HTML; it loads nothing from the network."""
    if result.kind != "audit":
        from unmask.findings.html import page as findings_page

        return findings_page(result)
    from unmask.report import audit_page

    return audit_page.page(result)


def comparison(first: Result, *others: Result) -> str:
    """Render the page that compares every other run with the first."""
    from unmask.report import comparison_page

    runs = [first, *others]
    return comparison_page.page(runs, comparison_page.compare_runs(runs))


def write(result: Result, path: Path | str) -> Path:
    """Write the page of one run to `path`, completely or not at all, and return the path."""
    if result.kind == "audit":
        return write_text(Path(path), page(result))
    from unmask.findings.html import write_page

    return write_page(result, Path(path))
