"""What several steps found, put together; and published numbers set beside ours."""

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
    """A number or word a paper prints."""

    item: str  # "table-2"
    model: str
    data: str
    measure: str
    group: str
    value: str


@functools.cache
def paper_values(study: str) -> tuple[PaperValue, ...]:
    """All that is kept of a study's paper."""
    text = (files("unmask.studies") / "published" / f"{study}.csv").read_text(encoding="utf-8")
    return tuple(PaperValue(**row) for row in csv.DictReader(text.splitlines()))


def published_value(
    study: str, item: str, *, model: str = "", measure: str | None = None, group: str = ""
) -> float | None:
    """One published number, a model being known by the last part of its name; no measure: whichever."""
    name = short_name(model)
    for one in paper_values(study):
        if (one.item, one.model, one.group) == (item, name, group) and measure in (None, one.measure):
            return float(one.value)
    return None


def short_name(model: str) -> str:
    """A model's name without owner and revision."""
    return model.rstrip("/").rpartition("/")[2].partition("@")[0]


def published_table(diagnosis: str) -> Table:
    """What a paper prints for its own models, where ours are others."""
    rows = tuple(
        (one.model, one.data, one.measure, one.statistic, one.group, one.value)
        for one in diagnosed()
        if one.diagnosis == diagnosis
    )
    columns = ("model", "data", "measure", "statistic", "group", "published")
    return Table("As published, of the paper's models", columns, rows)


def collect_finding(outputs: Outputs, steps: Iterable[str], name: str) -> Finding:
    """One finding out of those that steps of that name kept."""
    folders = [folder for step in steps if (folder := outputs.get(step)) is not None]
    kept_by = [load_findings(folder) for folder in folders if (folder / FINDINGS).is_file()]
    return merge_findings([one[name] for one in kept_by if name in one])


def merge_findings(parts: Sequence[Finding]) -> Finding:
    """Answers and notes in turn, tables of one title with all rows, every plot under an id of its own."""
    tables: dict[str, Table] = {}
    for table in (table for one in parts for table in one.tables):
        known = tables.get(table.title)
        tables[table.title] = table if known is None else replace(known, rows=(*known.rows, *table.rows))
    return Finding(
        tuple(line for one in parts for line in one.answers),
        tuple(tables.values()),
        tuple(with_unique_ids(plot for one in parts for plot in one.plots)),
        tuple(dict.fromkeys(note for one in parts for note in one.notes)),
    )


def with_unique_ids(plots: Iterable[Plot]) -> Iterator[Plot]:
    """Ids told apart where several plots have one."""
    seen: dict[str, int] = {}
    for plot in plots:
        seen[plot.id] = seen.get(plot.id, 0) + 1
        yield plot if seen[plot.id] == 1 else replace(plot, id=f"{plot.id}-{seen[plot.id]}")


def add_difference_column(table: Table, ours: str, theirs: str) -> Table:
    """The same with our number less the published one behind the latter, where there is one."""
    here, there = table.columns.index(ours), table.columns.index(theirs)
    rows = tuple(
        (*row[: there + 1], difference(row[here], row[there]), *row[there + 1 :]) for row in table.rows
    )
    columns = (*table.columns[: there + 1], "difference", *table.columns[there + 1 :])
    return replace(table, columns=columns, rows=rows)


def difference(ours: Cell, theirs: Cell) -> Cell:
    """Ours less theirs; nothing where one is lacking."""
    value = ours.value if isinstance(ours, Value) else ours
    if not isinstance(value, int | float) or not isinstance(theirs, int | float):
        return None
    return float(value) - float(theirs)


def in_interval(ours: Cell, theirs: Cell) -> str | None:
    """Does the published number lie in our interval?"""
    if not isinstance(ours, Value) or not isinstance(theirs, int | float) or ours.low != ours.low:
        return None
    return "yes" if ours.low <= theirs <= ours.high else "no"
