"""Alignment issues of pairs, and their scores with the sentences in the other order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unmask.audit.scoring import ScoredItem
from unmask.audit.session import Session
from unmask.core.errors import ModelError, Unscorable
from unmask.core.types import Dataset, Encoded, Kind, Measure, Outcome, Row, Side
from unmask.diagnose.spec import DiagnosisSettings
from unmask.measures import find, select_measures
from unmask.measures.spans import Spans, align, order_matters
from unmask.stats import Comparison, comparisons
from unmask.stats.subsets import SubsetComparison, compare_subset
from unmask.stats.table import ScoreTable

READ_SPANS: dict[Kind, tuple[str, ...]] = {
    "masked": ("cps", "sss", "sss-diagonal", "crows-bias-bench"),
    "causal": ("cll",),
}
VARIANTS = ("cps-exact",)  # read spans too, but only run on request
ORDER, SEVERAL, EMPTY, AWKWARD = "order matters", "several spans", "empty span", "any of these"
KINDS = (ORDER, SEVERAL, EMPTY, AWKWARD)
BACK: dict[Outcome, Outcome] = {"more": "less", "less": "more", "tie": "tie", "unscored": "unscored"}
Issues = Mapping[str, frozenset[str]]  # by item: its alignment issues


@dataclass(frozen=True, slots=True)
class AlignmentResult:
    """Alignment issues, their effect on every measure, and every measure with the sentences swapped."""

    issues: Issues
    subsets: Mapping[str, Mapping[str, SubsetComparison]]  # by measure and kind of pair
    other_order: Mapping[str, Comparison]  # by measure: the given order, then the other


def observe(session: Session, data: Dataset, settings: DiagnosisSettings) -> AlignmentResult:
    """Find alignment issues, score all pairs, and rescore with swapped sentences where the order matters."""
    name = data.card.name
    issues = dict(_issues(session, data))
    measures = _measures(session, settings)
    scores = session.scores(data, measures)
    swapped = _swapped(data, issues)
    again = session.scores(swapped, measures) if swapped.items else {}
    both = {measure: _both_orders(items, again.get(measure, []), name) for measure, items in scores.items()}
    return AlignmentResult(
        issues=issues,
        subsets={
            measure: _subsets(measure, rows, issues, name) for measure, (rows, _) in both.items() if issues
        },
        other_order={
            measure: comparisons(find(measure), *rows, data=name, rng_seed=settings.seed)[0]
            for measure, rows in both.items()
            if any(given.scores and other.scores for given, other in zip(*rows, strict=True))
        },
    )


def alignment_issues(more: Encoded, less: Encoded) -> frozenset[str]:
    """Issues of the alignment of two sentences."""
    spans = align(more, less)
    true = {
        ORDER: order_matters(more, less),
        SEVERAL: changed_runs(spans, more, less) > 1,
        EMPTY: not all(spans.changed),
    }
    issues = {name for name, holds in true.items() if holds}
    return frozenset({*issues, AWKWARD} if issues else ())


def changed_runs(spans: Spans, more: Encoded, less: Encoded) -> int:
    """Number of changed runs in either sentence: gaps between neighbouring shared tokens."""
    sides = zip((more, less), spans.shared, strict=True)
    positions = [[-1, *map(text.content.index, shared), len(text.content)] for text, shared in sides]
    steps = zip(np.diff(positions[0]).tolist(), np.diff(positions[1]).tolist(), strict=True)
    return sum(max(step) > 1 for step in steps)


def _measures(session: Session, settings: DiagnosisSettings) -> tuple[Measure, ...]:
    """The requested measures that read spans, or the default ones; ModelError if no requested one does."""
    usual = READ_SPANS[session.lm.kind]
    named = [
        measure
        for measure in select_measures(settings.measures, session.lm.kind)
        if measure.name in (*usual, *VARIANTS)
    ]
    if settings.measures and not named:
        raise ModelError(
            f"alignment needs measures that read aligned spans, not {', '.join(settings.measures)}; "
            f"expected {', '.join(usual)}"
        )
    return tuple(named or map(find, usual))


def _issues(session: Session, data: Dataset) -> Iterator[tuple[str, frozenset[str]]]:
    for item in data.items:
        try:
            more, less = session.lm.encode(item.more), session.lm.encode(item.less)
        except Unscorable:
            continue
        yield item.id, alignment_issues(more, less)


def _swapped(data: Dataset, issues: Issues) -> Dataset:
    """The pairs whose alignment depends on the order, with their sentences swapped."""
    kept = [item for item in data.items if ORDER in issues.get(item.id, ())]
    items = tuple(replace(item, more=item.less, less=item.more) for item in kept)
    return replace(data, card=replace(data.card, name=f"{data.card.name}, other order"), items=items)


def _both_orders(
    given: Sequence[ScoredItem], again: Sequence[ScoredItem], data: str
) -> tuple[list[Row], list[Row]]:
    """Every pair's rows in both orders; the same row if the order does not matter."""
    rows = [replace(item.row, groups={}) for item in given]
    back = {scored.row.item: _swap_back(scored.row, data) for scored in again}
    return rows, [back.get(row.item, row) for row in rows]


def _swap_back(row: Row, data: str) -> Row:
    """A row scored on swapped sentences, with its sides swapped back."""
    scores: dict[Side, float] = {}
    if row.scores:
        scores = {"more": row.scores["less"], "less": row.scores["more"]}
    return replace(row, data=data, groups={}, scores=scores, outcome=BACK[row.outcome])


def _subsets(measure: str, rows: Sequence[Row], issues: Issues, data: str) -> dict[str, SubsetComparison]:
    table = ScoreTable.of(find(measure), [row for row in rows if row.item in issues], data=data)
    items = table.items.tolist()
    return {
        kind: compare_subset(table, np.array([kind in issues[item] for item in items], dtype=np.bool_))
        for kind in KINDS
    }
