"""The charts of a page, with titles and alternative texts."""

from __future__ import annotations

import math
from collections.abc import Iterable

from unmask.core.estimate import Estimate
from unmask.findings import charts as plots
from unmask.findings import numbers
from unmask.findings.envelope import Result
from unmask.findings.figure import Figure, figure
from unmask.report import charts, selection, wording

SHARES = ("Share of pairs in which the stereotyping side is preferred (%)", 50.0)
ENDS = 12  # words shown at each end of the ranking
SCALES = ("Other scores out of 100; 100 is ideal", None)


def headline(result: Result) -> list[Figure]:
    """One chart for each kind of headline statistic; shares of pairs share one chart."""
    figures = []
    for i, (title, estimates) in enumerate(panels(result.headlines())):
        values = "; ".join(f"{selection.label(e, result)} {_value_text(e)}" for e in estimates)
        chart = charts.intervals(estimates, result)
        figures.append(figure(f"headline-{i}", title, chart, f"{title}: {values}."))
    return figures


def category(result: Result) -> list[Figure]:
    """One chart by category for every dataset and kind of headline statistic."""
    figures: list[Figure] = []
    for data in dict.fromkeys(estimate.data for estimate in result.headlines()):
        of_data = [estimate for estimate in selection.by_group(result, "category") if estimate.data == data]
        for title, estimates in panels(of_data):
            named = f"{title} on {data}"
            alt_text = f"{named}, by category, with intervals; the same numbers are in the table."
            figures.append(figure(f"category-{len(figures)}", named, charts.groups(estimates), alt_text))
    return figures


def word_leans(result: Result) -> list[Figure]:
    """For template data: the words with the largest values in either direction."""
    figures: list[Figure] = []
    for head in (estimate for estimate in result.headlines() if selection.is_open(estimate)):
        by_word = [
            e for e in selection.by_group(result, "word") if (e.measure, e.data) == (head.measure, head.data)
        ]
        ranked = sorted((e for e in by_word if math.isfinite(e.value)), key=lambda e: -e.value)
        shown = ranked if len(ranked) <= 2 * ENDS else [*ranked[:ENDS], *ranked[-ENDS:]]
        if shown:
            rows = [charts.point(e, selection.group_name(e.group)) for e in shown]
            title = (
                f"{head.measure} on {head.data}: the words that lean most to either side, of {len(ranked)}"
            )
            values = "; ".join(f"{selection.group_name(e.group)} {_value_text(e)}" for e in shown)
            chart = plots.intervals(rows, axis=charts.unit(head), null=head.null)
            figures.append(figure(f"words-{len(figures)}", title, chart, f"{title}: {values}."))
    return figures


def difference_histograms(result: Result) -> list[Figure]:
    """Histograms of differences; measures that duplicate an earlier one are left out."""
    twins = selection.duplicate_measures(result)
    distinct = [e for e in result.headlines() if (e.measure, e.data) not in twins]
    kinds = {
        "Score of the stereotyping sentence minus score of the other": [
            e for e in distinct if not selection.is_open(e)
        ],
        "Score of the masculine word minus score of the feminine word": [
            e for e in distinct if selection.is_open(e)
        ],
    }
    alt_text = (
        "Histograms of the differences of the two scores, one per measure; the table gives their spread."
    )
    figures: list[Figure] = []
    for title, estimates in kinds.items():
        named = [
            (selection.label(e, result), selection.differences(result, e), selection.in_nats(e.measure))
            for e in estimates
        ]
        named = [histogram for histogram in named if histogram[1]]
        if named:
            name = "differences-open" if selection.is_open(estimates[0]) else "differences"
            chart = charts.differences(named, slot=selection.is_open(estimates[0]))
            figures.append(figure(name, title, chart, f"{title}. {alt_text}"))
    return figures


def panels(estimates: Iterable[Estimate]) -> list[tuple[str, list[Estimate]]]:
    """Group estimates that can share an axis, by axis title; shares of pairs come first."""
    by_axis: dict[tuple[str, float | None], list[Estimate]] = {SHARES: []}
    for estimate in estimates:
        by_axis.setdefault(_axis(estimate), []).append(estimate)
    return [(axis[0], members) for axis, members in by_axis.items() if members]


def _axis(estimate: Estimate) -> tuple[str, float | None]:
    if estimate.statistic in ("bias-score", "ss") and estimate.null == SHARES[1]:
        return SHARES
    if estimate.statistic in ("lms", "icat"):
        return SCALES
    title = wording.STATISTICS.get(estimate.statistic, estimate.statistic)
    return title[:1].upper() + title[1:], estimate.null


def _value_text(estimate: Estimate) -> str:
    digits = wording.digits_of(estimate.statistic)
    return f"{numbers.number(estimate.value, digits)} (interval {wording.interval(estimate, digits)})"
