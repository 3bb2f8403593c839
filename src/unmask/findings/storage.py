"""Findings as JSON and back, charts included."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from unmask.core.errors import ResultError, one_line, quote, shorten
from unmask.core.estimate import NAN, Value
from unmask.core.files import plain
from unmask.findings.model import Cell, Finding, Plot, Section, Table


def with_unique_plots(sections: Iterable[Section]) -> Iterator[Section]:
    """The sections with every plot id once: a page draws charts by their ids, and files are named by them."""
    counts: Counter[str] = Counter()
    for section in sections:
        plots = []
        for plot in section.finding.plots:
            name = re.sub(r"[^\w .+-]+|^\W+", "-", plot.id)[:140].lstrip("-. +")
            counts[name] += 1
            plots.append(replace(plot, id=name if counts[name] == 1 else f"{name}-{counts[name]}"))
        yield replace(section, finding=replace(section.finding, plots=tuple(plots)))


def section_json(section: Section) -> dict[str, Any]:
    """A section in full precision: its rows are objects by column, its charts Vega-Lite specifications."""
    finding = section.finding
    return {
        "name": section.name,
        "title": section.title,
        "lead": section.lead,
        "answers": list(finding.answers),
        "tables": [table_json(table) for table in finding.tables],
        "plots": [
            {"id": plot.id, "title": plot.title, "alt": plot.alt, "chart": plot.chart.to_dict()}
            for plot in finding.plots
        ],
        "notes": list(finding.notes),
        "foot": section.foot,
    }


def table_json(table: Table) -> dict[str, Any]:
    """A table in full precision."""
    rows = [{name: _plain(cell) for name, cell in zip(table.columns, row, strict=True)} for row in table.rows]
    heads = {"title": table.title, "note": table.note, "digits": table.digits, "columns": list(table.columns)}
    return {**heads, "rows": rows}


def load_section(stored: Mapping[str, Any]) -> Section:
    """A section from its JSON."""
    tables = tuple(load_table(table) for table in stored["tables"])
    plots = tuple(_plot(plot) for plot in stored["plots"])
    finding = Finding(tuple(stored["answers"]), tables, plots, tuple(stored["notes"]))
    return Section(stored["name"], stored["title"], stored["lead"], finding, stored["foot"])


def load_table(stored: Mapping[str, Any]) -> Table:
    """A table from its JSON."""
    columns = tuple(stored["columns"])
    rows = tuple(tuple(_cell(row[name]) for name in columns) for row in stored["rows"])
    return Table(stored["title"], columns, rows, stored["note"], stored["digits"])


def _plain(cell: Cell) -> Any:
    if isinstance(cell, Value):
        return plain({"value": cell.value, "low": cell.low, "high": cell.high, "method": cell.method})
    return plain(cell)


def _cell(stored: Any) -> Cell:
    return load_value(stored) if isinstance(stored, dict) else stored  # else a JSON scalar


def load_value(stored: Mapping[str, Any]) -> Value:
    """A value from its JSON, in which null stands for NaN."""
    return Value(**{**stored, **{name: NAN for name in ("value", "low", "high") if stored[name] is None}})


def _plot(stored: Mapping[str, Any]) -> Plot:
    import altair as alt

    try:
        chart: Any = alt.Chart.from_dict(stored["chart"])  # any kind of chart
    except Exception as error:  # altair raises whatever it comes across
        raise ResultError(
            f"the chart {quote(stored['id'])} of this result is damaged ({shorten(one_line(str(error)), 200)}): "
            "run the command again"
        ) from error
    return Plot(stored["id"], stored["title"], stored["alt"], chart)
