"""Diagnoses of tiny models on a few pairs, and the slow numbers they are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import reference
import unmask
import zoo
from unmask import Options
from unmask import data as datasets
from unmask.core.options import OptionGroup
from unmask.core.types import Dataset, Pair
from unmask.diagnose import Diagnosis, find
from unmask.findings import Finding, Section, Table

ROWS = (*range(14), 21, 25)  # the hard cases among them
DECIMALS = {"cps": 3, "crows-bias-bench": 3}  # scores are rounded so before they are compared


@cache
def crows(rows: tuple[int, ...] = ROWS) -> Dataset:
    """Some pairs of the miniature CrowS-Pairs."""
    whole = datasets.load("crows-pairs", data_dir=zoo.MINIATURE)
    return replace(whole, items=tuple(whole.items[row] for row in rows))


def independent(data: Dataset) -> Dataset:
    """The pairs without their writers: each is a unit of its own, as the references of intervals take them."""
    items = (
        replace(item, groups={name: value for name, value in item.groups.items() if name != "writer"})
        for item in data.items
    )
    return replace(data, items=tuple(items))


def as_whole(data: Dataset) -> Dataset:
    """The data with a card that says they are all there are: only then are published numbers compared."""
    return replace(data, card=replace(data.card, size=len(data.items)))


def run(
    diagnoses: Sequence[str | Diagnosis],
    models: Sequence[Any] = (),
    settings: OptionGroup | None = None,
    **options: Any,
) -> tuple[Section, ...]:
    """The section of every diagnosis in its result; `settings` are the options of the only one."""
    groups = {find(diagnosis).name: settings for diagnosis in diagnoses if settings is not None}
    return unmask.diagnose(diagnoses, models, **options, **groups).findings


def finding(
    diagnosis: Diagnosis, architecture: str, data: Dataset, measures: Sequence[str] = (), **settings: Any
) -> Finding:
    """What the diagnosis finds of one tiny model."""
    how = diagnosis.options(measures=tuple(measures), **settings)
    (found,) = run([diagnosis], [zoo.folder(architecture)], data=data, settings=how, options=Options(store=False))
    return found.finding


def rows_of(finding: Finding, title: str) -> list[dict[str, Any]]:
    """The rows of the one table whose title begins so, by column."""
    (table,) = [one for one in finding.tables if one.title.startswith(title)]
    return dicts(table)


def filled(finding: Finding) -> list[Table]:
    """The tables that have rows: a result has no others."""
    return [table for table in finding.tables if table.rows]


def dicts(table: Table) -> list[dict[str, Any]]:
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


@cache
def opened(architecture: str) -> tuple[Any, Any]:
    return reference.load(zoo.folder(architecture))


_scores: dict[tuple[str, str, str, str], dict[str, float] | None] = {}


def slow_scores(architecture: str, measure: str, pair: Pair) -> dict[str, float] | None:
    """Both sentences' scores by the plain reference; None when they cannot be scored."""
    key = (architecture, measure, pair.more, pair.less)
    if key not in _scores:
        found = reference.reference(measure, *opened(architecture), pair)
        _scores[key] = None if found is None else {str(side): value for side, value in found.items()}
    return _scores[key]


def slow_outcome(architecture: str, measure: str, pair: Pair) -> str:
    """Which sentence wins: more, less, tie or unscored."""
    scores = slow_scores(architecture, measure, pair)
    if scores is None:
        return "unscored"
    places = DECIMALS.get(measure, 12)
    more, less = round(scores["more"], places), round(scores["less"], places)
    return "more" if more > less else "less" if less > more else "tie"


def slow_length(architecture: str, text: str) -> int:
    """Tokens of a sentence without special ones."""
    _, tokenizer = opened(architecture)
    return len(reference.pieces(tokenizer, text))
