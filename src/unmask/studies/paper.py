"""A paper as data, `papers/NAME.toml`: its published numbers and claims, and the words of its sections and tables.

[published.table-3]                          numbers: the columns of the rows, and what all rows share
data = "crows-pairs"
columns = ["model", "group", "value"]
rows = [["bert-base-uncased", "gender", 5.18]]

[sections.table-3]                           title, lead and foot
[tables.scores]                              title, columns, note and digits
[plots.scores]                               title, alt and the axes
[claims.prefer]                              question, statistic, null, and the side that the paper expects
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from dataclasses import fields as dataclass_fields
from importlib.resources import files
from typing import Any, NamedTuple

from unmask import data as datasets
from unmask.core.boundary import validate
from unmask.core.errors import ResultError
from unmask.core.estimate import Estimate, Value
from unmask.findings import Cell, Finding, Plot, Section, Table, charts
from unmask.findings.numbers import plural_unit
from unmask.stats.units import ITEM
from unmask.studies.claims import ClaimTest, Side
from unmask.studies.spec import PaperComparison, short_name

SIGNIFICANCE = "marked in the paper"  # the column of its daggers
COUNT = 1000  # a whole number from here on is a count
VALUE = ""  # a column of the estimate with its interval
Columns = Mapping[str, str | Callable[[Estimate], Cell]]  # by header: an attribute of the estimate, VALUE, or how
Rows = Iterable[tuple[Cell, ...]]


@dataclass(frozen=True, slots=True)
class PaperValue:
    """A number or word printed in a paper; empty text: of any model or data."""

    item: str  # "table-2"
    value: float | str
    model: str = ""
    data: str = ""
    measure: str = ""
    group: str = ""
    mark: str = ""  # what a dagger beside it means: "p < 0.05"


@dataclass(frozen=True, slots=True)
class SectionText:
    """What a section says around its finding."""

    title: str
    lead: str = ""
    foot: str = ""


@dataclass(frozen=True, slots=True)
class TableText:
    """What a table says around its rows."""

    title: str
    columns: tuple[str, ...] = ()
    note: str = ""
    digits: int = 2


@dataclass(frozen=True, slots=True)
class PlotText:
    """What a plot says around its chart; `axes` are those that its kind of chart has."""

    title: str
    alt: str
    axes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClaimText:
    """A claim of the paper as a question about a statistic, and the side of the null where it puts the value."""

    question: str
    statistic: str = ""
    null: float = 0.0
    expected: Side = "above"
    method: str = ""


@dataclass(frozen=True, slots=True)
class PaperText:
    """The content of a paper's file."""

    published: Mapping[str, Mapping[str, Any]]
    sections: Mapping[str, SectionText]
    tables: Mapping[str, TableText] = field(default_factory=dict)
    plots: Mapping[str, PlotText] = field(default_factory=dict)
    claims: Mapping[str, ClaimText] = field(default_factory=dict)


class PublishedMatch(NamedTuple):
    """The published number to compare with, or None and the reason; and its significance, if the paper marks it."""

    value: float | None
    reason: str = ""
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Paper:
    """The numbers, claims and words of a paper, from which its sections, tables and tests are made."""

    text: PaperText
    values: tuple[PaperValue, ...]

    def of_item(self, item: str) -> list[PaperValue]:
        """The values of a table or figure."""
        return [value for value in self.values if value.item == item]

    def section(self, name: str, finding: Finding, **facts: Any) -> Section:
        """The section of a table or figure; `facts` fill the blanks of its texts."""
        text = self.text.sections[name]
        return Section(name, text.title, text.lead.format(**facts), finding, text.foot.format(**facts))

    def table(self, name: str, rows: Rows, *further: str, **facts: Any) -> Table:
        """The table of this name with these rows; `facts` fill the blanks of its title and note.

        `further`: columns after those that the paper's file names, such as one for every model.
        """
        text = self.text.tables[name]
        columns = (*text.columns, *further)
        return Table(text.title.format(**facts), columns, tuple(rows), text.note.format(**facts), text.digits)

    def plot(self, name: str, chart: Callable[..., Any], rows: Sequence[charts.Row], **how: Any) -> tuple[Plot, ...]:
        """The plot of this name, if it has any rows; `how`: further arguments of the chart."""
        text = self.text.plots[name]
        return (Plot(name, text.title, text.alt, chart(rows, **text.axes, **how)),) if rows else ()

    def test(self, name: str, where: str, value: Value, n: int, **fields: Any) -> ClaimTest:
        """A test of a claim; `fields`: its p, what is other than the paper's file says, and facts for its blanks."""
        claim, known = self.text.claims[name], {field.name for field in dataclass_fields(ClaimTest)}
        facts = {fact: value for fact, value in fields.items() if fact not in known}
        said = {"null": claim.null, "expected": claim.expected, "method": claim.method}
        texts = {"claim": claim.question.format(**facts), "statistic": claim.statistic.format(**facts)}
        given = {key: value for key, value in fields.items() if key in known}
        return ClaimTest(**{**texts, **said, "where": where, "value": value, "n": n, **given})

    def match(
        self, item: str, of: Estimate, *, limit: int | None = None, measure: str | None = None, group: str = ""
    ) -> PublishedMatch:
        """The number printed for this model on these data, or None and the reason why there is none to compare with."""
        cells = [cell for cell in self.of_item(item) if cell.group == group and measure in (None, cell.measure)]
        return match_published(cells, of, limit=limit)

    def compare(
        self, item: str, estimate: Estimate, *, limit: int | None = None, measure: str | None = None, group: str = ""
    ) -> PaperComparison:
        """An estimate beside the number printed for the same model, data, measure and group, or why there is none.

        `measure=None` matches any; `limit`: that of the study, if the data were cut.
        """
        return PaperComparison(item, estimate, *self.match(item, estimate, limit=limit, measure=measure, group=group))

    def printed_table(self, title: str, columns: Mapping[str, str], *items: str) -> Table:
        """The numbers that the paper prints in these tables or figures."""
        return published_table(title, columns, [value for value in self.values if value.item in items])


@functools.cache
def load_paper(name: str) -> Paper:
    """The paper of a study, from its file."""
    place = f"papers/{name}.toml"
    content = tomllib.loads((files("unmask.studies") / place).read_text(encoding="utf-8"))
    text = validate(PaperText, content, place, ResultError)
    values = []
    for key, block in text.published.items():
        shared = {"item": key, **{label: fact for label, fact in block.items() if label not in ("columns", "rows")}}
        rows = [dict(zip(block["columns"], row, strict=True)) for row in block["rows"]]
        values += [validate(PaperValue, {**shared, **row}, f"{place}: {key}", ResultError) for row in rows]
    return Paper(text, tuple(values))


def match_published(cells: Sequence[Any], of: Estimate, *, limit: int | None = None) -> PublishedMatch:
    """Of the numbers printed of one statistic, that of this model on these data, or None and the reason why not.

    Every number has the attributes `model`, `data` and `value`, perhaps `mark`; empty text: any model or data.
    """
    if not cells:
        return PublishedMatch(None, "the paper prints no such number")
    of_model = [cell for cell in cells if cell.model in ("", short_name(of.model))]
    same = next((cell for cell in of_model if cell.data in ("", of.data)), None)
    if same is None:
        return PublishedMatch(None, f"other data than {of_model[0].data}" if of_model else "another model")
    if limit is not None and of.data in datasets.names() and limit < datasets.card(of.data).size:
        return PublishedMatch(None, f"a sample of {limit:,} items only")
    return PublishedMatch(float(same.value), mark=getattr(same, "mark", ""))


def published_table(title: str, columns: Mapping[str, str], values: Iterable[Any]) -> Table:
    """Published numbers as a table; `columns` are attributes of theirs by header."""
    cells = list(values)
    marks = {SIGNIFICANCE: "mark"} if any(getattr(cell, "mark", "") for cell in cells) else {}
    rows = []
    for cell in cells:
        value = float(cell.value)
        shown = int(value) if value.is_integer() and abs(value) >= COUNT else value
        labels = (getattr(cell, attribute) for attribute in columns.values())
        rows.append((*labels, shown, *(getattr(cell, attribute) or None for attribute in marks.values())))
    return Table(title, (*columns, "published", *marks), tuple(rows))


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
    if callable(how):
        return how(estimate)
    return estimate if how == VALUE else getattr(estimate, how)


def compared_with_paper(comparisons: Sequence[PaperComparison], digits: int = 2) -> list[Table]:
    """A table of the numbers that the paper prints too, if there are any."""
    printed = [each for each in comparisons if each.published is not None]
    labels = ("model", "data", "measure", "group", "statistic")
    columns: Columns = {**{label: label for label in labels}, "ours": VALUE, "n": "n"}
    return [comparison_table("Compared with the paper", columns, printed, digits=digits)] if printed else []


def label_of(estimate: Estimate) -> str:
    """What the group of an estimate is called: `gender` of `category=gender`; empty for the whole."""
    return estimate.group.partition("=")[2]


def interval_note(name: str, estimates: Iterable[Estimate]) -> str:
    """What intervals are, and over which units: pairs of one writer are not independent."""
    units = {each.data: f"{unit} of {each.data}" for each in estimates if (unit := over_units(each))}
    return f"{name} intervals{','.join(units.values())}."


def over_units(value: Value) -> str:
    """` over writers`; nothing for independent items."""
    return f" over {plural_unit(value.unit)}" if value.unit not in ("", ITEM) else ""


def describe_test(name: str, value: Value) -> str:
    """A test of pairs by name: exact, or over the units that pairs share."""
    over = over_units(value)
    return f"{name}{over}" if over else f"exact {name}"


def present(*tables: Table) -> tuple[Table, ...]:
    """The tables that have any rows."""
    return tuple(table for table in tables if table.rows)


def merge_findings(parts: Sequence[Finding]) -> Finding:
    """Concatenate answers, plots and notes, and merge tables of the same title."""
    tables: dict[str, Table] = {}
    for table in (table for part in parts for table in part.tables):
        known = tables.get(table.title, replace(table, rows=()))
        tables[table.title] = replace(known, rows=(*known.rows, *table.rows))
    return Finding(
        tuple(line for part in parts for line in part.answers),
        tuple(tables.values()),
        tuple(plot for part in parts for plot in part.plots),
        tuple(dict.fromkeys(note for part in parts for note in part.notes)),
    )
