"""The page of one run: its content and the order of its sections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unmask.audit.interpretation import checks_warning
from unmask.audit.result import AuditResult
from unmask.core.statistic import BAND
from unmask.findings.figure import Figure
from unmask.findings.html import render
from unmask.report import charts, selection, tables, wording
from unmask.report.pairs import decided_pairs
from unmask.report.provenance import names_files, repeat_command
from unmask.report.tables import caution_lines, estimate_row, headlines_by_dataset, spread_row


def page(result: AuditResult, figures: Mapping[str, list[Figure]] | None = None) -> str:
    """Render the page of one run, with its charts if they are drawn already."""
    figures_by_section = draw_figures(result) if figures is None else figures
    flat = [figure for group in figures_by_section.values() for figure in group]
    return render_page("page.html.jinja", flat, **_content(result, figures_by_section))


def draw_figures(result: AuditResult) -> dict[str, list[Figure]]:
    """Draw every chart of the page, by section."""
    return {
        "headline": charts.headline(result),
        "category": [*charts.category(result), *charts.word_leans(result)],
        "spread": charts.difference_histograms(result),
    }


def render_page(name: str, drawn: list[Figure], /, **content: Any) -> str:
    """Render a page about scored pairs."""
    return render(name, drawn, limits=wording.LIMITS, band=BAND, **content)


def _content(result: AuditResult, figures_by_section: Mapping[str, list[Figure]]) -> dict[str, Any]:
    headlines, duplicates = result.headlines(), selection.duplicate_measures(result)
    bibtex, shown = tables.collect_bibtex([result]), {id(e) for e in headlines}
    columns = dict.fromkeys(e.group.partition("=")[0] for e in result.estimates if "=" in e.group)
    decided = []  # pairs of every measure, except one whose differences equal those of an earlier one
    views = iter(decided_pairs(result, [e for e in headlines if (e.measure, e.data) not in duplicates]))
    for e in headlines:
        twin = duplicates.get((e.measure, e.data))
        decided.append((selection.label(e, result), twin, *(([], []) if twin else next(views))))
    detectable, validity = caution_lines(result)
    return {
        "meta": result.meta,
        "detectable": detectable,
        "validity": validity,
        "kinds": selection.item_kinds(headlines),
        "figures": figures_by_section,
        "introduction": wording.introduction(result),
        "checks": result.checks,
        "checked": wording.summarize_checks([result], selection.model_names([result])),
        "failed": [(check.name, check.detail) for check in result.checks if not check.ok],
        "warning": checks_warning(result),
        "written": result.timestamp,
        "command": repeat_command(result),
        "names_files": names_files(result),
        "findings": headlines_by_dataset(result),
        "headlines": [estimate_row(e, result) for e in headlines],
        "further": [estimate_row(e, result) for e in result.estimates if e.group == "all" and id(e) not in shown],
        "unscored": selection.unscored_reasons(result),
        "splits": [
            (column, [estimate_row(e, result) for e in selection.by_group(result, column)])
            for column in sorted(columns, key=lambda column: column != "category")
        ],
        "spreads": [spread_row(e, result) for e in headlines],
        "decided": decided,
        "meanings": wording.meanings(result),
        "bibtex": bibtex,
        "files": tables.files_of_one(result, bibtex),
    }
