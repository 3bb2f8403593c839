"""Save findings to JSON and load them, charts included."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from unmask.findings import Cell, Finding, Plot, Table, Value

FINDINGS = "findings.json"


def save_findings(findings: Mapping[str, Finding], folder: Path) -> None:
    """Write findings by name to `findings.json`."""
    content = {name: _plain(finding) for name, finding in findings.items()}
    (folder / FINDINGS).write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def load_findings(folder: Path) -> dict[str, Finding]:
    """Read findings by name from `findings.json`."""
    content = json.loads((folder / FINDINGS).read_text(encoding="utf-8"))
    return {name: _finding(finding) for name, finding in content.items()}


def _plain(finding: Finding) -> dict[str, Any]:
    return {
        "answers": list(finding.answers),
        "notes": list(finding.notes),
        "tables": [
            {**asdict(table), "rows": [[_cell(cell) for cell in row] for row in table.rows]}
            for table in finding.tables
        ],
        "plots": [
            {"id": plot.id, "title": plot.title, "alt": plot.alt, "chart": plot.chart.to_dict()}
            for plot in finding.plots
        ],
    }


def _cell(cell: Cell) -> Any:
    return asdict(cell) if isinstance(cell, Value) else cell


def _finding(content: Mapping[str, Any]) -> Finding:
    return Finding(
        tuple(content["answers"]),
        tuple(_table(each) for each in content["tables"]),
        tuple(_plot(each) for each in content["plots"]),
        tuple(content["notes"]),
    )


def _table(content: Mapping[str, Any]) -> Table:
    rows = tuple(
        tuple(Value(**cell) if isinstance(cell, dict) else cell for cell in row) for row in content["rows"]
    )
    return Table(content["title"], tuple(content["columns"]), rows, content["note"], content["digits"])


def _plot(content: Mapping[str, Any]) -> Plot:
    import altair as alt

    chart: Any = alt.Chart.from_dict(content["chart"])  # any kind of chart
    return Plot(content["id"], content["title"], content["alt"], chart)
