"""The numbers printed in papers, our numbers beside them, and the findings of several steps as one."""

from __future__ import annotations

import csv
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from unmask.core.estimate import Estimate
from unmask.findings import Cell, Finding, Table
from unmask.studies.spec import PaperComparison

Columns = Mapping[str, str | Callable[[Estimate], Cell]]  # by header: an attribute of the estimate, or how


@dataclass(frozen=True, slots=True)
class PaperValue:
    """A number or word printed in a paper."""

    item: str  # "table-2"
    model: str
    data: str
    measure: str
    group: str
    value: str


@functools.cache
def paper_values(study: str) -> tuple[PaperValue, ...]:
    """All recorded values of a study's paper."""
    text = (files("unmask.studies") / "published" / f"{study}.csv").read_text(encoding="utf-8")
    return tuple(PaperValue(**row) for row in csv.DictReader(text.splitlines()))


def published_value(
    study: str, item: str, *, model: str = "", measure: str | None = None, group: str = ""
) -> float | None:
    """One published number, or None; `model` is matched by its short name, `measure=None` matches any."""
    name = short_name(model)
    for cell in paper_values(study):
        if (cell.item, cell.model, cell.group) == (item, name, group) and measure in (None, cell.measure):
            return float(cell.value)
    return None


def compare(study: str, item: str, estimate: Estimate, model: str, **where: str) -> PaperComparison:
    """An estimate of this model beside the published one."""
    return PaperComparison(item, replace(estimate, model=model), published_value(study, item, model=model, **where))


def short_name(model: str) -> str:
    """A model's name without owner and revision."""
    return model.rstrip("/").rpartition("/")[2].partition("@")[0]


def published_table(title: str, columns: Mapping[str, str], values: Iterable[Any]) -> Table:
    """Published numbers as a table; `columns` are attributes of theirs by header."""
    rows = tuple((*(getattr(each, attribute) for attribute in columns.values()), float(each.value)) for each in values)
    return Table(title, (*columns, "published"), rows)


def comparison_table(
    title: str, columns: Columns, comparisons: Sequence[PaperComparison], note: str = "", digits: int = 2
) -> Table:
    """Our numbers beside the published ones."""
    note = f"{note} In interval: whether the published number lies in our interval.".strip()
    rows = [
        (
            *(getattr(each.estimate, how) if isinstance(how, str) else how(each.estimate) for how in columns.values()),
            *(each.published, each.difference, each.in_interval),
        )
        for each in comparisons
    ]
    return Table(title, (*columns, "published", "difference", "in interval"), tuple(rows), note, digits)


def compared_with_paper(comparisons: Sequence[PaperComparison], digits: int = 2) -> list[Table]:
    """A table of the numbers that the paper prints too, if there are any."""
    found = [each for each in comparisons if each.published is not None]
    labels = ("model", "data", "measure", "group", "statistic")
    columns: Columns = {**{label: label for label in labels}, "ours": itself, "n": "n"}
    return [comparison_table("Compared with the paper", columns, found, digits=digits)] if found else []


def itself(estimate: Estimate) -> Cell:
    """The estimate as a cell: its value with the interval."""
    return estimate


def merge_findings(parts: Sequence[Finding]) -> Finding:
    """Concatenate answers, plots and notes, and merge tables of the same title."""
    tables: dict[str, Table] = {}
    for table in (table for part in parts for table in part.tables):
        known = tables.get(table.title)
        tables[table.title] = table if known is None else replace(known, rows=(*known.rows, *table.rows))
    return Finding(
        tuple(line for part in parts for line in part.answers),
        tuple(tables.values()),
        tuple(plot for part in parts for plot in part.plots),
        tuple(dict.fromkeys(note for part in parts for note in part.notes)),
    )
