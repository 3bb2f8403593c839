"""Render a result's findings as one HTML page, and every plot as an SVG file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from unmask.core.files import write_text
from unmask.findings import Cell, Section, Table, Value, embed
from unmask.findings import figure as drawing
from unmask.findings.assets import asset, template
from unmask.findings.numbers import number, p_value

if TYPE_CHECKING:
    from unmask.findings.envelope import Result

_SHORT = 28  # cells up to this many characters do not wrap


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


def page(result: Result) -> str:
    """The page of a result as HTML; it loads nothing from the network."""
    return _page(result.meta, [_render_section(section) for section in result.findings])


def write_page(result: Result, path: Path) -> Path:
    """Write the page of a result, and an SVG of every plot beside it."""
    rendered = [_render_section(section) for section in result.findings]
    for figure in (figure for section in rendered for figure in section.figures):
        write_text(path.parent / f"{figure.id}.svg", figure.svg)
    return write_text(path, _page(result.meta, rendered))


def fragment(sections: Sequence[Section]) -> str:
    """Sections as HTML without scripts, for notebooks."""
    rendered = [_render_section(section) for section in sections]
    return template("fragment.html.jinja").render(sections=rendered, lead="", scripts=False)


def _page(meta: Mapping[str, Any], sections: Sequence[_RenderedSection]) -> str:
    scripts = [drawing.library(), asset("page.js")]
    return template("findings.html.jinja").render(
        title=meta["title"] or meta["kind"],
        lead=meta["lead"],
        policy=embed.policy(scripts),
        scripts=[Markup(script) for script in scripts],
        style=Markup(asset("page.css")),
        specs=embed.as_script({figure.id: figure.spec for section in sections for figure in section.figures}),
        sections=sections,
        content=meta,
        download="result.json",
        link=embed.as_link(meta),
    )


def write(
    title: str,
    lead: str,
    sections: Sequence[Section],
    content: Mapping[str, Any],
    folder: Path,
    download: str,
) -> Path:
    """Write `report.html` and an SVG of every plot; `content` is offered as a file."""
    rendered = [_render_section(section) for section in sections]
    for figure in (figure for section in rendered for figure in section.figures):
        write_text(folder / f"{figure.id}.svg", figure.svg)
    meta = {**content, "title": title, "lead": lead}
    return write_text(folder / "report.html", _page(meta, rendered))


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
