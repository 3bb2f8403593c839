"""`alignment`: how much of a score depends on which tokens of a pair are aligned as shared?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from unmask.core.errors import ModelError
from unmask.core.estimate import Estimate
from unmask.core.types import Dataset, Encoded, Measure, Row
from unmask.diagnose.scores import (
    encode_sentences,
    not_pairs_reason,
    results,
    score_table,
    swap_sides,
    without_category,
)
from unmask.diagnose.spec import Diagnosis, DiagnosisObservation, Observations, UnitOptions
from unmask.findings import Cell, Conclusion, Finding, Table
from unmask.measures import MEASURES, find, select_measures
from unmask.measures.spans import Spans, align, order_matters

if TYPE_CHECKING:
    from unmask.audit.session import Session
    from unmask.stats.paired import Comparison
    from unmask.stats.shares import SubsetComparison

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


def observe(session: Session, data: Dataset, options: UnitOptions) -> AlignmentResult:
    """Find alignment issues, score all pairs, and rescore with swapped sentences where the order matters."""
    from unmask.stats.paired import published_comparison

    name = data.card.name
    encoded = encode_sentences(data.items, lambda item: [item.more, item.less], session.lm)
    issues = {item: alignment_issues(more, less) for item, (more, less) in encoded.items()}
    measures = _measures(session, options)
    scored = session.scores(data, measures)
    card = replace(data.card, name=f"{name}, other order")
    depends = [item for item in data.items if ORDER in issues.get(item.id, ())]
    swapped = tuple(replace(item, more=item.less, less=item.more) for item in depends)
    again = session.scores(replace(data, card=card, items=swapped), measures) if swapped else {}
    both = {
        measure: _both_orders([item.row for item in items], [item.row for item in again.get(measure, [])])
        for measure, items in scored.items()
    }
    return AlignmentResult(
        issues=issues,
        subsets={
            measure: _subsets(measure, rows, issues, name, options) for measure, (rows, _) in both.items() if issues
        },
        other_order={
            measure: published_comparison(find(measure), *rows, data=name, **options.sampling)
            for measure, rows in both.items()
            if any(one.scores and other.scores for one, other in zip(*rows, strict=True))
        },
    )


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
    steps = zip(*(pairwise(side) for side in positions), strict=True)
    return sum(any(after - before > 1 for before, after in step) for step in steps)


def _measures(session: Session, options: UnitOptions) -> tuple[Measure, ...]:
    """The requested measures that read spans, or the default ones; ModelError if no requested one does."""
    kind = session.lm.kind
    named = [measure for measure in select_measures(options.measures, kind) if measure.reads_spans]
    fit = [measure for measure in MEASURES.values() if measure.reads_spans and kind in measure.kinds]
    if options.measures and not named:
        raise ModelError(
            f"alignment needs measures that read aligned spans, not {', '.join(options.measures)}; "
            f"expected {', '.join(measure.name for measure in fit)}"
        )
    return tuple(named or (measure for measure in fit if measure.name not in VARIANTS))


def _both_orders(first: Sequence[Row], again: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Every pair's rows in both orders; the same row if the order does not matter."""
    rows = [*map(without_category, first)]
    back = {row.item: replace(swap_sides(without_category(row)), data=rows[0].data) for row in again}
    return rows, [back.get(row.item, row) for row in rows]


def _subsets(
    measure: str, rows: Sequence[Row], issues: Issues, data: str, options: UnitOptions
) -> dict[str, SubsetComparison]:
    """Pairs with each issue against the others."""
    import numpy as np

    from unmask.stats.shares import compare_subset

    table = score_table([row for row in rows if row.item in issues], measure, data, options)
    items = table.items.tolist()
    return {
        kind: compare_subset(table, np.array([kind in issues[item] for item in items], dtype=np.bool_))
        for kind in KINDS
    }


def conclude(observations: Observations, options: UnitOptions) -> Conclusion:
    """Counts of awkward pairs, bias scores with and without them, and outcomes with the sentences swapped."""
    from unmask.findings import charts

    alt = "Bias score by measure among pairs that align plainly and among those that do not, with intervals."
    points = [
        (" · ".join((measure, *each.names)), score, series)
        for each, measure, kinds in results(observations, "subsets")
        for series, score in (("plain", kinds[AWKWARD].others), ("awkward", kinds[AWKWARD].inside))
        if score.n
    ]
    title, axis = "Bias score by alignment of the pair", "bias score, %"
    return Conclusion(
        Finding(
            tuple(line for observation in observations for line in _answers(observation)),
            (
                Table.of("Pairs by alignment", map(_count_record, observations), COUNTS),
                Table.of(
                    "Bias score with and without awkward pairs",
                    (
                        {
                            **each.key,
                            "measure": measure,
                            "pairs with": kind,
                            "counted": part.inside.n,
                            "among them": part.inside,
                            "without them": part.others,
                            "change": part.change,
                            "p": part.p,
                        }
                        for each, measure, kinds in results(observations, "subsets")
                        for kind, part in kinds.items()
                        if part.inside.n
                    ),
                    PARTS,
                ),
                Table.of(
                    "The other order of the sentences",
                    (
                        {
                            **each.key,
                            "measure": measure,
                            "counted": comparison.n,
                            "more first": comparison.a_value,
                            "less first": comparison.b_value,
                            "change": comparison.difference,
                            "outcomes that differ": comparison.flips,
                            "left out": comparison.left_out,
                            "p": comparison.p if comparison.flips else None,
                        }
                        for each, measure, comparison in results(observations, "other_order")
                    ),
                    ORDERS,
                ),
            ),
            charts.interval_plots("alignment", title, alt, points, axis=axis, null=50.0),
        ),
        tuple(_estimates(observations)),
    )


def _count_record(observation: DiagnosisObservation) -> dict[str, Cell]:
    """How many pairs align awkwardly, and why."""
    issues = observation.result.issues.values()
    by_kind = {kind: sum(kind in mark for mark in issues) for kind in KINDS}
    return {
        **observation.key,
        "pairs": len(issues),
        **by_kind,
        "not aligned": len(observation.data.items) - len(issues),
    }


def _estimates(observations: Observations) -> Iterator[Estimate]:
    """The change of every bias score without awkward pairs, and with the sentences in the other order."""
    for each, measure, kinds in results(observations, "subsets"):
        part, n = kinds[AWKWARD], kinds[AWKWARD].inside.n + kinds[AWKWARD].others.n
        yield each.estimate(f"alignment/{measure}", "change-without-awkward", part.change, null=0.0, n=n, p=part.p)
    for each, measure, comparison in results(observations, "other_order"):
        numbers = {"null": 0.0, "n": comparison.n, "p": comparison.p if comparison.flips else None}
        yield each.estimate(f"alignment/{measure}", "change-in-other-order", comparison.difference, **numbers)


def _answers(observation: DiagnosisObservation) -> Iterator[str]:
    """How many pairs align awkwardly, their effect on scores, and the effect of the order."""
    from unmask.findings import sentences

    where, result = observation.where, observation.result
    yield f"{where}: {sum(map(bool, result.issues.values())):,} of {len(result.issues):,} pairs align awkwardly"
    parts = {name: kinds[AWKWARD] for name, kinds in result.subsets.items() if kinds[AWKWARD].p is not None}
    if parts:
        most = max(parts, key=lambda name: abs(parts[name].change.value))
        what = f"{where}, {most}: bias score without them, over {parts[most].others.n:,} pairs"
        yield sentences.change(what, parts[most].change, p=parts[most].p, of="bias-score")
    if result.other_order:
        matter = sum(ORDER in mark for mark in result.issues.values())
        flips = ", ".join(f"{name} {comparison.flips}" for name, comparison in result.other_order.items())
        yield f"{where}: {matter:,} pairs align otherwise with the other sentence first; outcomes that differ: {flips}"


ALIGNMENT = Diagnosis(
    name="alignment",
    title="Span alignment",
    question="How much of a score depends on which tokens the two sentences are said to share?",
    observe=observe,
    conclude=conclude,
    unfit_reason=not_pairs_reason,
    citation="nangia-etal-2020-crows",
    order=9,
)
