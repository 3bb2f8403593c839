"""`alignment`: how much of a score depends on which tokens of a pair are aligned as shared?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unmask.audit.session import Session
from unmask.core.errors import ModelError
from unmask.core.estimate import Estimate
from unmask.core.types import Dataset, Encoded, Measure, Row
from unmask.diagnose.common import results, swap_sides, without_category
from unmask.diagnose.shuffle import encode_sentences
from unmask.diagnose.spec import DiagnosisObservation, DiagnosisSettings, Observations
from unmask.findings import Cell, Finding, Table, charts
from unmask.findings.numbers import number, signed_number
from unmask.measures import MEASURES, find, select_measures
from unmask.measures.spans import Spans, align, order_matters
from unmask.stats.paired import Comparison, published_comparison
from unmask.stats.shares import SubsetComparison, compare_subset
from unmask.stats.table import ScoreTable

VARIANTS = ("cps-exact",)  # run on request only
ORDER, SEVERAL, EMPTY, AWKWARD = "order matters", "several spans", "empty span", "any of these"
KINDS = (ORDER, SEVERAL, EMPTY, AWKWARD)
Issues = Mapping[str, frozenset[str]]  # by item: its alignment issues
COUNTS = (
    "Order matters: other tokens count as shared when the sentences are aligned in the other order. Several "
    "spans: more than one run of tokens differs. Empty span: one sentence has no token the other lacks. "
    "Not aligned: the model cannot encode one of the sentences."
)
PARTS = (
    "Bias score among the pairs that have the property and without them, Wilson intervals over the units of the data. "
    "Change: without them minus all, in points, interval after Newcombe. p: among them against the others, Fisher's "
    "exact test if pairs are independent, else Student's over units. Measures that cannot score an "
    "empty span leave such pairs out; sss counts them as not won, as "
    "published."
)
ORDERS = (
    "Bias score when the stereotyping sentence is passed to the aligner first, as measures do here and in "
    "the code of Kaneko & Bollegala, and when the other one is. Outcomes that differ: pairs won in one order "
    "only; p by McNemar's test, exact if pairs are independent, where there are any. Left out: not scored in "
    "both orders."
)


@dataclass(frozen=True, slots=True)
class AlignmentResult:
    """Alignment issues, their effect on every measure, and every measure with the sentences swapped."""

    issues: Issues
    subsets: Mapping[str, Mapping[str, SubsetComparison]]  # by measure and kind of pair
    other_order: Mapping[str, Comparison]  # by measure: the given order, then the other


def observe(session: Session, data: Dataset, settings: DiagnosisSettings) -> AlignmentResult:
    """Find alignment issues, score all pairs, and rescore with swapped sentences where the order matters."""
    name = data.card.name
    encoded = encode_sentences(data.items, lambda item: [item.more, item.less], session.lm)
    issues = {item: alignment_issues(more, less) for item, (more, less) in encoded.items()}
    measures = _measures(session, settings)
    given = session.scores(data, measures)
    card = replace(data.card, name=f"{name}, other order")
    depends = [item for item in data.items if ORDER in issues.get(item.id, ())]
    swapped = tuple(replace(item, more=item.less, less=item.more) for item in depends)
    again = session.scores(replace(data, card=card, items=swapped), measures) if swapped else {}
    both = {
        measure: _both_orders([item.row for item in items], [item.row for item in again.get(measure, [])])
        for measure, items in given.items()
    }
    return AlignmentResult(
        issues=issues,
        subsets={
            measure: _subsets(measure, rows, issues, name, settings) for measure, (rows, _) in both.items() if issues
        },
        other_order={
            measure: published_comparison(
                *(find(measure), *rows), data=name, rng_seed=settings.seed, independent=settings.independent
            )
            for measure, rows in both.items()
            if any(given.scores and other.scores for given, other in zip(*rows, strict=True))
        },
    )


def conclude(observations: Observations, settings: DiagnosisSettings) -> Finding:
    """Counts of awkward pairs, bias scores with and without them, and outcomes with the sentences swapped."""
    tables = (_count_table(observations), _subset_table(observations), _order_table(observations))
    answers = tuple(line for observation in observations for line in _answers(observation))
    alt = "Bias score by measure among pairs that align plainly and among those that do not, with intervals."
    points = [
        (" · ".join((measure, *each.names)), score, series)
        for each, measure, kinds in results(observations, "subsets")
        for series, score in (("plain", kinds[AWKWARD].others), ("awkward", kinds[AWKWARD].inside))
        if score.n
    ]
    title, axis = "Bias score by alignment of the pair", "bias score, %"
    plots = charts.interval_plots("alignment", title, alt, points, axis=axis, null=50.0)
    return Finding(answers, tuple(table for table in tables if table.rows), plots)


def estimates(observations: Observations, settings: DiagnosisSettings) -> list[Estimate]:
    """The change of every bias score without awkward pairs, and with the sentences in the other order."""
    every = []
    for each, measure, kinds in results(observations, "subsets"):
        part = kinds[AWKWARD]
        numbers = {"null": 0.0, "n": part.inside.n + part.others.n, "p": part.p}
        every.append(each.estimate(f"alignment/{measure}", "change-without-awkward", part.change, **numbers))
    for each, measure, comparison in results(observations, "other_order"):
        numbers = {"null": 0.0, "n": comparison.n, "p": comparison.p if comparison.flips else None}
        every.append(each.estimate(f"alignment/{measure}", "change-in-other-order", comparison.difference, **numbers))
    return every


def alignment_issues(more: Encoded, less: Encoded) -> frozenset[str]:
    """Issues of the alignment of two sentences."""
    spans = align(more, less)
    holds = (order_matters(more, less), changed_runs(spans, more, less) > 1, not all(spans.changed))
    issues = [name for name, true in zip((ORDER, SEVERAL, EMPTY), holds, strict=True) if true]
    return frozenset({*issues, AWKWARD} if issues else ())


def changed_runs(spans: Spans, more: Encoded, less: Encoded) -> int:
    """Number of changed runs in either sentence: gaps between neighbouring shared tokens."""
    sides = zip((more, less), spans.shared, strict=True)
    positions = [[-1, *map(text.content.index, shared), len(text.content)] for text, shared in sides]
    steps = zip(np.diff(positions[0]).tolist(), np.diff(positions[1]).tolist(), strict=True)
    return sum(max(step) > 1 for step in steps)


def _measures(session: Session, settings: DiagnosisSettings) -> tuple[Measure, ...]:
    """The requested measures that read spans, or the default ones; ModelError if no requested one does."""
    kind = session.lm.kind
    named = [measure for measure in select_measures(settings.measures, kind) if measure.reads_spans]
    fit = [measure for measure in MEASURES.values() if measure.reads_spans and kind in measure.kinds]
    if settings.measures and not named:
        raise ModelError(
            f"alignment needs measures that read aligned spans, not {', '.join(settings.measures)}; "
            f"expected {', '.join(measure.name for measure in fit)}"
        )
    return tuple(named or (measure for measure in fit if measure.name not in VARIANTS))


def _both_orders(given: Sequence[Row], again: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Every pair's rows in both orders; the same row if the order does not matter."""
    rows = [*map(without_category, given)]
    back = {row.item: replace(swap_sides(without_category(row)), data=rows[0].data) for row in again}
    return rows, [back.get(row.item, row) for row in rows]


def _subsets(
    measure: str, rows: Sequence[Row], issues: Issues, data: str, settings: DiagnosisSettings
) -> dict[str, SubsetComparison]:
    own = [row for row in rows if row.item in issues]
    table = ScoreTable.of(find(measure), own, data=data, independent=settings.independent)
    items = table.items.tolist()
    return {
        kind: compare_subset(table, np.array([kind in issues[item] for item in items], dtype=np.bool_))
        for kind in KINDS
    }


def _answers(observation: DiagnosisObservation) -> Iterator[str]:
    """How many pairs align awkwardly, their effect on scores, and the effect of the order."""
    who, result = observation.where, observation.result
    awkward = sum(map(bool, result.issues.values()))
    answer = f"{who}: {awkward:,} of {len(result.issues):,} pairs align awkwardly"
    changes = {name: kinds[AWKWARD] for name, kinds in result.subsets.items() if kinds[AWKWARD].p is not None}
    if changes:
        most = max(changes, key=lambda name: abs(changes[name].change.value))
        change, others = changes[most].change, changes[most].others
        answer += (
            f"; without them the bias score of {most} changes most, by {signed_number(change.value, 1)} points "
            f"({number(change.low, 1)} to {number(change.high, 1)}), to {others.value:.1f} over {others.n:,} pairs"
        )
    yield answer
    matter = sum(ORDER in mark for mark in result.issues.values())
    flips = ", ".join(f"{name} {comparison.flips}" for name, comparison in result.other_order.items())
    if flips:
        yield (
            f"{who}: pairs that align differently with the other sentence first: {matter:,}; "
            f"outcomes that differ: {flips}"
        )


def _count_table(observations: Observations) -> Table:
    """How many pairs align awkwardly, and why."""
    rows: list[tuple[Cell, ...]] = []
    for observation in observations:
        issues = observation.result.issues.values()
        by_kind = [sum(kind in mark for mark in issues) for kind in KINDS]
        rows.append((*observation.names, len(issues), *by_kind, len(observation.data.items) - len(issues)))
    return Table("Pairs by alignment", ("model", "data", "pairs", *KINDS, "not aligned"), tuple(rows), COUNTS)


def _subset_table(observations: Observations) -> Table:
    """Bias scores with and without each kind of awkward pair."""
    rows: list[tuple[Cell, ...]] = [
        (*each.names, measure, kind, part.inside.n, part.inside, part.others, part.change, part.p)
        for each, measure, kinds in results(observations, "subsets")
        for kind, part in kinds.items()
        if part.inside.n
    ]
    columns = ("model", "data", "measure", "pairs with", "counted", "among them", "without them", "change")
    return Table("Bias score with and without awkward pairs", (*columns, "p"), tuple(rows), PARTS)


def _order_table(observations: Observations) -> Table:
    """Bias scores and outcomes in both orders."""
    rows: list[tuple[Cell, ...]] = []
    for observation, measure, comparison in results(observations, "other_order"):
        scores = (comparison.n, comparison.a_value, comparison.b_value, comparison.difference)
        counts = (comparison.flips, comparison.left_out, comparison.p if comparison.flips else None)
        rows.append((*observation.names, measure, *scores, *counts))
    columns = ("model", "data", "measure", "counted", "more first", "less first", "change")
    last = ("outcomes that differ", "left out", "p")
    return Table("The other order of the sentences", (*columns, *last), tuple(rows), ORDERS)
