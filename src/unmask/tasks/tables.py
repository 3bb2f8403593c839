"""Tables by model and plots by occupation, as the conclusions of the tasks show them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from unmask.findings import Cell, Plot, Table
from unmask.tasks.spec import TaskObservation

T = TypeVar("T")


def table_by_model(
    observations: Sequence[TaskObservation],
    title: str,
    columns: Sequence[str],
    rows: Callable[[Any], Iterable[Sequence[Cell]]],
    note: str,
    digits: int = 3,
) -> Table:
    """A table of the rows of every result, each after the name of its model."""
    cells = tuple((each.name, *row) for each in observations for row in rows(each.result))
    return Table(title, ("model", *columns), cells, note, digits)


def occupation_plots(
    id: str, title: str, alt: str, y: str, rows: Iterable[tuple[str, str, float, float]]
) -> tuple[Plot, ...]:
    """A dot for each model, occupation, share of women and value; no plot without rows."""
    from unmask.findings import charts

    points = [{"x": x, "y": value, "label": name, "series": model} for model, name, x, value in rows]
    return (Plot(id, title, alt, charts.scatter(points, x="share of women", y=y)),) if points else ()


def both_ends(ranked: Sequence[T], count: int = 5) -> list[T]:
    """The first and the last of a ranking, each once."""
    return list(ranked) if len(ranked) <= 2 * count else [*ranked[:count], *ranked[-count:]]
