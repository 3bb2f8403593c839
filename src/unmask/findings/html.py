"""Findings as one page, and every plot as a file of its own."""

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

_SHORT = 28  # characters of a cell that stay on one line


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the page: what was asked, what was found, and on what it rests."""

    name: str
    title: str
    lead: str
    finding: Finding
    foot: str = ""


@dataclass(frozen=True, slots=True)
class _Filled:
    """A table for reading: its cells as text, and of every column how it is set."""

    table: Table
    kinds: tuple[str, ...]  # n: numbers; name: short words, not to be broken
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class _Drawn:
    part: Section
    figures: tuple[drawing.Figure, ...]
    tables: tuple[_Filled, ...]


def write(
    title: str, lead: str, sections: Sequence[Section], whole: Mapping[str, Any], folder: Path, download: str
) -> Path:
    """`report.html` and an SVG of every plot; `whole` is what the file named `download` holds."""
    drawn = [_drawn(one) for one in sections]
    for figure in (figure for section in drawn for figure in section.figures):
        (folder / f"{figure.id}.svg").write_text(figure.svg, encoding="utf-8")
    scripts = [drawing.library(), asset("page.js")]
    page = template("findings.html.jinja").render(
        title=title,
        lead=lead,
        policy=embed.policy(scripts),
        scripts=[Markup(script) for script in scripts],
        style=Markup(asset("page.css")),
        specs=embed.as_script({figure.id: figure.spec for section in drawn for figure in section.figures}),
        sections=drawn,
        whole=whole,
        download=download,
        link=embed.as_link(whole),
    )
    path = folder / "report.html"
    path.write_text(page, encoding="utf-8", newline="\n")
    return path


def format_cell(cell: Cell, column: str, digits: int) -> str:
    """A cell for reading: a number with its interval, a p-value, a dash where there is nothing."""
    if cell is None:
        return "–"
    if isinstance(cell, Value):
        ends = f" ({number(cell.low, digits)} to {number(cell.high, digits)})"
        return number(cell.value, digits) + (ends if cell.low == cell.low else "")
    if isinstance(cell, float):
        return p_value(cell) if column == "p" or column.startswith("p ") else number(cell, digits)
    return f"{cell:,}" if isinstance(cell, int) else cell


def _drawn(one: Section) -> _Drawn:
    figures = tuple(drawing.figure(plot.id, plot.title, plot.chart, plot.alt) for plot in one.finding.plots)
    return _Drawn(one, figures, tuple(_filled(table) for table in one.finding.tables))


def _filled(table: Table) -> _Filled:
    rows = tuple(_cells(table, row) for row in table.rows)
    columns = zip(zip(*table.rows, strict=True), zip(*rows, strict=True), strict=True)
    return _Filled(table, tuple(_kind(*column) for column in columns) or ("",) * len(table.columns), rows)


def _kind(cells: Sequence[Cell], texts: Sequence[str]) -> str:
    if not any(isinstance(cell, str) for cell in cells):
        return "n"
    return "name" if max(map(len, texts)) <= _SHORT else ""


def _cells(table: Table, row: Sequence[Cell]) -> tuple[str, ...]:
    return tuple(
        format_cell(cell, column, table.digits) for cell, column in zip(row, table.columns, strict=True)
    )
