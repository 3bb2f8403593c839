"""Write findings as one HTML page, and every plot as an SVG file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from unmask.findings import Cell, Finding, Table, Value, embed
from unmask.findings import figure as drawing
from unmask.findings.assets import asset, template
from unmask.findings.numbers import number, p_value

_SHORT = 28  # cells up to this many characters do not wrap


@dataclass(frozen=True, slots=True)
class Section:
    """One section of the page: the question, the finding, and a footer on data and sources."""

    name: str
    title: str
    lead: str
    finding: Finding
    foot: str = ""


@dataclass(frozen=True, slots=True)
class _RenderedTable:
    """A table with its cells as text and a CSS class for each column."""

    table: Table
    kinds: tuple[str, ...]  # n: numbers; name: short text that does not wrap
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class _RenderedSection:
    part: Section
    figures: tuple[drawing.Figure, ...]
    tables: tuple[_RenderedTable, ...]


def write(
    title: str,
    lead: str,
    sections: Sequence[Section],
    content: Mapping[str, Any],
    folder: Path,
    download: str,
) -> Path:
    """Write `report.html` and an SVG of every plot; `content` is offered as a file named `download`."""
    rendered = [_render_section(section) for section in sections]
    for figure in (figure for section in rendered for figure in section.figures):
        (folder / f"{figure.id}.svg").write_text(figure.svg, encoding="utf-8")
    scripts = [drawing.library(), asset("page.js")]
    page = template("findings.html.jinja").render(
        title=title,
        lead=lead,
        policy=embed.policy(scripts),
        scripts=[Markup(script) for script in scripts],
        style=Markup(asset("page.css")),
        specs=embed.as_script({figure.id: figure.spec for section in rendered for figure in section.figures}),
        sections=rendered,
        content=content,
        download=download,
        link=embed.as_link(content),
    )
    path = folder / "report.html"
    path.write_text(page, encoding="utf-8", newline="\n")
    return path


def format_cell(cell: Cell, column: str, digits: int) -> str:
    """A cell as text: a number with its interval, a p-value, or a dash for None."""
    if cell is None:
        return "–"
    if isinstance(cell, Value):
        ends = f" ({number(cell.low, digits)} to {number(cell.high, digits)})"
        return number(cell.value, digits) + (ends if cell.low == cell.low else "")
    if isinstance(cell, float):
        return p_value(cell) if column == "p" or column.startswith("p ") else number(cell, digits)
    return f"{cell:,}" if isinstance(cell, int) else cell


def _render_section(section: Section) -> _RenderedSection:
    figures = tuple(
        drawing.figure(plot.id, plot.title, plot.chart, plot.alt) for plot in section.finding.plots
    )
    return _RenderedSection(section, figures, tuple(_render_table(table) for table in section.finding.tables))


def _render_table(table: Table) -> _RenderedTable:
    rows = tuple(_cells(table, row) for row in table.rows)
    columns = zip(zip(*table.rows, strict=True), zip(*rows, strict=True), strict=True)
    return _RenderedTable(
        table, tuple(_kind(*column) for column in columns) or ("",) * len(table.columns), rows
    )


def _kind(cells: Sequence[Cell], texts: Sequence[str]) -> str:
    if not any(isinstance(cell, str) for cell in cells):
        return "n"
    return "name" if max(map(len, texts)) <= _SHORT else ""


def _cells(table: Table, row: Sequence[Cell]) -> tuple[str, ...]:
    return tuple(
        format_cell(cell, column, table.digits) for cell, column in zip(row, table.columns, strict=True)
    )
