"""Shared by several diagnoses: scores of pairs, reasons why data are unsuitable, rows of charts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from unmask.audit.plan import has_field
from unmask.audit.session import Session
from unmask.core.estimate import Value
from unmask.core.types import Dataset, Outcome, Row, Side
from unmask.diagnose.spec import DiagnosisSettings
from unmask.measures.stereoset import BLANK


def score_rows(session: Session, data: Dataset, settings: DiagnosisSettings) -> dict[str, list[Row]]:
    """Score rows of every pair under the requested measures, or the default ones."""
    scores = session.scores(data, session.pair_measures(data, settings.measures))
    return {name: [item.row for item in items] for name, items in scores.items()}


def template_reason(data: Dataset) -> str:
    """Why the items have no stereotyping side; empty if they have one."""
    slots = has_field(data, "slot")
    return "its items are templates, of which neither side is the stereotype" if slots else ""


def not_pairs_reason(data: Dataset) -> str:
    """Why the items are not minimal pairs; empty if they are."""
    if has_field(data, "slot"):
        return "its items are templates, neither sentence is the stereotyping one"
    loose = [item for item in data.items if item.context and BLANK not in item.context]
    return "its sentences are free text after a context, no minimal pairs" if loose else ""


def swap_sides(row: Row) -> Row:
    """The row of a pair with its two sentences swapped."""
    sides: dict[Side, Side] = {"more": "less", "less": "more"}
    outcomes: dict[Outcome, Outcome] = {"more": "less", "less": "more"}
    scores = {sides[side]: score for side, score in row.scores.items() if side in sides}
    return replace(row, scores=scores, outcome=outcomes.get(row.outcome, row.outcome))


def interval_row(label: str, value: Value, series: str = "") -> dict[str, Any]:
    """A value as a row of a chart of intervals."""
    named = {"label": label, "series": series} if series else {"label": label}
    return {**named, "value": value.value, "low": value.low, "high": value.high}
