"""Charts of template data in a comparison: bars by category, every word before against after."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from unmask.core.estimate import Estimate
from unmask.findings import charts as plots
from unmask.findings.figure import Figure, figure
from unmask.report import charts, selection
from unmask.report.comparison_figures import Rows, point
from unmask.report.comparison_wording import LETTERS
from unmask.report.selection import Run

BEFORE, AFTER = "before", "after"
GOALS = {"zero": "gender-neutral words", "female": "words for women", "male": "words for men"}


def templates(first: Run, other: Run, number: int) -> list[Figure]:
    """For template measures: bars by category, and every word before against after."""
    figures: list[Figure] = []
    for head in (estimate for estimate in selection.headlines(first) if selection.is_open(estimate)):
        before, after = (_estimates_by_group(run, head) for run in (first, other))
        shared = [group for group in before if group in after]
        letter, where = LETTERS[number], f"{head.measure} on {head.data}"
        bars = [
            point(estimates[group], _group_label(group), series)
            for group in shared
            if not group.startswith(("word=", "template="))
            for estimates, series in ((before, f"A {BEFORE}"), (after, f"{letter} {AFTER}"))
        ]
        if bars:
            title = (
                f"{where} by category, before (A) and after ({letter}); "
                "above 0: towards men, below: towards women"
            )
            chart = plots.bars(bars, axis=charts.unit(head))
            figures.append(figure(f"bars-{number}-{len(figures)}", title, chart, f"{title}. See the tables."))
        words_of = [group for group in shared if group.startswith("word=")]
        points = _scatter_points(before, after, words_of, _goals(first, head))
        if points:
            title = f"{where} of every word, before (A) against after ({letter}); dashed: no change"
            chart = plots.scatter(points, x="before", y="after", diagonal=True)
            figures.append(
                figure(f"words-{number}-{len(figures)}", title, chart, f"{title}. See the tables.")
            )
    return figures


def _estimates_by_group(run: Run, head: Estimate) -> dict[str, Estimate]:
    estimates = [
        e
        for e in run.estimates
        if (e.measure, e.data, e.statistic) == (head.measure, head.data, head.statistic)
    ]
    return {e.group: e for e in estimates if math.isfinite(e.value)}


def _goals(run: Run, head: Estimate) -> Mapping[str, str]:
    """The expected direction of every word, if the data specify it."""
    rows = selection.items_of(run, head)
    if not {"word", "goal"} <= set(rows.column_names):
        return {}
    return dict(zip(rows["word"].to_pylist(), rows["goal"].to_pylist(), strict=True))


def _scatter_points(
    before: Mapping[str, Estimate],
    after: Mapping[str, Estimate],
    groups: Sequence[str],
    goals: Mapping[str, str],
) -> Rows:
    return [
        {
            "x": before[group].value,
            "y": after[group].value,
            "label": selection.plain_group(group),
            "series": GOALS.get(goals.get(selection.plain_group(group), ""), "word"),
        }
        for group in groups
    ]


def _group_label(group: str) -> str:
    if group == "all":
        return "all gender-neutral words"
    return GOALS.get(selection.plain_group(group), selection.plain_group(group))
