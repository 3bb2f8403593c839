"""The charts of open pronouns in a comparison: bars by category, every word before against after."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from unmask.core.types import Estimate
from unmask.findings import charts as plots
from unmask.findings.figure import Figure, figure
from unmask.report import charts, selection
from unmask.report.comparison_figures import Rows, point
from unmask.report.comparison_wording import LETTERS
from unmask.report.selection import Run

BEFORE, AFTER = "before", "after"
GOALS = {"zero": "should not lean", "female": "means a woman", "male": "means a man"}


def templates(first: Run, other: Run, number: int) -> list[Figure]:
    """For sentences with an open pronoun: bars by category, and every word before against after."""
    found: list[Figure] = []
    for head in (one for one in selection.headlines(first) if selection.is_open(one)):
        before, after = (_open_numbers(one, head) for one in (first, other))
        shared = [group for group in before if group in after]
        letter, where = LETTERS[number], f"{head.measure} on {head.data}"
        bars = [
            point(some[group], _told(group), series)
            for group in shared
            if not group.startswith(("word=", "template="))
            for some, series in ((before, f"A {BEFORE}"), (after, f"{letter} {AFTER}"))
        ]
        if bars:
            title = f"{where} by category, before (A) and after ({letter}); 0 is no lean, up is towards men"
            chart = plots.bars(bars, axis=charts.unit(head))
            found.append(figure(f"bars-{number}-{len(found)}", title, chart, f"{title}. See the tables."))
        words_of = [group for group in shared if group.startswith("word=")]
        points = _scattered(before, after, words_of, _goals(first, head))
        if points:
            title = f"{where} of every word, before (A) against after ({letter}); dashed: no change"
            chart = plots.scatter(points, x="before", y="after", diagonal=True)
            found.append(figure(f"words-{number}-{len(found)}", title, chart, f"{title}. See the tables."))
    return found


def _open_numbers(one: Run, head: Estimate) -> dict[str, Estimate]:
    mine = [
        e
        for e in one.estimates
        if (e.measure, e.data, e.statistic) == (head.measure, head.data, head.statistic)
    ]
    return {e.group: e for e in mine if math.isfinite(e.value)}


def _goals(one: Run, head: Estimate) -> Mapping[str, str]:
    """What is right for a word, where the data say so."""
    rows = selection.items_of(one, head)
    if not {"word", "goal"} <= set(rows.column_names):
        return {}
    return dict(zip(rows["word"].to_pylist(), rows["goal"].to_pylist(), strict=True))


def _scattered(
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


def _told(group: str) -> str:
    if group == "all":
        return "all that should not lean"
    return GOALS.get(selection.plain_group(group), selection.plain_group(group))
