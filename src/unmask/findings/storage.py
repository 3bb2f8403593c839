"""Findings as files: what one step concludes is read back as it was, charts too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from unmask.findings import Cell, Finding, Plot, Table, Value

FINDINGS = "findings.json"


def save_findings(findings: Mapping[str, Finding], folder: Path) -> None:
    """Write findings by name."""
    whole = {name: _plain(one) for name, one in findings.items()}
    (folder / FINDINGS).write_text(json.dumps(whole, ensure_ascii=False), encoding="utf-8")


def load_findings(folder: Path) -> dict[str, Finding]:
    """Read them back."""
    whole = json.loads((folder / FINDINGS).read_text(encoding="utf-8"))
    return {name: _finding(one) for name, one in whole.items()}


def _plain(finding: Finding) -> dict[str, Any]:
    return {
        "answers": list(finding.answers),
        "notes": list(finding.notes),
        "tables": [
            {**asdict(table), "rows": [[_cell(cell) for cell in row] for row in table.rows]}
            for table in finding.tables
        ],
        "plots": [
            {"id": one.id, "title": one.title, "alt": one.alt, "chart": one.chart.to_dict()}
            for one in finding.plots
        ],
    }


def _cell(cell: Cell) -> Any:
    return asdict(cell) if isinstance(cell, Value) else cell


def _finding(whole: Mapping[str, Any]) -> Finding:
    return Finding(
        tuple(whole["answers"]),
        tuple(_table(one) for one in whole["tables"]),
        tuple(_plot(one) for one in whole["plots"]),
        tuple(whole["notes"]),
    )


def _table(one: Mapping[str, Any]) -> Table:
    rows = tuple(
        tuple(Value(**cell) if isinstance(cell, dict) else cell for cell in row) for row in one["rows"]
    )
    return Table(one["title"], tuple(one["columns"]), rows, one["note"], one["digits"])


def _plot(one: Mapping[str, Any]) -> Plot:
    import altair as alt

    chart: Any = alt.Chart.from_dict(one["chart"])  # of whatever kind was kept
    return Plot(one["id"], one["title"], one["alt"], chart)
