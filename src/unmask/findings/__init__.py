"""Findings: answers, tables and plots, and their rendering as HTML, LaTeX, Markdown, JSON and text."""

from __future__ import annotations

from unmask.core.estimate import Value
from unmask.findings.model import Cell, Finding, Plot, Section, Table

__all__ = ["Cell", "Finding", "Plot", "Section", "Table", "Value"]
