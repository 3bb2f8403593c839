"""Answers, tables and a plot of the diagnosis `alignment`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unmask.diagnose.alignment.observe import AWKWARD, KINDS, ORDER
from unmask.diagnose.regression_tables import model_and_data
from unmask.diagnose.spec import DiagnosisObservation
from unmask.findings import Cell, Plot, Table, Value, charts

COUNTS = (
    "Order matters: other tokens count as shared when the sentences are aligned in the other order. Several "
    "spans: more than one run of tokens differs. Empty span: one sentence has no token the other lacks. "
    "Not aligned: the model cannot encode one of the sentences."
)
PARTS = (
    "Bias score among the pairs that have the property and without them, Wilson intervals. Change: without "
    "them minus all, in points, interval after Newcombe. p: among them against the others, Fisher's exact "
    "test. Measures that cannot score an empty span leave such pairs out; sss counts them as not won, as "
    "published."
)
ORDERS = (
    "Bias score when the stereotyping sentence is passed to the aligner first, as measures do here and in "
    "the code of Kaneko & Bollegala, and when the other one is. Outcomes that differ: pairs won in one order "
    "only; p by McNemar's exact test, where there are any. Left out: not scored in both orders."
)


def answers(observations: Sequence[DiagnosisObservation]) -> Iterator[str]:
    """How many pairs align awkwardly, their effect on scores, and the effect of the order."""
    for observation in observations:
        who, result = " on ".join(model_and_data(observation)), observation.result
        awkward = sum(map(bool, result.issues.values()))
        answer = f"{who}: {awkward:,} of {len(result.issues):,} pairs align awkwardly"
        changes = {
            name: kinds[AWKWARD] for name, kinds in result.subsets.items() if kinds[AWKWARD].p is not None
        }
        if changes:
            most = max(changes, key=lambda name: abs(changes[name].change))
            subset = changes[most]
            answer += (
                f"; without them the bias score of {most} changes most, by {subset.change:+.1f} points "
                f"({subset.low:.1f} to {subset.high:.1f}), to {subset.others.value:.1f} over "
                f"{subset.others.n:,} pairs"
            )
        yield answer
        matter = sum(ORDER in mark for mark in result.issues.values())
        flips = ", ".join(f"{name} {subset.flips}" for name, subset in result.other_order.items())
        if flips:
            yield (
                f"{who}: pairs that align differently with the other sentence first: {matter:,}; "
                f"outcomes that differ: {flips}"
            )


def count_table(observations: Sequence[DiagnosisObservation]) -> Table:
    """How many pairs align awkwardly, and why."""
    rows: list[tuple[Cell, ...]] = []
    for observation in observations:
        issues = observation.result.issues.values()
        by_kind = [sum(kind in mark for mark in issues) for kind in KINDS]
        rows.append(
            (*model_and_data(observation), len(issues), *by_kind, len(observation.data.items) - len(issues))
        )
    return Table("Pairs by alignment", ("model", "data", "pairs", *KINDS, "not aligned"), tuple(rows), COUNTS)


def subset_table(observations: Sequence[DiagnosisObservation]) -> Table:
    """Bias scores with and without each kind of awkward pair."""
    rows: list[tuple[Cell, ...]] = [
        (
            *model_and_data(observation),
            measure,
            kind,
            subset.inside.n,
            subset.inside,
            subset.others,
            Value(subset.change, subset.low, subset.high, subset.method),
            subset.p,
        )
        for observation in observations
        for measure, kinds in observation.result.subsets.items()
        for kind, subset in kinds.items()
        if subset.inside.n
    ]
    columns = (
        "model",
        "data",
        "measure",
        "pairs with",
        "counted",
        "among them",
        "without them",
        "change",
        "p",
    )
    return Table("Bias score with and without awkward pairs", columns, tuple(rows), PARTS)


def order_table(observations: Sequence[DiagnosisObservation]) -> Table:
    """Bias scores and outcomes in both orders."""
    rows: list[tuple[Cell, ...]] = []
    for observation in observations:
        for measure, comparison in observation.result.other_order.items():
            change = Value(comparison.change, comparison.low, comparison.high, comparison.method)
            numbers = (
                comparison.n,
                comparison.a_value,
                comparison.b_value,
                change,
                comparison.flips,
                comparison.left_out,
            )
            rows.append(
                (*model_and_data(observation), measure, *numbers, comparison.p if comparison.flips else None)
            )
    columns = ("model", "data", "measure", "counted", "more first", "less first", "change")
    last = ("outcomes that differ", "left out", "p")
    return Table("The other order of the sentences", (*columns, *last), tuple(rows), ORDERS)


def plot(observations: Sequence[DiagnosisObservation]) -> tuple[Plot, ...]:
    """Bias scores of pairs that align plainly and of the others; empty if there are none."""
    rows = [
        {
            "label": " · ".join((measure, *model_and_data(observation))),
            "series": series,
            "value": score.value,
            "low": score.low,
            "high": score.high,
        }
        for observation in observations
        for measure, kinds in observation.result.subsets.items()
        for series, score in (("plain", kinds[AWKWARD].others), ("awkward", kinds[AWKWARD].inside))
        if score.n
    ]
    if not rows:
        return ()
    alt = "Bias score by measure among pairs that align plainly and among those that do not, with intervals."
    chart = charts.intervals(rows, axis="bias score, %", null=50.0)
    return (Plot("alignment", "Bias score by alignment of the pair", alt, chart),)
