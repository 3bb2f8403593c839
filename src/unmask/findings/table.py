"""A table is a query over estimates: which columns name a row, which values stand beside them.

    table("Scores by category", estimates, rows=("model", "measure", "category"), columns=("value", "n", "p"))
    table("Scores", estimates, rows=("model", "data"), across="measure")

Wide, long, LaTeX, Markdown, CSV and terminal are renderings of the `Table` that comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from unmask.core.estimate import Estimate, Value
from unmask.core.statistic import statistic
from unmask.findings.model import Cell, Table

HEADINGS: Mapping[str, str] = {"p_holm": "p (Holm)", "null": "reference value", "design_effect": "design effect"}
Columns = tuple[str, ...] | Mapping[str, str | Callable[[Estimate], Cell]]  # fields, or heading → field or function


def table(
    title: str,
    estimates: Iterable[Estimate],
    *,
    rows: Columns,
    columns: Columns = ("value",),
    across: str = "",
    note: str = "",
) -> Table:
    """The estimates as a table, in their order, with the decimals of their statistics.

    Args:
        title: of the table.
        estimates: what it shows; filter them before.
        rows: what names a row: fields of an estimate, or labels of its group, such as `category`.
        columns: what stands beside the names; `value` is the number with its interval.
        across: a field whose values become columns of their own, each with the number of its estimate; `columns`
            are then those of the first estimate of a row.
        note: how to read it.
    """
    estimates = list(estimates)
    names, beside = _getters(rows), _getters(columns if not across or columns != ("value",) else ())
    grouped: dict[tuple[Cell, ...], list[Estimate]] = {}
    for number, estimate in enumerate(estimates):
        key = tuple(get(estimate) for get in names.values())
        grouped.setdefault(key if across else (*key, number), []).append(estimate)
    spread = list(dict.fromkeys(_field(across, e) for es in grouped.values() for e in es)) if across else []
    cells: list[tuple[Cell, ...]] = []
    for key, members in grouped.items():
        by_column = {_field(across, estimate): _value(estimate) for estimate in members} if across else {}
        wide = tuple(by_column.get(name) for name in spread)
        cells.append((*key[: len(names)], *wide, *(get(members[0]) for get in beside.values())))
    digits = max((statistic(estimate.statistic).digits for estimate in estimates), default=2)
    return Table(title, (*names, *map(str, spread), *beside), tuple(cells), note, digits)


def _getters(columns: Columns) -> dict[str, Callable[[Estimate], Cell]]:
    """Heading and function of every column."""
    named = columns if isinstance(columns, Mapping) else {HEADINGS.get(name, name): name for name in columns}
    return {heading: get if callable(get) else _getter(get) for heading, get in named.items()}


def _getter(name: str) -> Callable[[Estimate], Cell]:
    return _value if name == "value" else lambda estimate: _field(name, estimate)


def _value(estimate: Estimate) -> Value:
    return Value(estimate.value, estimate.low, estimate.high, estimate.method)


def _field(name: str, estimate: Estimate) -> Any:
    """A field of an estimate, or the value of a label of its group; `all` for the whole."""
    if name in Estimate.__dataclass_fields__:
        return getattr(estimate, name)
    label, _, value = estimate.group.partition("=")
    return value if label == name else estimate.group
