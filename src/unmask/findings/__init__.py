"""Findings: answers, tables and plots, and their rendering as HTML, LaTeX, Markdown, JSON and text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unmask.core.lazy_imports import lazy_names

if TYPE_CHECKING:
    from unmask.core.estimate import Value
    from unmask.findings.model import Cell, Conclusion, Finding, Plot, Section, Table

__getattr__ = lazy_names(
    __name__, dict.fromkeys(("Cell", "Conclusion", "Finding", "Plot", "Section", "Table", "Value"), "model")
)

__all__ = ["Cell", "Conclusion", "Finding", "Plot", "Section", "Table", "Value"]
