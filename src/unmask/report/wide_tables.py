"""Tables as papers print them: a row for each model or category, a column for each measure, stars for significance.

Constants (statistic, reference value, number of items, widest interval) are in the caption, not in columns. Stars are
those of every other output, after Holm's correction over the headlines of a dataset or the categories of a measure; a
dagger marks the numbers of which a check failed, or their row if
all failed, and the caption names the check. Below the models stand published scores of known models.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unmask.audit.headline import published_scores
from unmask.audit.interpretation import (
    ALIKE,
    BALANCED_SCORE,
    BASELINE,
    HOLM_STARS,
    all_pairs,
    count_tested,
    digits_of,
    failure,
    failure_note,
    stars,
    stars_note,
    subset_note,
    with_companions,
)
from unmask.audit.result import AuditResult
from unmask.core.estimate import Estimate
from unmask.core.types import Published
from unmask.findings import Cell, Table
from unmask.findings.numbers import number
from unmask.report.selection import by_group, group_name

FAILED, KNOWN = "†", "‡"


@dataclass(frozen=True, slots=True)
class _Entry:
    """An estimate, the row it stands in, and the run it comes from."""

    row: str
    estimate: Estimate
    run: AuditResult


@dataclass(frozen=True, slots=True)
class WideTable:
    """The estimates of one dataset and statistic, and published scores."""

    rows: str  # what a row is: model or category
    model: str  # whose categories; empty if the rows are models
    entries: tuple[_Entry, ...]
    published: tuple[tuple[str, Published], ...]  # with the measure

    @property
    def measures(self) -> list[str]:
        """The columns."""
        return list(dict.fromkeys(entry.estimate.measure for entry in self.entries))

    @property
    def cells(self) -> dict[tuple[str, str], Estimate]:
        """Estimates by row and measure."""
        return {(entry.row, entry.estimate.measure): entry.estimate for entry in self.entries}

    @property
    def runs(self) -> dict[str, AuditResult]:
        """The run of each row."""
        return {entry.row: entry.run for entry in self.entries}

    @property
    def known_models(self) -> dict[str, dict[str, float]]:
        """Published scores by model and measure."""
        models: dict[str, dict[str, float]] = {}
        for measure, each in self.published:
            models.setdefault(each.model, {})[measure] = each.value
        return models

    def table(self) -> Table:
        """As text with stars and daggers, rounded for readers."""
        first, cells = self.entries[0].estimate, self.cells
        lines: list[tuple[Cell, ...]] = []
        for row in self.runs:
            failed = self._failed(row)
            whole = failed == self._measures_of(row)  # then the row is marked instead of every cell
            marks = {name: FAILED for name in failed if not whole}
            shown = (
                f"{_text(self.runs[row], cells[row, name])}{marks.get(name, '')}" if (row, name) in cells else None
                for name in self.measures
            )
            lines.append((f"{row}{FAILED if whole else ''}", *shown))
        digits = digits_of(first.statistic)
        lines += [
            (f"{model}{KNOWN}", *(number(scores[name], digits) if name in scores else None for name in self.measures))
            for model, scores in self.known_models.items()
        ]
        title = " · ".join(filter(None, (first.data, first.statistic, self.model)))
        return Table(title, (self.rows, *self.measures), tuple(lines), self._note())

    def _measures_of(self, row: str) -> list[str]:
        return [name for name in self.measures if (row, name) in self.cells]

    def _failed(self, row: str) -> list[str]:
        """The measures of a row whose numbers a failed check makes doubtful."""
        run, data = self.runs[row], self.entries[0].estimate.data
        return [name for name in self._measures_of(row) if failure(run, data, name)]

    def records(self) -> list[dict[str, Any]]:
        """As rows of a spreadsheet: numbers in full precision, p and failed checks in columns of their own."""
        first, cells = self.entries[0].estimate, self.cells
        named = {"data": first.data, "statistic": first.statistic, **({"model": self.model} if self.model else {})}
        records: list[dict[str, Any]] = []
        for row in self.runs:
            own = {name: cells[row, name] for name in self.measures if (row, name) in cells}
            values = {name: estimate.value for name, estimate in own.items()}
            tests = {f"p (Holm) {name}": estimate.p_holm for name, estimate in own.items()}
            notes = {"check failed": ", ".join(self._failed(row)), "published in": ""}
            records.append({**named, self.rows: row, **values, **tests, **notes})
        sources = {each.model: each.where for _, each in self.published}
        records += [
            {**named, self.rows: model, **scores, "published in": sources[model]}
            for model, scores in self.known_models.items()
        ]
        return records

    def _note(self) -> str:
        data, runs = self.entries[0].estimate.data, list(self.runs.values())
        cards = [card for run in runs for card in run.meta.get("data") or () if card.get("name") == data]
        sources = "; ".join(dict.fromkeys(each.where for _, each in self.published))
        both = self.entries[0].estimate.statistic == BALANCED_SCORE
        baselines = [name for name in self.measures if any(run.is_baseline(name) for run in runs)]
        parts = (
            subset_note(cards),
            f"{ALIKE[:1].upper()}{ALIKE[1:]}{self._all_pairs()}." if both else "",
            _constants([entry.estimate for entry in self.entries]),
            self._families(runs, data),
            f"{', '.join(baselines)}: {BASELINE}." if baselines else "",
            failure_note(runs, data),
            f"{KNOWN} published, not measured here: {sources}." if sources else "",
        )
        return " ".join(filter(None, parts))

    def _all_pairs(self) -> str:
        """The scores over all pairs, where they have no table of their own."""
        whole = [(entry.estimate, all_pairs(entry.run, entry.estimate)) for entry in self.entries if self.model]
        shown = [f"{each.measure} {_shown(plain)}" for each, plain in whole if plain and each.group == "all"]
        return f"; over all pairs: {', '.join(shown)}" if shown else ""

    def _families(self, runs: Sequence[AuditResult], data: str) -> str:
        """What the stars mean; empty if no number of the table was tested."""
        if all(entry.estimate.p_holm is None for entry in self.entries):
            return ""
        if not self.model:
            return stars_note(runs, data)
        n = count_tested(runs[0], data)
        return HOLM_STARS.format(f"the categories of a measure, in the row all over {n} measure{'' if n == 1 else 's'}")


def by_model(results: Sequence[AuditResult], names: Sequence[str]) -> list[WideTable]:
    """For each dataset and statistic the headline estimates: rows are models, columns are measures."""
    named = zip(names, results, strict=True)
    heads = [(name, result, each) for name, result in named for each in with_companions(result, result.headlines())]
    return _tables("model", [_Entry(name, each, result) for name, result, each in heads])


def by_category(results: Sequence[AuditResult], names: Sequence[str]) -> list[WideTable]:
    """For each model, dataset and statistic the estimates by category, and of all items: columns are measures."""
    tables = []
    for name, result in zip(names, results, strict=True):
        estimates = [*by_group(result, "category"), *result.headlines()]
        categorised = {(each.measure, each.data) for each in estimates if each.group != "all"}
        kept = [each for each in estimates if (each.measure, each.data) in categorised]
        tables += _tables("category", [_Entry(group_name(each.group), each, result) for each in kept], model=name)
    return tables


def _tables(rows: str, entries: Iterable[_Entry], model: str = "") -> list[WideTable]:
    """One table for each dataset and statistic, in the order of the results."""
    groups: dict[tuple[str, str], list[_Entry]] = {}
    for entry in entries:
        groups.setdefault((entry.estimate.data, entry.estimate.statistic), []).append(entry)
    order = {data: place for place, data in enumerate(dict.fromkeys(data for data, _ in groups))}
    return [_wide(rows, members, model) for _, members in sorted(groups.items(), key=lambda each: order[each[0][0]])]


def _wide(rows: str, entries: Sequence[_Entry], model: str) -> WideTable:
    whole: Mapping[str, _Entry] = {entry.estimate.measure: entry for entry in entries if entry.estimate.group == "all"}
    published = tuple(
        (measure, each)
        for measure, entry in whole.items()
        for each in (published_scores(entry.run, entry.estimate) if not model else ())
    )
    return WideTable(rows, model, tuple(entries), published)


def _text(run: AuditResult, estimate: Estimate) -> str:
    return f"{_shown(estimate)}{stars(run, estimate)}"


def _shown(estimate: Estimate) -> str:
    return number(estimate.value, digits_of(estimate.statistic))


def _constants(estimates: Sequence[Estimate]) -> str:
    """Reference value, items, the widest interval and unscored items of a table, in one sentence."""
    nulls = sorted({number(each.null, 0) for each in estimates if each.null is not None})
    counts = sorted({each.n for each in estimates})
    widths = [each.high - each.low for each in estimates if each.has_interval]
    digits, left_out = digits_of(estimates[0].statistic), max(each.unscored for each in estimates)
    parts = (
        f"reference value {' or '.join(nulls)}" if nulls else "",
        f"n = {counts[0]:,}" + (f" to {counts[-1]:,}" if len(counts) > 1 else ""),
        f"95% intervals are at most {number(max(widths), digits)} wide" if widths else "",
        f"at most {left_out:,} item{'s' if left_out > 1 else ''} unscored" if left_out else "",
    )
    text = "; ".join(filter(None, parts))
    return f"{text[:1].upper()}{text[1:]}."
