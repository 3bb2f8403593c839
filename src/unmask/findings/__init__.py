"""What commands conclude: plain sentences, tables and plots, and how they are shown and stored."""

from __future__ import annotations

from unmask.findings.model import Cell, Finding, Plot, Table, Value, as_json, value_of

__all__ = ["Cell", "Finding", "Plot", "Table", "Value", "as_json", "value_of"]
