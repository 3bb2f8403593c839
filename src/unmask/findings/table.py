"""A table is a query over estimates: which columns name a row, which values stand beside them.

    table("Scores by category", estimates, rows=("model", "measure", "category"), columns=("value", "n", "p"))
    table("Scores", estimates, rows=("model", "data"), across="measure")

Comparisons, checks and records are queried in the same way. Wide, long, LaTeX, Markdown, CSV and terminal are
renderings of the `Table` that comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from unmask.core.estimate import Estimate, Value
from unmask.core.statistic import statistic
from unmask.findings.model import Cell, Table

HEADINGS: Mapping[str, str] = {
    "interval": "95% interval",
    "null": "reference value",
    "p_holm": "p (Holm)",
    "design_effect": "design effect",
    "left_out": "left out",
}
Columns = tuple[str, ...] | Mapping[str, str | Callable[[Any], Cell]]  # fields, or heading → field or function


def table(  # noqa: PLR0913 - the parts of a query
    title: str,
    items: Iterable[Any],
    *,
    rows: Columns,
    columns: Columns = ("value",),
    across: str = "",
    cell: str = "value",
    note: str = "",
) -> Table:
    """Estimates, or other items, as a table, in their order; estimates with the decimals of their statistics.

    Args:
        title: of the table.
        items: what it shows; filter them before.
        rows: what names a row: fields of an estimate, or labels of its group, such as `category`.
        columns: what stands beside the names; `value` is the number with its interval.
        across: a field whose values become columns of their own, each with the number of its estimate; `columns`
            are then those of the first estimate of a row.
        cell: the field that stands in the columns of `across`.
        note: how to read it.
    """
    items = list(items)
    names, beside = _getters(rows), _getters(columns if not across or columns != ("value",) else ())
    grouped: dict[tuple[Cell, ...], list[Any]] = {}
    for number, item in enumerate(items):
        key = tuple(get(item) for get in names.values())
        grouped.setdefault(key if across else (*key, number), []).append(item)
    spread = list(dict.fromkeys(_field(across, item) for members in grouped.values() for item in members if across))
    cells: list[tuple[Cell, ...]] = []
    for key, members in grouped.items():
        by_column = {_field(across, item): _field(cell, item) for item in members if across}
        wide = tuple(by_column.get(name) for name in spread)
        cells.append((*key[: len(names)], *wide, *(get(members[0]) for get in beside.values())))
    digits = max((statistic(item.statistic).digits for item in items if isinstance(item, Estimate)), default=2)
    return Table(title, (*names, *map(str, spread), *beside), tuple(cells), note, digits)


def _getters(columns: Columns) -> dict[str, Callable[[Any], Cell]]:
    """Heading and function of every column."""
    named = columns if isinstance(columns, Mapping) else {HEADINGS.get(name, name): name for name in columns}
    return {heading: get if callable(get) else _getter(get) for heading, get in named.items()}


def _getter(name: str) -> Callable[[Any], Cell]:
    return lambda item: _field(name, item)


def _field(name: str, item: Any) -> Any:
    """A field of an item, or the value of a label of its group; `all` for the whole."""
    if isinstance(item, Mapping):
        return item[name]
    if isinstance(item, Estimate) and name == "value":
        return Value(item.value, item.low, item.high, item.method)
    if hasattr(item, name):
        return getattr(item, name)
    label, _, value = item.group.partition("=")
    return value if label == name else item.group
