"""Render a result's findings as one HTML page, and every plot as an SVG file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from unmask.core.files import write_text
from unmask.findings import Cell, Section, Table
from unmask.findings import figure as drawing
from unmask.findings.assets import as_link, as_script, asset, policy, template

if TYPE_CHECKING:
    from unmask.findings.envelope import Result

RESULT = "result.json"
_SHORT = 28  # cells up to this many characters do not wrap


@dataclass(frozen=True, slots=True)
class Download:
    """A file embedded in a page: its name, a description, and a data URL with its content."""

    name: str
    description: str
    link: str


@dataclass(frozen=True, slots=True)
class _RenderedTable:
    """A table with its cells as text and a CSS class for each column."""

    table: Table
    kinds: tuple[str, ...]  # n: numbers; name: short text that does not wrap
    rows: list[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class _RenderedSection:
    part: Section
    figures: tuple[drawing.Figure, ...]
    tables: tuple[_RenderedTable, ...]


def render(name: str, plots: Sequence[drawing.Figure], /, **content: Any) -> str:
    """Render a page from its template, with the scripts that make its charts interactive."""
    return template(name).render(
        policy=page_policy(),
        scripts=[Markup(drawing.library()), Markup(asset("page.js"))],
        style=Markup(asset("page.css")),
        specs=as_script({figure.id: figure.spec for figure in plots}),
        **content,
    )


def page_policy() -> str:
    """The content security policy of every page: only its own scripts, nothing from the network."""
    return policy((drawing.library(), asset("page.js")))


def page(result: Result) -> str:
    """The page of a result as HTML; it loads nothing from the network."""
    sections = [_render_section(section) for section in result.findings]
    meta = result.meta
    return render(
        "findings.html.jinja",
        [figure for section in sections for figure in section.figures],
        title=meta["title"] or f"A result of unmask: {meta['kind']}",
        lead=meta["lead"],
        sections=sections,
        meta=meta,
        failed=[(check.name, check.detail) for check in result.checks if not check.ok],
        files=[Download(RESULT, "all numbers on this page, in full precision", as_link(meta))],
    )


def draw_figures(sections: Sequence[Section]) -> list[drawing.Figure]:
    """Every plot of the sections."""
    return [
        drawing.figure(plot.id, plot.title, plot.chart, plot.alt)
        for section in sections
        for plot in section.finding.plots
    ]


def fragment(sections: Sequence[Section]) -> str:
    """Sections as HTML without scripts, for notebooks."""
    rendered = [_render_section(section) for section in sections]
    return template("fragment.html.jinja").render(sections=rendered, lead="")


def write(
    title: str, lead: str, sections: Sequence[Section], content: Any, folder: Path, download: str
) -> Path:
    """Write `report.html` and an SVG of every plot; `content` is offered as a file."""
    from unmask.findings.envelope import Result
    from unmask.findings.storage import section_json

    meta = {"kind": "", "checks": [], **content, "title": title, "lead": lead}
    meta["findings"] = [section_json(section) for section in sections]
    for figure in draw_figures(sections):
        write_text(folder / f"{figure.id}.svg", figure.svg)
    return write_text(folder / "report.html", page(Result(meta)))


def _render_section(section: Section) -> _RenderedSection:
    tables = tuple(_render_table(table) for table in section.finding.tables)
    return _RenderedSection(section, tuple(draw_figures([section])), tables)


def _render_table(table: Table) -> _RenderedTable:
    rows = table.texts()
    columns = zip(zip(*table.rows, strict=True), zip(*rows, strict=True), strict=True)
    return _RenderedTable(
        table, tuple(_kind(*column) for column in columns) or ("",) * len(table.columns), rows
    )


def _kind(cells: Sequence[Cell], texts: Sequence[str]) -> str:
    if not any(isinstance(cell, str) for cell in cells):
        return "n"
    return "name" if max(map(len, texts)) <= _SHORT else ""
