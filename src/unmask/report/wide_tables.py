"""Tables as papers print them: a row for each model or category, a column for each measure, stars for significance.

Constants (statistic, reference value, number of items, widest interval) are in the caption, not in columns. Stars are
those of every other output, after Holm's correction over the headlines of a dataset or the categories of a measure; a
dagger marks the numbers of which a check failed, or their row if all failed, and the caption names the check. Below
the models stand published scores of known models.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from unmask.audit.interpretation import (
    Interpretation,
    all_pairs,
    count_tested,
    data_card,
    interpret,
    published_scores,
    with_companions,
)
from unmask.audit.result import AuditResult
from unmask.core.estimate import Estimate
from unmask.core.statistic import statistic
from unmask.core.types import Published
from unmask.findings import Table
from unmask.findings.numbers import number
from unmask.findings.sentences import ALIKE, BASELINE, capital
from unmask.findings.table import table
from unmask.report.selection import by_group, group_name
from unmask.report.tables import HOLM_STARS, failure_note, stars_note, subset_note

FAILED, KNOWN = "†", "‡"


class Entry(NamedTuple):
    """An estimate as it is read, the row it stands in, and the run it comes from."""

    row: str
    run: AuditResult
    known: Interpretation

    @property
    def measure(self) -> str:
        """The column it stands in."""
        return self.known.estimate.measure


@dataclass(frozen=True, slots=True)
class WideTable:
    """The estimates of one dataset and statistic, and published scores."""

    rows: str  # what a row is: model or category
    model: str  # whose categories; empty if the rows are models
    entries: tuple[Entry, ...]
    published: tuple[tuple[str, Published], ...]  # with the measure

    @property
    def first(self) -> Estimate:
        """An estimate of this dataset and statistic."""
        return self.entries[0].known.estimate

    def by_row(self) -> dict[str, list[Entry]]:
        """The entries of each row."""
        rows: dict[str, list[Entry]] = {}
        for entry in self.entries:
            rows.setdefault(entry.row, []).append(entry)
        return rows

    def table(self) -> Table:
        """As text with stars and daggers, rounded for readers."""
        cells = []
        for row, entries in self.by_row().items():
            whole = all(entry.known.doubt for entry in entries)  # then the row is marked instead of every cell
            name = f"{row}{FAILED}" if whole else row
            for entry in entries:
                mark = FAILED if entry.known.doubt and not whole else ""
                shown = f"{entry.known.value}{entry.known.stars}{mark}"
                cells.append({self.rows: name, "measure": entry.measure, "shown": shown})
        digits = statistic(self.first.statistic).digits
        for measure, score in self.published:
            shown = number(score.value, digits)
            cells.append({self.rows: f"{score.model}{KNOWN}", "measure": measure, "shown": shown})
        title = " · ".join(filter(None, (self.first.data, self.first.statistic, self.model)))
        return table(title, cells, rows=(self.rows,), across="measure", cell="shown", note=self._note())

    def records(self) -> list[dict[str, Any]]:
        """As rows of a spreadsheet: numbers in full precision, p and failed checks in columns of their own."""
        named = {"data": self.first.data, "statistic": self.first.statistic}
        named |= {"model": self.model} if self.model else {}
        records: list[dict[str, Any]] = []
        for row, entries in self.by_row().items():
            values = {entry.measure: entry.known.estimate.value for entry in entries}
            tests = {f"p (Holm) {entry.measure}": entry.known.estimate.p_holm for entry in entries}
            failed = ", ".join(entry.measure for entry in entries if entry.known.doubt)
            notes = {"check failed": failed, "published in": ""}
            records.append({**named, self.rows: row, **values, **tests, **notes})
        models: dict[str, dict[str, Any]] = {}
        for measure, score in self.published:
            models.setdefault(score.model, {"published in": score.where})[measure] = score.value
        return [*records, *({**named, self.rows: model, **scores} for model, scores in models.items())]

    def _note(self) -> str:
        data, runs = self.first.data, [entries[0].run for entries in self.by_row().values()]
        sources = "; ".join(dict.fromkeys(score.where for _, score in self.published))
        baselines = dict.fromkeys(entry.measure for entry in self.entries if entry.known.baseline)
        balanced = statistic(self.first.statistic).is_balanced
        parts = (
            subset_note(card for run in runs if (card := data_card(run, data))),
            f"{capital(ALIKE)}{self._all_pairs()}." if balanced else "",
            _constants([entry.known.estimate for entry in self.entries]),
            self._families(runs, data),
            f"{', '.join(baselines)}: {BASELINE}." if baselines else "",
            failure_note(runs, data),
            f"{KNOWN} published, not measured here: {sources}." if sources else "",
        )
        return " ".join(filter(None, parts))

    def _all_pairs(self) -> str:
        """The scores over all pairs, where they have no table of their own."""
        whole = [entry for entry in self.entries if self.model and entry.known.estimate.group == "all"]
        plain = [(entry.measure, all_pairs(entry.run, entry.known.estimate)) for entry in whole]
        shown = [f"{name} {number(each.value, statistic(each.statistic).digits)}" for name, each in plain if each]
        return f"; over all pairs: {', '.join(shown)}" if shown else ""

    def _families(self, runs: Sequence[AuditResult], data: str) -> str:
        """What the stars mean; empty if no number of the table was tested."""
        if all(entry.known.estimate.p_holm is None for entry in self.entries):
            return ""
        if not self.model:
            return stars_note(runs, data)
        n = count_tested(runs[0], data)
        return HOLM_STARS.format(f"the categories of a measure, in the row all over {n} measure{'' if n == 1 else 's'}")


def by_model(results: Sequence[AuditResult], names: Sequence[str]) -> list[WideTable]:
    """For each dataset and statistic the headline estimates: rows are models, columns are measures."""
    named = zip(names, results, strict=True)
    heads = [(name, result, each) for name, result in named for each in with_companions(result, result.headlines())]
    return _tables("model", [Entry(name, result, interpret(result, each)) for name, result, each in heads])


def by_category(results: Sequence[AuditResult], names: Sequence[str]) -> list[WideTable]:
    """For each model, dataset and statistic the estimates by category, and of all items: columns are measures."""
    tables = []
    for name, result in zip(names, results, strict=True):
        estimates = [*by_group(result, "category"), *result.headlines()]
        categorised = {(each.measure, each.data) for each in estimates if each.group != "all"}
        kept = [each for each in estimates if (each.measure, each.data) in categorised]
        entries = [Entry(group_name(each.group), result, interpret(result, each)) for each in kept]
        tables += _tables("category", entries, model=name)
    return tables


def _tables(rows: str, entries: Iterable[Entry], model: str = "") -> list[WideTable]:
    """One table for each dataset and statistic, in the order of the results; of models also published scores."""
    groups: dict[str, dict[str, list[Entry]]] = {}
    for entry in entries:
        of_data = groups.setdefault(entry.known.estimate.data, {})
        of_data.setdefault(entry.known.estimate.statistic, []).append(entry)
    tables = []
    for members in (members for of_data in groups.values() for members in of_data.values()):
        whole = {entry.measure: entry for entry in members if entry.known.estimate.group == "all" and not model}
        scores = [(name, published_scores(entry.run, entry.known.estimate)) for name, entry in whole.items()]
        published = tuple((name, score) for name, known in scores for score in known)
        tables.append(WideTable(rows, model, tuple(members), published))
    return tables


def _constants(estimates: Sequence[Estimate]) -> str:
    """Reference value, items, the widest interval and unscored items of a table, in one sentence."""
    nulls = sorted({number(each.null, 0) for each in estimates if each.null is not None})
    counts = sorted({each.n for each in estimates})
    widths = [each.high - each.low for each in estimates if each.has_interval]
    digits, left_out = statistic(estimates[0].statistic).digits, max(each.unscored for each in estimates)
    parts = (
        f"reference value {' or '.join(nulls)}" if nulls else "",
        f"n = {counts[0]:,}" + (f" to {counts[-1]:,}" if len(counts) > 1 else ""),
        f"95% intervals are at most {number(max(widths), digits)} wide" if widths else "",
        f"at most {left_out:,} item{'s' if left_out > 1 else ''} unscored" if left_out else "",
    )
    return f"{capital('; '.join(filter(None, parts)))}."
