"""The bias scores of a result, counted again in its items: the two must be the same numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from unmask.core.errors import ResultError
from unmask.core.statistic import BALANCED
from unmask.core.types import Measure
from unmask.findings.envelope import ITEMS, RESULT
from unmask.measures import MEASURES
from unmask.stats.directions import DIRECTIONS
from unmask.stats.table import EMPTY_SPAN, HEADLINE_GOALS

if TYPE_CHECKING:
    from unmask.audit.result import AuditResult

SCORE = "bias-score"
SAME = 1e-6  # points
Cell = Mapping[str, Any]  # the labels of some rows, their outcome, and how many they are


def check_shares(result: AuditResult) -> None:
    """Refuse a result whose bias scores are not those of its items; measures that are not installed are left out."""
    cells = _count_rows(result.items)
    scores = [
        stored
        for stored in result.meta["estimates"]
        if stored["measure"] in MEASURES and stored["statistic"] in (SCORE, f"{BALANCED}{SCORE}")
    ]
    _check_headlines(scores, str(result.folder))
    for stored in scores:
        name, _, label = stored["group"].partition("=")
        own = [
            cell
            for cell in cells
            if (cell["measure"], cell["data"]) == (stored["measure"], stored["data"])
            if ((cell.get("goal") or "") in HEADLINE_GOALS if name == "all" else cell.get(name) == label)
        ]
        counted = _share(own, MEASURES[stored["measure"]], balanced=stored["statistic"] != SCORE)
        if any(_differ(stored[name], number) for name, number in counted.items()):
            what = f"{stored['measure']} {stored['statistic']} on {stored['data']}, {stored['group']},"
            raise ResultError(
                f"{result.folder}: {what} is {_listed(stored)} in {RESULT}, but {_listed(counted)} in {ITEMS}: "
                "one of them was changed, run the audit again"
            )


def _check_headlines(scores: Sequence[Mapping[str, Any]], folder: str) -> None:
    """Refuse scores of groups without that of all items, which they would be taken for, and other reference values."""
    whole = {(stored["measure"], stored["data"]) for stored in scores if stored["group"] == "all"}
    for stored in scores:
        what = f"{folder}: {stored['measure']} {stored['statistic']} on {stored['data']}, {stored['group']},"
        if (stored["measure"], stored["data"]) not in whole:
            raise ResultError(f"{what} is there without the score of all items: it was changed, run the audit again")
        if stored["null"] != (null := MEASURES[stored["measure"]].null):
            raise ResultError(
                f"{what} has the reference value {stored['null']}, expected {null}: it was changed, run the audit again"
            )


def _count_rows(items: pa.Table) -> list[Cell]:
    """How many rows there are of each measure, dataset, group and outcome."""
    named = ("measure", "data", "category", "direction", "goal", "outcome")
    columns = {name: items[name].cast(pa.string()) for name in named if name in items.column_names}
    columns["empty"] = pc.fill_null(pc.starts_with(items["reason"].cast(pa.string()), EMPTY_SPAN), False)
    table = pa.table(columns)
    return [dict(cell) for cell in table.group_by(table.column_names).aggregate([([], "count_all")]).to_pylist()]


def _share(cells: Sequence[Cell], measure: Measure, *, balanced: bool) -> dict[str, float]:
    """The bias score of these rows and its counts; `balanced`: the mean of those of both directions."""
    if balanced:
        cells = [cell for cell in cells if cell.get("direction") in DIRECTIONS]
    counted = [cell for cell in cells if cell["outcome"] != "unscored" or (cell["empty"] and measure.empty_span_loses)]
    parts = (
        [[cell for cell in counted if cell.get("direction") == name] for name in DIRECTIONS] if balanced else [counted]
    )
    shares = [100 * _total(part, "more") / total if (total := _total(part)) else math.nan for part in parts]
    counts = {"ties": _total(cells, "tie"), "unscored": _total(cells, "unscored")}
    return {"value": sum(shares) / len(shares), "n": _total(counted), **counts}


def _total(cells: Sequence[Cell], outcome: str = "") -> int:
    return sum(cell["count_all"] for cell in cells if outcome in ("", cell["outcome"]))


def _differ(stored: float | None, counted: float) -> bool:
    return not (math.isnan(counted) if stored is None else abs(stored - counted) <= SAME)


def _listed(numbers: Mapping[str, Any]) -> str:
    """The score and its counts, whether they are stored or counted."""
    score = "not defined" if (value := numbers["value"]) is None or math.isnan(value) else f"{value:.2f}"
    return f"{score} (n {numbers['n']:,}, ties {numbers['ties']:,}, unscored {numbers['unscored']:,})"
