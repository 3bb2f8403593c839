"""Which charts a page has, and their names."""

from __future__ import annotations

import math
from collections.abc import Iterable

from unmask.core.types import Estimate
from unmask.findings import charts as plots
from unmask.findings import numbers
from unmask.findings.figure import Figure, figure
from unmask.report import charts, selection, wording
from unmask.report.measure_texts import in_nats
from unmask.report.selection import Run

SHARES = ("Share of pairs in which the stereotyping side is preferred (%)", 50.0)
ENDS = 12  # words shown at either end
SCALES = ("Other numbers out of 100; 100 is ideal", None)


def headline(result: Run) -> list[Figure]:
    """One chart for every kind of headline number; shares of pairs stand side by side."""
    figures = []
    for i, (title, estimates) in enumerate(panels(selection.headlines(result))):
        told = "; ".join(f"{selection.label(e, result)} {_told(e)}" for e in estimates)
        chart = charts.intervals(estimates, result)
        figures.append(figure(f"headline-{i}", title, chart, f"{title}: {told}."))
    return figures


def category(result: Run) -> list[Figure]:
    """One chart by category for every dataset and kind of headline number."""
    figures: list[Figure] = []
    for data in dict.fromkeys(estimate.data for estimate in selection.headlines(result)):
        mine = [estimate for estimate in selection.by_group(result, "category") if estimate.data == data]
        for title, estimates in panels(mine):
            named = f"{title} on {data}"
            told = f"{named}, by category, with intervals; the same numbers are in the table."
            figures.append(figure(f"category-{len(figures)}", named, charts.groups(estimates), told))
    return figures


def word_leans(result: Run) -> list[Figure]:
    """For sentences with an open slot: the words that lean most to either side."""
    figures: list[Figure] = []
    for head in (one for one in selection.headlines(result) if selection.is_open(one)):
        mine = [
            e for e in selection.by_group(result, "word") if (e.measure, e.data) == (head.measure, head.data)
        ]
        ranked = sorted((e for e in mine if math.isfinite(e.value)), key=lambda e: -e.value)
        shown = ranked if len(ranked) <= 2 * ENDS else [*ranked[:ENDS], *ranked[-ENDS:]]
        if shown:
            rows = [{"label": selection.group_name(e)} | _ends(e) for e in shown]
            title = (
                f"{head.measure} on {head.data}: the words that lean most to either side, of {len(ranked)}"
            )
            told = "; ".join(f"{selection.group_name(e)} {_told(e)}" for e in shown)
            chart = plots.intervals(rows, axis=charts.unit(head), null=head.null)
            figures.append(figure(f"words-{len(figures)}", title, chart, f"{title}: {told}."))
    return figures


def difference_histograms(result: Run) -> list[Figure]:
    """The histograms of differences; measures that repeat an earlier one are left out."""
    twins = selection.duplicate_measures(result)
    kept = [e for e in selection.headlines(result) if (e.measure, e.data) not in twins]
    kinds = {
        "Score of the stereotyping sentence less that of the other": [
            e for e in kept if not selection.is_open(e)
        ],
        "Score of the man's word less that of the woman's": [e for e in kept if selection.is_open(e)],
    }
    told = "Histograms of the differences of the two scores, one per measure; the table gives their spread."
    figures: list[Figure] = []
    for title, estimates in kinds.items():
        named = [
            (selection.label(e, result), selection.differences(result, e), in_nats(e.measure))
            for e in estimates
        ]
        named = [one for one in named if one[1]]
        if named:
            name = "differences-open" if selection.is_open(estimates[0]) else "differences"
            chart = charts.differences(named, slot=selection.is_open(estimates[0]))
            figures.append(figure(name, title, chart, f"{title}. {told}"))
    return figures


def panels(estimates: Iterable[Estimate]) -> list[tuple[str, list[Estimate]]]:
    """Estimates that can share one axis, under the axis' name; shares of pairs come first."""
    found: dict[tuple[str, float | None], list[Estimate]] = {SHARES: []}
    for estimate in estimates:
        found.setdefault(_axis(estimate), []).append(estimate)
    return [(axis[0], members) for axis, members in found.items() if members]


def _axis(estimate: Estimate) -> tuple[str, float | None]:
    if estimate.statistic in ("bias-score", "ss") and estimate.null == SHARES[1]:
        return SHARES
    if estimate.statistic in ("lms", "icat"):
        return SCALES
    title = wording.STATISTICS.get(estimate.statistic, estimate.statistic)
    return title[:1].upper() + title[1:], estimate.null


def _ends(estimate: Estimate) -> dict[str, float]:
    """Where there is no interval the ends are the value: nothing is drawn."""
    low, high = (v if math.isfinite(v) else estimate.value for v in (estimate.low, estimate.high))
    return {"value": estimate.value, "low": low, "high": high}


def _told(estimate: Estimate) -> str:
    digits = wording.digits_of(estimate.statistic)
    return f"{numbers.number(estimate.value, digits)} (interval {wording.interval(estimate, digits)})"
