"""Render a result's findings as one HTML page, and every plot as an SVG file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from unmask.findings import Cell, Section
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


def page(result: Result, figures: Mapping[str, Sequence[drawing.Figure]] | None = None) -> str:
    """The page of a result as HTML, with its charts if they are drawn already; it loads nothing from the network."""
    drawn = draw_figures(result.findings) if figures is None else figures
    sections = [_render_section(*each) for each in zip(result.findings, drawn.values(), strict=True)]
    meta = result.meta
    failed = [(check.name, check.detail) for check in result.checks if not check.ok]
    return render(
        "findings.html.jinja",
        [figure for section in sections for figure in section["figures"]],
        title=meta["title"] or f"A result of unmask: {meta['kind']}",
        lead=meta["lead"],
        sections=sections,
        meta=meta,
        written=result.timestamp,
        warning=f"{len(failed)} of {len(result.checks)} checks failed" if failed else "",
        failed=failed,
        files=[Download(RESULT, "all numbers on this page, in full precision", as_link(meta))],
    )


def draw_figures(sections: Sequence[Section]) -> dict[str, list[drawing.Figure]]:
    """Draw every plot, by the place of its section."""
    return {
        str(place): [drawing.figure(plot.id, plot.title, plot.chart, plot.alt) for plot in section.finding.plots]
        for place, section in enumerate(sections)
    }


def fragment(sections: Sequence[Section]) -> str:
    """Sections as HTML without scripts, for notebooks."""
    rendered = [_render_section(*each) for each in zip(sections, draw_figures(sections).values(), strict=True)]
    return template("fragment.html.jinja").render(sections=rendered, lead="")


def _render_section(section: Section, figures: Sequence[drawing.Figure]) -> dict[str, Any]:
    """A section for the template: its figures, its tables as text with a CSS class for each column."""
    tables = []
    for table in section.finding.tables:
        rows = table.texts()
        columns = zip(zip(*table.rows, strict=True), zip(*rows, strict=True), strict=True)
        kinds = [_column_kind(*column) for column in columns] or [""] * len(table.columns)
        tables.append({"table": table, "kinds": kinds, "rows": rows})
    return {"part": section, "figures": figures, "tables": tables}


def _column_kind(cells: Sequence[Cell], texts: Sequence[str]) -> str:
    """The CSS class of a column: n for numbers, name for short text that does not wrap."""
    if not any(isinstance(cell, str) for cell in cells):
        return "n"
    return "name" if max(map(len, texts)) <= _SHORT else ""
