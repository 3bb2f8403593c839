"""The page of one run: its content and the order of its sections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unmask.core.estimate import Estimate
from unmask.findings import figure as drawing
from unmask.findings.envelope import Result
from unmask.findings.html import render
from unmask.report import downloads, figures, selection, wording
from unmask.report.check_texts import summarize_checks
from unmask.report.pairs import PairView, largest_differences, smallest_differences
from unmask.report.selection import BAND
from unmask.report.tables import estimate_row, headlines_by_dataset, spread_row

Duplicates = Mapping[tuple[str, str], str]


def page(result: Result) -> str:
    """Render the page of one run."""
    figures_by_section = draw_figures(result)
    flat = [figure for group in figures_by_section.values() for figure in group]
    return render_page("page.html.jinja", flat, **_content(result, figures_by_section))


def draw_figures(result: Result) -> dict[str, list[drawing.Figure]]:
    """Draw every chart of the page, by section."""
    return {
        "headline": figures.headline(result),
        "category": [*figures.category(result), *figures.word_leans(result)],
        "spread": figures.difference_histograms(result),
    }


def render_page(name: str, charts: list[drawing.Figure], **content: Any) -> str:
    """Render a page about scored pairs."""
    return render(name, charts, limits=wording.LIMITS, band=BAND, **content)


def _content(result: Result, figures_by_section: Mapping[str, list[drawing.Figure]]) -> dict[str, Any]:
    headlines, duplicates = result.headlines(), selection.duplicate_measures(result)
    bibtex = downloads.collect_bibtex([result])
    columns = selection.split_columns(result)
    return {
        "meta": result.meta,
        "figures": figures_by_section,
        "introduction": wording.introduction(result),
        "checks": result.checks,
        "checked": summarize_checks([result], selection.model_names([result])),
        "failed": [(check.name, check.detail) for check in result.checks if not check.ok],
        "findings": headlines_by_dataset(result),
        "headlines": [estimate_row(e, result) for e in headlines],
        "further": [estimate_row(e, result) for e in selection.secondary_estimates(result)],
        "unscored": selection.unscored_reasons(result),
        "splits": [
            (column, [estimate_row(e, result) for e in selection.by_group(result, column)])
            for column in columns
        ],
        "spreads": [spread_row(e, result) for e in headlines],
        "decided": [_extreme_pairs(e, result, duplicates) for e in headlines],
        "meanings": wording.meanings(result),
        "bibtex": bibtex,
        "files": downloads.of_one(result, bibtex),
    }


def _extreme_pairs(
    estimate: Estimate, result: Result, duplicates: Duplicates
) -> tuple[str, str | None, list[PairView], list[PairView]]:
    name = selection.label(estimate, result)
    duplicate_of = duplicates.get((estimate.measure, estimate.data))
    if duplicate_of:
        return name, duplicate_of, [], []
    return name, None, largest_differences(result, estimate), smallest_differences(result, estimate)
