"""Merge the findings of several steps, and compare our numbers with published ones."""

from __future__ import annotations

import csv
import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files

from unmask.diagnose.published import published_numbers as diagnosed
from unmask.findings import Cell, Finding, Plot, Table, Value
from unmask.findings.storage import FINDINGS, load_findings
from unmask.studies.spec import Outputs


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


def short_name(model: str) -> str:
    """A model's name without owner and revision."""
    return model.rstrip("/").rpartition("/")[2].partition("@")[0]


def published_table(diagnosis: str) -> Table:
    """The published values of a diagnosis, for runs on other models than the paper's."""
    rows = tuple(
        (cell.model, cell.data, cell.measure, cell.statistic, cell.group, cell.value)
        for cell in diagnosed()
        if cell.diagnosis == diagnosis
    )
    columns = ("model", "data", "measure", "statistic", "group", "published")
    return Table("As published, of the paper's models", columns, rows)


def collect_finding(outputs: Outputs, steps: Iterable[str], name: str) -> Finding:
    """The findings called `name` of these steps, merged into one."""
    folders = [folder for step in steps if (folder := outputs.get(step)) is not None]
    stored = [load_findings(folder) for folder in folders if (folder / FINDINGS).is_file()]
    return merge_findings([findings[name] for findings in stored if name in findings])


def merge_findings(parts: Sequence[Finding]) -> Finding:
    """Concatenate answers and notes, merge tables of the same title, and make plot ids unique."""
    tables: dict[str, Table] = {}
    for table in (table for part in parts for table in part.tables):
        known = tables.get(table.title)
        tables[table.title] = table if known is None else replace(known, rows=(*known.rows, *table.rows))
    return Finding(
        tuple(line for part in parts for line in part.answers),
        tuple(tables.values()),
        tuple(with_unique_ids(plot for part in parts for plot in part.plots)),
        tuple(dict.fromkeys(note for part in parts for note in part.notes)),
    )


def with_unique_ids(plots: Iterable[Plot]) -> Iterator[Plot]:
    """Number the ids that occur more than once."""
    counts: dict[str, int] = {}
    for plot in plots:
        counts[plot.id] = counts.get(plot.id, 0) + 1
        yield plot if counts[plot.id] == 1 else replace(plot, id=f"{plot.id}-{counts[plot.id]}")


def add_difference_column(table: Table, ours: str, published: str) -> Table:
    """Insert a column `difference` (ours − published) after the published one."""
    left, right = table.columns.index(ours), table.columns.index(published)
    rows = tuple(
        (*row[: right + 1], difference(row[left], row[right]), *row[right + 1 :]) for row in table.rows
    )
    columns = (*table.columns[: right + 1], "difference", *table.columns[right + 1 :])
    return replace(table, columns=columns, rows=rows)


def difference(ours: Cell, published: Cell) -> Cell:
    """Ours − published; None if either is missing."""
    value = ours.value if isinstance(ours, Value) else ours
    if not isinstance(value, int | float) or not isinstance(published, int | float):
        return None
    return float(value) - float(published)


def in_interval(ours: Cell, published: Cell) -> str | None:
    """Whether the published number lies in our interval; None without both."""
    if not isinstance(ours, Value) or not isinstance(published, int | float) or ours.low != ours.low:
        return None
    return "yes" if ours.low <= published <= ours.high else "no"
