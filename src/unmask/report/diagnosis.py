"""Diagnoses as one page, and every plot as a file of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from unmask.diagnose.running import Diagnosed
from unmask.diagnose.types import Cell, Ranged, Table
from unmask.report import drawing, embed
from unmask.report.html import asset, template
from unmask.report.words import number, p_value


@dataclass(frozen=True, slots=True)
class Section:
    """One diagnosis as the page shows it."""

    found: Diagnosed
    figures: tuple[drawing.Figure, ...]
    tables: tuple[tuple[Table, tuple[tuple[str, ...], ...]], ...]


def write(found: Sequence[Diagnosed], whole: Mapping[str, Any], folder: Path) -> Path:
    """`report.html` and an SVG of every plot; `whole` is what `diagnosis.json` holds."""
    sections = [_section(one) for one in found]
    for figure in (figure for section in sections for figure in section.figures):
        (folder / f"{figure.id}.svg").write_text(figure.svg, encoding="utf-8")
    path = folder / "report.html"
    path.write_text(_page(sections, whole), encoding="utf-8", newline="\n")
    return path


def shown(cell: Cell, column: str, digits: int) -> str:
    """A cell for reading: a number with its interval, a p-value, a dash where there is nothing."""
    if cell is None:
        return "–"
    if isinstance(cell, Ranged):
        ends = f" ({number(cell.low, digits)} to {number(cell.high, digits)})"
        return number(cell.value, digits) + (ends if cell.low == cell.low else "")
    if isinstance(cell, float):
        return p_value(cell) if column == "p" or column.startswith("p ") else number(cell, digits)
    return f"{cell:,}" if isinstance(cell, int) else cell


def _section(one: Diagnosed) -> Section:
    figures = tuple(drawing.figure(plot.id, plot.title, plot.chart, plot.alt) for plot in one.finding.plots)
    tables = tuple((table, tuple(_cells(table, row) for row in table.rows)) for table in one.finding.tables)
    return Section(one, figures, tables)


def _cells(table: Table, row: Sequence[Cell]) -> tuple[str, ...]:
    return tuple(shown(cell, column, table.digits) for cell, column in zip(row, table.columns, strict=True))


def _page(sections: Sequence[Section], whole: Mapping[str, Any]) -> str:
    scripts = [drawing.library(), asset("page.js")]
    return template("diagnosis.html.jinja").render(
        policy=embed.policy(scripts),
        scripts=[Markup(script) for script in scripts],
        style=Markup(asset("page.css")),
        specs=embed.as_script({f.id: f.spec for section in sections for f in section.figures}),
        sections=sections,
        whole=whole,
        download=embed.as_link(whole),
    )
