"""All runs as one column-oriented table of pairs, their summaries and changes, and a pair token by token."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from unmask.audit.attribution import Explanation, TokenPart, explain_rows
from unmask.audit.compare import compare
from unmask.audit.interpretation import checks_warning, interpret
from unmask.audit.result import AuditResult, load
from unmask.audit.token_text import glyphs
from unmask.core.files import plain
from unmask.core.statistic import statistic
from unmask.core.types import Measure
from unmask.findings.tables import PER_TOKEN, SIDES
from unmask.measures import MEASURES
from unmask.report.selection import model_names

OUTCOMES = ("more", "less", "tie", "unscored")
FIXED = ("measure", "data", "item", "text_more", "text_less", "text_unrelated")
SCORES = ("more", "less", "unrelated", "difference", PER_TOKEN, "outcome", "reason", "precision")
Key = tuple[str, str, str | None, str | None]  # data, item, both sentences: ids may be reused


@dataclass(frozen=True)
class Runs:
    """The runs of one page, in the order they were named."""

    results: tuple[AuditResult, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The model of every run, with the folder if a model occurs twice."""
        return tuple(model_names(self.results))

    @cached_property
    def keys(self) -> dict[Key, int]:
        """The table row of every pair."""
        keys: dict[Key, int] = {}
        for result in self.results:
            for record in _records(result):
                keys.setdefault(_key(record), len(keys))
        return keys

    @cached_property
    def rows_by_run(self) -> tuple[frozenset[int], ...]:
        """For every run, the table rows it has scores for."""
        return tuple(frozenset(self.keys[_key(record)] for record in _records(result)) for result in self.results)

    @cached_property
    def pairs(self) -> tuple[Key, ...]:
        """The pairs in row order."""
        return tuple(self.keys)

    @cached_property
    def columns(self) -> dict[str, Any]:
        """The columns of all pairs: texts, groups, and scores and outcomes by run and measure."""
        n = len(self.keys)
        unrelated: list[str | None] = [None] * n
        groups: dict[str, list[str | None]] = {}
        scores: dict[tuple[int, str], dict[str, Any]] = {}
        for number, result in enumerate(self.results):
            for record in _records(result):
                row = self.keys[_key(record)]
                unrelated[row] = record.get("text_unrelated")
                for name, value in record.items():
                    if name not in FIXED and name not in SCORES:
                        groups.setdefault(name, [None] * n)[row] = value
                empty = {"more": [None] * n, "less": [None] * n, "outcome": [None] * n, "reasons": {}}
                columns = scores.setdefault((number, str(record["measure"])), empty)
                for side in ("more", "less"):
                    columns[side][row] = plain(record[side])
                columns["outcome"][row] = OUTCOMES.index(record["outcome"])
                if record["reason"]:
                    columns["reasons"][row] = record["reason"]
        data, items, more, less = zip(*self.keys, strict=True) if n else ((), (), (), ())
        return {
            "n": n,
            "item": items,
            "data": _encode(data),
            "text_more": more,
            "text_less": less,
            "text_unrelated": unrelated if any(unrelated) else None,
            "groups": {name: _encode(values) for name, values in groups.items() if any(values)},
            "outcomes": OUTCOMES,
            "scores": [{"run": run, "measure": measure, **rest} for (run, measure), rest in scores.items()],
        }


def run_summaries(runs: Runs) -> list[dict[str, Any]]:
    """For every run its headline estimates, with their readings in words, and its checks."""
    summaries = []
    for name, result in zip(runs.names, runs.results, strict=True):
        heads = [
            plain(e) | {"reading": interpret(result, e).text, "digits": statistic(e.statistic).digits}
            for e in result.headlines()
        ]
        model = _part(result.meta["model"], "id", "kind", "parameters", "fingerprint", "warnings")
        data = [_part(card, "name", "title", "n", "subset_of", "sides", "problems") for card in result.meta["data"]]
        summary = {"name": name, "model": model, "data": data, "headlines": heads, "warning": checks_warning(result)}
        summaries.append({**summary, "checks": [plain(check) for check in result.checks]})
    return summaries


def measure_notes(runs: Runs) -> dict[str, dict[str, Any]]:
    """What every measure of the runs and of this package means, and whether a pair's score has a direction."""
    recorded = [each for result in runs.results for each in result.meta["details"]["measures"]]
    noted: dict[str, dict[str, Any]] = {}
    for facts in (*recorded, *(_facts_of(measure) for measure in MEASURES.values())):
        note = {"title": facts.get("title", ""), "reads": facts.get("reads", "")}
        noted.setdefault(str(facts["name"]), note | {"directed": facts.get("summary") != "magnitude"})
    return noted


def _facts_of(measure: Measure) -> dict[str, Any]:
    """The facts about a measure that results record, too."""
    return {name: getattr(measure, name) for name in ("name", "title", "reads", "summary")}


def _part(facts: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: facts.get(name) for name in names}


def compare_runs(first: AuditResult, second: AuditResult) -> list[dict[str, Any]]:
    """The paired changes that `unmask compare` prints; ResultError if the runs share no items."""
    return _compare_folders(str(first.folder.resolve()), str(second.folder.resolve()))


@lru_cache(maxsize=64)
def _compare_folders(first: str, second: str) -> list[dict[str, Any]]:
    """Cached: resampling takes seconds on a large run."""
    return [
        plain(change) | {"digits": statistic(change.statistic).digits} for change in compare(load(first), load(second))
    ]


def _records(result: AuditResult) -> Iterator[dict[str, Any]]:
    """The items of a run as mappings, read in batches."""
    for batch in result.items.to_batches(max_chunksize=4096):
        yield from batch.to_pylist()


def _key(record: dict[str, Any]) -> Key:
    return str(record["data"]), str(record["item"]), record.get("text_more"), record.get("text_less")


def _encode(values: Sequence[str | None]) -> dict[str, Any]:
    """A column dictionary-encoded: its distinct values, and the index of the value in every row."""
    names = list(dict.fromkeys(value for value in values if value is not None))
    codes = {name: code for code, name in enumerate(names)} | {None: -1}
    return {"values": names, "codes": [codes[value] for value in values]}


def token_breakdown(items: pa.Table, tokens: pa.Table, item: str) -> list[dict[str, Any]]:
    """The item under every measure in these tables."""
    rows = items.filter(pc.equal(items["item"], item)).to_pylist()
    return [_measure(row, found) for row, found in zip(rows, explain_rows(rows, tokens), strict=True)]


def _measure(row: Mapping[str, Any], found: Explanation) -> dict[str, Any]:
    totals = found.blocks
    return {
        "measure": found.measure,
        "outcome": found.outcome,
        "reason": row["reason"],
        "difference": plain(found.difference),
        "scores": {side: plain(row[side]) for side in SIDES},
        "adds_up": found.adds_up,
        "tokens": {side: _tokens(getattr(found, side), totals) for side in SIDES},
    }


def _tokens(tokens: Sequence[TokenPart], totals: Mapping[int, float]) -> list[dict[str, Any]]:
    shown = glyphs([token.token for token in tokens])
    return [
        {
            "text": text,
            "glued": glued,
            "changed": token.in_span,
            "logprob": plain(token.logprob),
            "weight": None if token.logprob is None else plain(token.weight),
            "part": token.contribution,
            "together": None if token.contribution is None else totals.get(token.block or 0),
            "place": index if token.block is None else token.block,
        }
        for index, (token, (text, glued)) in enumerate(zip(tokens, shown, strict=True))
    ]
