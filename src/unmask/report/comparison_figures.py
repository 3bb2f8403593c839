"""Charts of a comparison: models side by side, paired changes, templates before and after, histograms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from unmask.audit.interpretation import slot_sides
from unmask.audit.result import AuditResult
from unmask.core.estimate import Estimate
from unmask.core.statistic import BALANCED, statistic
from unmask.findings import charts as plots
from unmask.findings.charts import MODELS, SHAPES, Chart
from unmask.findings.figure import Figure, figure
from unmask.findings.sentences import side_words
from unmask.report import charts, selection
from unmask.report.changes import change_estimate
from unmask.report.selection import LETTERS

if TYPE_CHECKING:
    from unmask.stats.paired import Comparison

Rows = list[dict[str, Any]]
GOALS = {"zero": "gender-neutral words", "female": "words for women", "male": "words for men"}


def side_by_side(runs: Sequence[AuditResult], names: Sequence[str]) -> list[Figure]:
    """The headline estimates of all models, one chart for each kind of statistic."""
    drawn: list[Figure] = []
    by_run = [run.headlines() for run in runs]
    every = [estimate for estimates in by_run for estimate in estimates]
    for title, members in charts.panels(every, partial(charts.sides_of, runs[0])):
        wanted = {id(estimate) for estimate in members}
        rows = [
            charts.point(estimate, f"{estimate.measure} · {estimate.data}", name)
            for estimates, name in zip(by_run, selection.lettered_names(names), strict=True)
            for estimate in estimates
            if id(estimate) in wanted
        ]
        chart = plots.intervals(by_label(rows), axis=charts.unit(members[0]), null=members[0].null, colours=MODELS)
        _add(drawn, "headline", title, chart, ", by model; the same numbers are in the table.")
    return drawn


def changes(compared: Sequence[Comparison], names: Sequence[str], *, several: bool) -> list[Figure]:
    """The paired change of every headline estimate from the first run, against no change."""
    drawn: list[Figure] = []
    by_kind: dict[str, list[Comparison]] = {}
    for change in first_of_each(compared):
        by_kind.setdefault(_kind(change.statistic), []).append(change)
    for kind, members in by_kind.items():
        labels = (f"{each.measure} · {each.data}" if several else each.measure for each in members)
        named = list(zip(labels, map(change_estimate, members), strict=True))
        facts = statistic(members[0].statistic)
        axis = "points" if facts.is_percent else facts.unit or "change"
        if len(names) == 2:  # colours say what rose and fell
            chart = charts.ranking(named, axis=axis)
        else:  # colours are the runs
            series = [f"{LETTERS[each.run]} {names[each.run]}" for each in members]
            rows = [charts.point(each, name, run) for (name, each), run in zip(named, series, strict=True)]
            marks = {"colours": MODELS[1:], "shapes": SHAPES[1:]}  # the first are those of A in the other charts
            chart = plots.intervals(by_label(rows), axis=axis, null=0.0, **marks)
        title = f"Change from A over the items both runs scored: {kind}; dashed: no change"
        _add(drawn, "changes", title, chart, ". The table has the numbers.")
    return drawn


def by_category(compared: Sequence[Comparison], names: Sequence[str]) -> list[Figure]:
    """The change in every category, one chart for each run, dataset and kind of statistic."""
    drawn: list[Figure] = []
    heads = {(each.run, each.measure, each.data): each.statistic for each in first_of_each(compared)}
    first: dict[tuple[int, str, str, str], Comparison] = {}  # over all pairs where only one direction is there
    for each in compared:
        head = heads[each.run, each.measure, each.data]
        if each.group != "all" and each.statistic in (head, head.removeprefix(BALANCED)):
            first.setdefault((each.run, each.measure, each.data, each.group), each)
    parts: dict[tuple[int, str, str], list[Estimate]] = {}
    for each in first.values():
        key = (each.run, each.data, _kind(each.statistic))
        parts.setdefault(key, []).append(change_estimate(each))
    for (number, data, kind), estimates in parts.items():
        title = f"{LETTERS[number]} − A on {data}, by category: change of the {kind}"
        rest = f" ({names[number]} against {names[0]}); the same numbers are in the table."
        _add(drawn, "category", title, charts.groups(estimates), rest)
    return drawn


def templates(first: AuditResult, other: AuditResult, number: int) -> list[Figure]:
    """For template measures: bars by category, and every word before against after."""
    drawn: list[Figure] = []
    for head in (estimate for estimate in first.headlines() if selection.is_open(estimate)):
        before, after = (_estimates_by_group(run, head) for run in (first, other))
        shared = [group for group in before if group in after]
        letter, where = LETTERS[number], f"{head.measure} on {head.data}"
        bars = [
            charts.point(estimates[group], _group_label(group), series)
            for group in shared
            if not group.startswith(("word=", "template="))
            for estimates, series in ((before, "A before"), (after, f"{letter} after"))
        ]
        if bars:
            signs = "above 0: towards {}, below: towards {}".format(*slot_sides(first, head.data))
            title = f"{where} by category, before (A) and after ({letter}); {signs}"
            chart = plots.bars(bars, axis=charts.unit(head), colours=MODELS)
            _add(drawn, f"bars-{number}", title, chart, ". See the tables.")
        goals = _goals(first, head)
        points = [
            {"x": before[group].value, "y": after[group].value, "label": word, "series": goals.get(word, "word")}
            for group in shared
            if group.startswith("word=")
            for word in (selection.group_name(group),)
        ]
        if points:
            title = f"{where} of every word, before (A) against after ({letter}); dashed: no change"
            chart = plots.scatter(points, x="before", y="after", diagonal=True)
            _add(drawn, f"words-{number}", title, chart, ". See the tables.")
    return drawn


def difference_histograms(runs: Sequence[AuditResult]) -> list[Figure]:
    """Histograms of differences, the models side by side."""
    drawn: list[Figure] = []
    twins = selection.duplicate_measures(runs[0])
    for head in (e for e in runs[0].headlines() if (e.measure, e.data) not in twins):
        named = [
            (f"{letter} · {head.measure} · {head.data}", *selection.differences(run, head))
            for letter, run in zip(LETTERS, runs, strict=False)
        ]
        if all(values for _, values, _ in named):
            title = f"{head.measure} on {head.data}: differences of the two scores, by model"
            words = side_words(charts.sides_of(runs[0], head)) if selection.is_open(head) else charts.PAIR_WORDS
            chart = charts.differences(named, words, columns=min(3, len(runs)))
            _add(drawn, "differences", title, chart, ". The table has their spread.")
    return drawn


def first_of_each(compared: Iterable[Comparison]) -> list[Comparison]:
    """The headline change of every run, measure and dataset."""
    first: dict[tuple[int, str, str], Comparison] = {}
    for comparison in compared:
        first.setdefault((comparison.run, comparison.measure, comparison.data), comparison)
    return list(first.values())


def _kind(name: str) -> str:
    """What statistics have in common that share an axis."""
    facts = statistic(name)
    return (facts.panel or facts.words).replace("{first}", "the first word").replace("{second}", "the second")


def _add(drawn: list[Figure], name: str, title: str, chart: Chart, rest: str) -> None:
    """Add a figure; its alternative text is the title and the rest of a sentence."""
    drawn.append(figure(f"{name}-{len(drawn)}", title, chart, f"{title}{rest}"))


def by_label(rows: Rows) -> Rows:
    """Sort rows so that the models of one measure are adjacent, measures in order of appearance."""
    order = {label: index for index, label in enumerate(dict.fromkeys(row["label"] for row in rows))}
    return sorted(rows, key=lambda row: order[row["label"]])


def _estimates_by_group(run: AuditResult, head: Estimate) -> dict[str, Estimate]:
    key = (head.measure, head.data, head.statistic)
    estimates = [e for e in run.estimates if (e.measure, e.data, e.statistic) == key]
    return {e.group: e for e in estimates if math.isfinite(e.value)}


def _goals(run: AuditResult, head: Estimate) -> dict[str, str]:
    """The kind of every word by its expected direction, if the data specify it."""
    rows = selection.items_of(run, head)
    if not {"word", "goal"} <= set(rows.column_names):
        return {}
    goals = zip(rows["word"].to_pylist(), rows["goal"].to_pylist(), strict=True)
    return {word: GOALS.get(goal, "word") for word, goal in goals}


def _group_label(group: str) -> str:
    name = selection.group_name(group)
    return "all gender-neutral words" if group == "all" else GOALS.get(name, name)
