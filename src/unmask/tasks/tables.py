"""What the conclusions of several tasks show: estimates by model, plots by occupation, both ends of a ranking."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from unmask.core.estimate import Estimate
from unmask.findings import Cell, Plot
from unmask.tasks.spec import TaskObservation

T = TypeVar("T")


def estimates_of(observations: Iterable[TaskObservation], *statistics: str) -> list[Estimate]:
    """The estimates of all models, or those of some statistics."""
    estimates = [estimate for observation in observations for estimate in observation.estimates]
    return [estimate for estimate in estimates if not statistics or estimate.statistic in statistics]


def rows_by_model(
    observations: Iterable[TaskObservation], rows: Callable[[Any], Iterable[Sequence[Cell]]]
) -> tuple[tuple[Cell, ...], ...]:
    """The rows of every result, each after the name of its model."""
    return tuple((observation.name, *row) for observation in observations for row in rows(observation.result))


def occupation_plots(
    id: str, title: str, alt: str, y: str, rows: Iterable[tuple[str, str, float, float]]
) -> tuple[Plot, ...]:
    """A dot for each model, occupation, share of women and value; no plot without rows."""
    from unmask.findings import charts

    points = [{"x": x, "y": value, "label": name, "series": model} for model, name, x, value in rows]
    return (Plot(id, title, alt, charts.scatter(points, x="share of women", y=y)),) if points else ()


def both_ends(ranking: Sequence[T], count: int = 5) -> list[T]:
    """The first and the last of a ranking, each once."""
    return list(ranking) if len(ranking) <= 2 * count else [*ranking[:count], *ranking[-count:]]
