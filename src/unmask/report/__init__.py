"""One run as a self-contained web page that reads offline and travels as a mail attachment.

result ──► run (what to show) ──► words, charts, pairs ──► view ──► page.html.jinja
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unmask.report.run import Run

__all__ = ["page", "write"]


def page(result: Run) -> str:
    """The page of one run as HTML; it loads nothing from anywhere."""
    from unmask.report import view  # altair and jinja2 take a second to import

    return view.page(result)


def write(result: Run, path: Path | str) -> Path:
    """Write the page of one run to `path`, whole or not at all, and return where it lies."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    part.write_text(page(result), encoding="utf-8", newline="\n")
    return part.replace(target)
