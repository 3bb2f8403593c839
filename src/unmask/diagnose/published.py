"""Numbers published in papers, shown beside ours: `published.csv`, one per row."""

from __future__ import annotations

import csv
import functools
from dataclasses import astuple, dataclass
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class PublishedNumber:
    """A published number; `group` is a bias type or a condition, or `all`."""

    diagnosis: str
    model: str
    data: str
    measure: str
    statistic: str
    group: str
    value: float
    where: str  # "Kaneko & Bollegala 2022, Table 1"
    mark: str = ""  # what a dagger beside it means: "p < 0.01"


@functools.cache
def published_numbers() -> tuple[PublishedNumber, ...]:
    """All rows of `published.csv`."""
    text = (files("unmask.diagnose") / "published.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return tuple(PublishedNumber(**{**row, "value": float(row["value"])}) for row in rows)  # type: ignore[arg-type]


@functools.cache
def published_value(
    diagnosis: str, model: str, *, data: str, measure: str, statistic: str, group: str = "all"
) -> float | None:
    """The published number for a model, matched by the last part of its name; None if there is none."""
    key = (diagnosis, model.rstrip("/").rpartition("/")[2].partition("@")[0], data, measure, statistic, group)
    return next((number.value for number in published_numbers() if astuple(number)[:6] == key), None)
