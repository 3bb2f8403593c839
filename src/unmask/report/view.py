"""The page put together: what is shown, and in which order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from markupsafe import Markup

from unmask.report import drawing, embed, figures, run, words
from unmask.report.html import asset, template
from unmask.report.meanings import meanings
from unmask.report.pairs import Decided, most_decided
from unmask.report.run import BAND, Run
from unmask.report.tables import estimate_row, findings, spread_row
from unmask.types import Estimate

Twins = Mapping[tuple[str, str], str]


def page(result: Run) -> str:
    """The page of one run."""
    drawn = {
        "headline": figures.headline(result),
        "category": figures.category(result),
        "spread": figures.spread(result),
    }
    scripts = [drawing.library(), asset("page.js")]
    return template("page.html.jinja").render(
        policy=embed.policy(scripts),
        scripts=[Markup(script) for script in scripts],
        style=Markup(asset("page.css")),
        specs=embed.as_script({f.id: f.spec for group in drawn.values() for f in group}),
        figures=drawn,
        download=embed.as_link(result_json(result)),
        **_content(result),
    )


def result_json(result: Run) -> dict[str, Any]:
    """The run as the page hands it out: result.json with its estimates and checks."""
    estimates = [asdict(estimate) for estimate in result.estimates]
    return {**result.meta, "estimates": estimates, "checks": [asdict(check) for check in result.checks]}


def _content(result: Run) -> dict[str, Any]:
    headlines, twins = run.headlines(result), run.twins(result)
    columns = run.split_columns(result)
    return {
        "meta": result.meta,
        "introduction": words.introduction(result),
        "checks": result.checks,
        "failed": [check for check in result.checks if not check.ok],
        "findings": findings(result),
        "headlines": [estimate_row(e, result) for e in headlines],
        "further": [estimate_row(e, result) for e in run.further(result)],
        "unscored": run.unscored(result),
        "splits": [
            (column, [estimate_row(e, result) for e in run.by_group(result, column)]) for column in columns
        ],
        "spreads": [spread_row(e, result) for e in headlines],
        "decided": [_decided(e, result, twins) for e in headlines],
        "limits": words.LIMITS,
        "meanings": meanings(result),
        "band": BAND,
    }


def _decided(estimate: Estimate, result: Run, twins: Twins) -> tuple[str, str | None, list[Decided]]:
    twin = twins.get((estimate.measure, estimate.data))
    return run.label(estimate, result), twin, [] if twin else most_decided(result, estimate)
