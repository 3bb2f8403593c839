"""What commands conclude: plain sentences, tables and plots, and how they are shown and stored."""

from __future__ import annotations

from unmask.findings.model import Cell, Finding, Plot, Ranged, Table, as_json, ranged

__all__ = ["Cell", "Finding", "Plot", "Ranged", "Table", "as_json", "ranged"]
