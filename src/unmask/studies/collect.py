"""The numbers printed in papers, our numbers beside them, and the findings of several steps as one."""

from __future__ import annotations

import csv
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any, NamedTuple

from unmask import data as datasets
from unmask.audit.interpretation import plural_unit
from unmask.core.estimate import Estimate, Value
from unmask.findings import Cell, Finding, Table
from unmask.stats.units import ITEM
from unmask.studies.spec import PaperComparison

SIGNIFICANCE = "marked in the paper"  # the column of its daggers
COUNT = 1000  # a whole number from here on is a count
VALUE = ""  # a column of the estimate with its interval
Columns = Mapping[str, str | Callable[[Estimate], Cell]]  # by header: an attribute of the estimate, VALUE, or how


@dataclass(frozen=True, slots=True)
class PaperValue:
    """A number or word printed in a paper."""

    item: str  # "table-2"
    model: str
    data: str
    measure: str
    group: str
    value: str
    mark: str = ""  # what a dagger beside it means: "p < 0.05"


class PublishedMatch(NamedTuple):
    """The published number to compare with, or None and the reason; and its significance, if the paper marks it."""

    value: float | None
    reason: str = ""
    mark: str = ""


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


def compare(
    study: str, item: str, estimate: Estimate, model: str, *, limit: int | None = None, **where: str
) -> PaperComparison:
    """An estimate beside the published one of the same model, data and measure, else the reason why there is none.

    `where`: `measure` and `group`, as in `published_value`; `limit`: that of the study, if the data were cut.
    """
    estimate = replace(estimate, model=model)
    return PaperComparison(item, estimate, *find_published(study, item, estimate, limit=limit, **where))


def find_published(
    study: str, item: str, of: Estimate, *, limit: int | None = None, measure: str | None = None, group: str = ""
) -> PublishedMatch:
    """The number printed for this model on these data, or None and the reason why there is none to compare with."""
    cells = [cell for cell in paper_values(study) if (cell.item, cell.group) == (item, group)]
    cells = [cell for cell in cells if measure in (None, cell.measure)]
    return match_published(cells, of, limit=limit)


def match_published(printed: Iterable[Any], of: Estimate, *, limit: int | None = None) -> PublishedMatch:
    """Of the numbers printed of one statistic, that of this model on these data, or None and the reason why not.

    Every number has the attributes `model`, `data` and `value`, perhaps `mark`; empty text: any model or data.
    """
    cells = list(printed)
    if not cells:
        return PublishedMatch(None, "the paper prints no such number")
    of_model = [cell for cell in cells if cell.model in ("", short_name(of.model))]
    if not of_model:
        return PublishedMatch(None, "another model")
    same = next((cell for cell in of_model if cell.data in ("", of.data)), None)
    if same is None:
        return PublishedMatch(None, f"other data than {of_model[0].data}")
    if limit is not None and of.data in datasets.names() and limit < datasets.card(of.data).size:
        return PublishedMatch(None, f"a sample of {limit:,} items only")
    return PublishedMatch(float(same.value), mark=getattr(same, "mark", ""))


def short_name(model: str) -> str:
    """A model's name without owner and revision."""
    return model.rstrip("/").rpartition("/")[2].partition("@")[0]


def published_table(title: str, columns: Mapping[str, str], values: Iterable[Any]) -> Table:
    """Published numbers as a table; `columns` are attributes of theirs by header."""
    cells = list(values)
    marks = {SIGNIFICANCE: "mark"} if any(getattr(each, "mark", "") for each in cells) else {}
    rows = tuple(
        (
            *(getattr(each, attribute) for attribute in columns.values()),
            _number(float(each.value)),
            *(getattr(each, attribute) or None for attribute in marks.values()),
        )
        for each in cells
    )
    return Table(title, (*columns, "published", *marks), rows)


def _number(value: float) -> float | int:
    """A large count without decimals."""
    return int(value) if value.is_integer() and abs(value) >= COUNT else value


def comparison_table(
    title: str, columns: Columns, comparisons: Sequence[PaperComparison], note: str = "", digits: int = 2
) -> Table:
    """Our numbers beside the published ones; without any, only the reasons."""
    printed = any(each.published is not None for each in comparisons)
    reasons = any(each.reason for each in comparisons)
    theirs: dict[str, Callable[[PaperComparison], Cell]] = {"published": lambda each: each.published}
    if printed or not reasons:
        note = f"{note} In interval: whether the published number lies in our interval.".strip()
        marked = any(each.mark for each in comparisons)
        theirs |= {SIGNIFICANCE: lambda each: each.mark or None} if marked else {}
        theirs |= {"difference": lambda each: each.difference, "in interval": lambda each: each.in_interval}
    theirs |= {"why not compared": lambda each: each.reason or None} if reasons else {}
    rows = tuple(
        (*(_cell(each.estimate, how) for how in columns.values()), *(show(each) for show in theirs.values()))
        for each in comparisons
    )
    return Table(title, (*columns, *theirs), rows, note, digits)


def _cell(estimate: Estimate, how: str | Callable[[Estimate], Cell]) -> Cell:
    """What a column shows of an estimate."""
    if not isinstance(how, str):
        return how(estimate)
    return estimate if how == VALUE else getattr(estimate, how)


def interval_note(name: str, estimates: Iterable[Estimate]) -> str:
    """What intervals are, and over which units: pairs of one writer are not independent."""
    units = {each.data: f"{unit} of {each.data}" for each in estimates if (unit := over_units(each))}
    return f"{name} intervals{','.join(units.values())}."


def over_units(value: Value) -> str:
    """` over writers`; nothing for independent items."""
    return f" over {plural_unit(value.unit)}" if value.unit not in ("", ITEM) else ""


def compared_with_paper(comparisons: Sequence[PaperComparison], digits: int = 2) -> list[Table]:
    """A table of the numbers that the paper prints too, if there are any."""
    found = [each for each in comparisons if each.published is not None]
    labels = ("model", "data", "measure", "group", "statistic")
    columns: Columns = {**{label: label for label in labels}, "ours": VALUE, "n": "n"}
    return [comparison_table("Compared with the paper", columns, found, digits=digits)] if found else []


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
