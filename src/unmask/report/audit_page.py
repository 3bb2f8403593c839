"""The page of one run put together: what is shown, and in which order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from unmask.core.types import Estimate
from unmask.findings import embed
from unmask.findings import figure as drawing
from unmask.findings.assets import asset, template
from unmask.report import downloads, figures, selection, wording
from unmask.report.check_texts import summarize_checks
from unmask.report.measure_texts import meanings
from unmask.report.pairs import PairView, least_decided, most_decided
from unmask.report.selection import BAND, Run
from unmask.report.tables import estimate_row, headlines_by_dataset, spread_row

Twins = Mapping[tuple[str, str], str]


def page(result: Run) -> str:
    """The page of one run."""
    made = draw_figures(result)
    flat = [figure for group in made.values() for figure in group]
    return render_page("page.html.jinja", flat, **_content(result, made))


def draw_figures(result: Run) -> dict[str, list[drawing.Figure]]:
    """Every chart of the page, by section."""
    return {
        "headline": figures.headline(result),
        "category": [*figures.category(result), *figures.word_leans(result)],
        "spread": figures.difference_histograms(result),
    }


def render_page(name: str, charts: list[drawing.Figure], **content: Any) -> str:
    """A page from its template, with the scripts that make its charts live."""
    scripts = [drawing.library(), asset("page.js")]
    return template(name).render(
        policy=embed.policy(scripts),
        scripts=[Markup(script) for script in scripts],
        style=Markup(asset("page.css")),
        specs=embed.as_script({figure.id: figure.spec for figure in charts}),
        limits=wording.LIMITS,
        band=BAND,
        **content,
    )


def _content(result: Run, made: Mapping[str, list[drawing.Figure]]) -> dict[str, Any]:
    headlines, twins, bibtex = (
        selection.headlines(result),
        selection.duplicate_measures(result),
        downloads.collect_bibtex([result]),
    )
    columns = selection.split_columns(result)
    return {
        "meta": result.meta,
        "figures": made,
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
        "decided": [_decided(e, result, twins) for e in headlines],
        "meanings": meanings(result),
        "bibtex": bibtex,
        "files": downloads.of_one(result, bibtex),
    }


def _decided(
    estimate: Estimate, result: Run, twins: Twins
) -> tuple[str, str | None, list[PairView], list[PairView]]:
    name, twin = selection.label(estimate, result), twins.get((estimate.measure, estimate.data))
    if twin:
        return name, twin, [], []
    return name, None, most_decided(result, estimate), least_decided(result, estimate)
