"""Charts of a comparison: models side by side, paired changes, templates before and after, histograms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unmask.core.estimate import Estimate
from unmask.findings import charts as plots
from unmask.findings.envelope import Result
from unmask.findings.figure import Figure, figure
from unmask.report import charts, comparison_wording, figures, selection
from unmask.report.comparison_wording import LETTERS

if TYPE_CHECKING:
    from unmask.stats import Comparison

Rows = list[dict[str, Any]]
BEFORE, AFTER = "before", "after"
GOALS = {"zero": "gender-neutral words", "female": "words for women", "male": "words for men"}


def side_by_side(runs: Sequence[Result], names: Sequence[str]) -> list[Figure]:
    """The headline estimates of all models, one chart for each kind of statistic."""
    figures_made: list[Figure] = []
    by_run = [run.headlines() for run in runs]
    for title, members in figures.panels(estimate for estimates in by_run for estimate in estimates):
        wanted = {id(estimate) for estimate in members}
        rows = [
            charts.point(estimate, f"{estimate.measure} · {estimate.data}", name)
            for estimates, name in zip(by_run, comparison_wording.lettered_names(names), strict=True)
            for estimate in estimates
            if id(estimate) in wanted
        ]
        chart = plots.intervals(_by_label(rows), axis=charts.unit(members[0]), null=members[0].null)
        alt_text = f"{title}, by model; the same numbers are in the table."
        figures_made.append(figure(f"headline-{len(figures_made)}", title, chart, alt_text))
    return figures_made


def changes(compared: Sequence[Comparison], names: Sequence[str], *, several: bool) -> list[Figure]:
    """The paired change of every headline estimate from the first run, against no change."""
    figures_made: list[Figure] = []
    for kind, members in _by_kind(first_of_each(compared)).items():
        rows = [
            {
                "label": comparison_wording.label(comparison, several=several),
                **charts.interval_ends(comparison.change, comparison.low, comparison.high),
                **(
                    {"series": f"{LETTERS[comparison.run]} {names[comparison.run]}"} if len(names) > 2 else {}
                ),
            }
            for comparison in members
        ]
        title = f"Change of {kind} from A, over the items both runs scored; dashed: no change"
        chart = plots.intervals(_by_label(rows), axis=UNITS.get(members[0].statistic, "change"), null=0.0)
        figures_made.append(
            figure(f"changes-{len(figures_made)}", title, chart, f"{title}. The table has the numbers.")
        )
    return figures_made


def by_category(compared: Sequence[Comparison], names: Sequence[str]) -> list[Figure]:
    """The change in every category, one chart for each run, dataset and kind of statistic."""
    figures_made: list[Figure] = []
    heads = {
        (comparison.run, comparison.measure, comparison.data, comparison.statistic)
        for comparison in first_of_each(compared)
    }
    parts: dict[tuple[int, str, str], list[Estimate]] = {}
    for comparison in compared:
        if (
            comparison.group != "all"
            and (comparison.run, comparison.measure, comparison.data, comparison.statistic) in heads
        ):
            key = (comparison.run, comparison.data, KINDS.get(comparison.statistic, comparison.statistic))
            parts.setdefault(key, []).append(comparison_wording.as_estimate(comparison))
    for (number, data, kind), estimates in parts.items():
        title = f"{LETTERS[number]} − A: change of {kind} on {data}, by category"
        alt_text = f"{title} ({names[number]} against {names[0]}); the same numbers are in the table."
        figures_made.append(
            figure(f"category-{len(figures_made)}", title, charts.groups(estimates), alt_text)
        )
    return figures_made


def templates(first: Result, other: Result, number: int) -> list[Figure]:
    """For template measures: bars by category, and every word before against after."""
    figures: list[Figure] = []
    for head in (estimate for estimate in first.headlines() if selection.is_open(estimate)):
        before, after = (_estimates_by_group(run, head) for run in (first, other))
        shared = [group for group in before if group in after]
        letter, where = LETTERS[number], f"{head.measure} on {head.data}"
        bars = [
            charts.point(estimates[group], _group_label(group), series)
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


def difference_histograms(runs: Sequence[Result]) -> list[Figure]:
    """Histograms of differences, the models side by side."""
    figures_made: list[Figure] = []
    twins = selection.duplicate_measures(runs[0])
    for head in (
        estimate for estimate in runs[0].headlines() if (estimate.measure, estimate.data) not in twins
    ):
        named = [
            (
                f"{LETTERS[i]} · {head.measure} · {head.data}",
                selection.differences(run, head),
                selection.in_nats(head.measure),
            )
            for i, run in enumerate(runs)
        ]
        if all(values for _, values, _ in named):
            slot = selection.is_open(head)
            title = f"{head.measure} on {head.data}: differences of the two scores, by model"
            chart = charts.differences(named, slot=slot, columns=min(3, len(runs)))
            figures_made.append(
                figure(
                    f"differences-{len(figures_made)}", title, chart, f"{title}. The table has their spread."
                )
            )
    return figures_made


def first_of_each(compared: Iterable[Comparison]) -> list[Comparison]:
    """The headline change of every run, measure and dataset."""
    first: dict[tuple[int, str, str], Comparison] = {}
    for comparison in compared:
        first.setdefault((comparison.run, comparison.measure, comparison.data), comparison)
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
    by_kind: dict[str, list[Comparison]] = {}
    for comparison in compared:
        by_kind.setdefault(KINDS.get(comparison.statistic, comparison.statistic), []).append(comparison)
    return by_kind


def _by_label(rows: Rows) -> Rows:
    """Sort rows so that the models of one measure are adjacent, measures in order of appearance."""
    order = {label: index for index, label in enumerate(dict.fromkeys(row["label"] for row in rows))}
    return sorted(rows, key=lambda row: order[row["label"]])


def _estimates_by_group(run: Result, head: Estimate) -> dict[str, Estimate]:
    estimates = [
        e
        for e in run.estimates
        if (e.measure, e.data, e.statistic) == (head.measure, head.data, head.statistic)
    ]
    return {e.group: e for e in estimates if math.isfinite(e.value)}


def _goals(run: Result, head: Estimate) -> Mapping[str, str]:
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
            "label": selection.group_name(group),
            "series": GOALS.get(goals.get(selection.group_name(group), ""), "word"),
        }
        for group in groups
    ]


def _group_label(group: str) -> str:
    if group == "all":
        return "all gender-neutral words"
    return GOALS.get(selection.group_name(group), selection.group_name(group))
