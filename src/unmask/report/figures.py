"""Which charts a page has, and their names."""

from __future__ import annotations

from collections.abc import Iterable

from unmask.report import charts, run, words
from unmask.report.drawing import Figure, figure
from unmask.report.meanings import in_nats
from unmask.report.run import Run
from unmask.types import Estimate

SHARES = ("Share of pairs in which the stereotyping side is preferred (%)", 50.0)
SCALES = ("Other numbers out of 100; 100 is ideal", None)


def headline(result: Run) -> list[Figure]:
    """One chart for every kind of headline number; shares of pairs stand side by side."""
    figures = []
    for i, (title, estimates) in enumerate(panels(run.headlines(result))):
        told = "; ".join(f"{run.label(e, result)} {_told(e)}" for e in estimates)
        chart = charts.intervals(estimates, result)
        figures.append(figure(f"headline-{i}", title, chart, f"{title}: {told}."))
    return figures


def category(result: Run) -> list[Figure]:
    """One chart by category for every dataset and kind of headline number."""
    figures: list[Figure] = []
    for data in dict.fromkeys(estimate.data for estimate in run.headlines(result)):
        mine = [estimate for estimate in run.by_group(result, "category") if estimate.data == data]
        for title, estimates in panels(mine):
            named = f"{title} on {data}"
            told = f"{named}, by category, with intervals; the same numbers are in the table."
            figures.append(figure(f"category-{len(figures)}", named, charts.groups(estimates), told))
    return figures


def spread(result: Run) -> list[Figure]:
    """The histograms of differences; measures that repeat an earlier one are left out."""
    twins = run.twins(result)
    kept = [e for e in run.headlines(result) if (e.measure, e.data) not in twins]
    named = [(run.label(e, result), run.differences(result, e), in_nats(e.measure)) for e in kept]
    named = [one for one in named if one[1]]
    if not named:
        return []
    title = "Score of the stereotyping sentence less that of the other"
    told = "Histograms of the differences of the two scores, one per measure; the table gives their spread."
    return [figure("differences", title, charts.differences(named), told)]


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
    title = words.STATISTICS.get(estimate.statistic, estimate.statistic)
    return title[:1].upper() + title[1:], estimate.null


def _told(estimate: Estimate) -> str:
    digits = words.digits_of(estimate.statistic)
    return f"{words.number(estimate.value, digits)} (interval {words.interval(estimate, digits)})"
