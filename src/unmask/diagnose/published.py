"""Numbers the papers print, to be set beside ours: `published.csv`, one a row."""

from __future__ import annotations

import csv
import functools
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class PublishedNumber:
    """A number of a paper; a group is a bias type or a condition, `all` the whole."""

    diagnosis: str
    model: str
    data: str
    measure: str
    statistic: str
    group: str
    value: float
    where: str  # "Kaneko & Bollegala 2022, Table 1"


@functools.cache
def published_numbers() -> tuple[PublishedNumber, ...]:
    """All of them."""
    text = (files("unmask.diagnose") / "published.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return tuple(PublishedNumber(**{**row, "value": float(row["value"])}) for row in rows)  # type: ignore[arg-type]


def published_value(
    diagnosis: str, model: str, *, data: str, measure: str, statistic: str, group: str = "all"
) -> float | None:
    """The paper's number for this model, by the last part of its name; None where it has none."""
    name = model.rstrip("/").rpartition("/")[2].partition("@")[0]
    key = (diagnosis, name, data, measure, statistic, group)
    for number in published_numbers():
        if (
            number.diagnosis,
            number.model,
            number.data,
            number.measure,
            number.statistic,
            number.group,
        ) == key:
            return number.value
    return None
