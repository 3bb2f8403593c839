"""The charts of a comparison: models side by side, paired changes, differences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from unmask.core.types import Estimate
from unmask.findings import charts as plots
from unmask.findings.figure import Figure, figure
from unmask.report import charts, comparison_wording, figures, selection
from unmask.report.comparison_wording import LETTERS
from unmask.report.measure_texts import in_nats
from unmask.report.selection import Run

if TYPE_CHECKING:
    from unmask.stats import Comparison

Rows = list[dict[str, Any]]


def side_by_side(runs: Sequence[Run], names: Sequence[str]) -> list[Figure]:
    """The headline numbers of all models on one axis for each kind of number."""
    found: list[Figure] = []
    by_run = [selection.headlines(one) for one in runs]
    for title, members in figures.panels(estimate for some in by_run for estimate in some):
        wanted = {id(one) for one in members}
        rows = [
            point(one, f"{one.measure} · {one.data}", name)
            for some, name in zip(by_run, lettered_names(names), strict=True)
            for one in some
            if id(one) in wanted
        ]
        chart = plots.intervals(_by_label(rows), axis=charts.unit(members[0]), null=members[0].null)
        told = f"{title}, by model; the same numbers are in the table."
        found.append(figure(f"headline-{len(found)}", title, chart, told))
    return found


def changes(compared: Sequence[Comparison], names: Sequence[str], *, several: bool) -> list[Figure]:
    """The paired change of every headline number from the first run, against no change."""
    found: list[Figure] = []
    for kind, members in _by_kind(first_of_each(compared)).items():
        rows = [
            {
                "label": comparison_wording.label(one, several=several),
                **ends(one.change, one.low, one.high),
                **({"series": f"{LETTERS[one.run]} {names[one.run]}"} if len(names) > 2 else {}),
            }
            for one in members
        ]
        title = f"Change of {kind} since A, over the items both runs scored; dashed: no change"
        chart = plots.intervals(_by_label(rows), axis=UNITS.get(members[0].statistic, "change"), null=0.0)
        found.append(figure(f"changes-{len(found)}", title, chart, f"{title}. The table has the numbers."))
    return found


def by_category(compared: Sequence[Comparison], names: Sequence[str]) -> list[Figure]:
    """The change in every category, one chart for each run, dataset and kind of number."""
    found: list[Figure] = []
    heads = {(one.run, one.measure, one.data, one.statistic) for one in first_of_each(compared)}
    parts: dict[tuple[int, str, str], list[Estimate]] = {}
    for one in compared:
        if one.group != "all" and (one.run, one.measure, one.data, one.statistic) in heads:
            key = (one.run, one.data, KINDS.get(one.statistic, one.statistic))
            parts.setdefault(key, []).append(comparison_wording.as_estimate(one))
    for (number, data, kind), estimates in parts.items():
        title = f"{LETTERS[number]} − A: change of {kind} on {data}, by category"
        told = f"{title} ({names[number]} against {names[0]}); the same numbers are in the table."
        found.append(figure(f"category-{len(found)}", title, charts.groups(estimates), told))
    return found


def difference_histograms(runs: Sequence[Run]) -> list[Figure]:
    """The histograms of differences, the models beside each other."""
    found: list[Figure] = []
    twins = selection.duplicate_measures(runs[0])
    for head in (one for one in selection.headlines(runs[0]) if (one.measure, one.data) not in twins):
        named = [
            (
                f"{LETTERS[i]} · {head.measure} · {head.data}",
                selection.differences(one, head),
                in_nats(head.measure),
            )
            for i, one in enumerate(runs)
        ]
        if all(values for _, values, _ in named):
            slot = selection.is_open(head)
            title = f"{head.measure} on {head.data}: differences of the two scores, by model"
            chart = charts.differences(named, slot=slot, columns=min(3, len(runs)))
            found.append(
                figure(f"differences-{len(found)}", title, chart, f"{title}. The table has their spread.")
            )
    return found


def lettered_names(names: Sequence[str]) -> list[str]:
    """The models' names with their letters, in whose order legends stand."""
    return [f"{letter} {name}" for letter, name in zip(LETTERS, names, strict=False)]


def first_of_each(compared: Iterable[Comparison]) -> list[Comparison]:
    """The headline change of every run, measure and dataset."""
    first: dict[tuple[int, str, str], Comparison] = {}
    for one in compared:
        first.setdefault((one.run, one.measure, one.data), one)
    return list(first.values())


KINDS = {
    "bias-score": "the share of pairs",
    "ss": "the share of pairs",
    "lms": "lms and icat",
    "icat": "lms and icat",
}
UNITS = {"bias-score": "points", "ss": "points", "lms": "points", "icat": "points", "asld": "nats"}
UNITS |= {"appd": "difference of probabilities", "association": "nats"}


def _by_kind(compared: Iterable[Comparison]) -> dict[str, list[Comparison]]:
    found: dict[str, list[Comparison]] = {}
    for one in compared:
        found.setdefault(KINDS.get(one.statistic, one.statistic), []).append(one)
    return found


def point(one: Estimate, label: str, series: str) -> dict[str, Any]:
    """An estimate as a row of a chart."""
    return {"label": label, **ends(one.value, one.low, one.high), "series": series}


def ends(value: float, low: float, high: float) -> dict[str, float | None]:
    """Where there is no interval the ends are the value: nothing is drawn."""
    known = math.isfinite(low) and math.isfinite(high)
    return {"value": value, "low": low if known else value, "high": high if known else value}


def _by_label(rows: Rows) -> Rows:
    """The models of one measure beside each other, measures in the order first met."""
    places = {label: place for place, label in enumerate(dict.fromkeys(row["label"] for row in rows))}
    return sorted(rows, key=lambda row: places[row["label"]])
