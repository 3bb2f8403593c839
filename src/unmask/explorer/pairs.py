"""All runs as one column-oriented table of pairs, with their summaries and changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from unmask.audit.compare import compare
from unmask.audit.interpretation import digits_of, reading
from unmask.audit.result import AuditResult, load
from unmask.core.files import plain
from unmask.report.selection import model_names

OUTCOMES = ("more", "less", "tie", "unscored")
FIXED = ("measure", "data", "item", "text_more", "text_less", "text_unrelated")
SCORES = ("more", "less", "unrelated", "difference", "outcome", "reason")
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
        return tuple(
            frozenset(self.keys[_key(record)] for record in _records(result)) for result in self.results
        )

    @cached_property
    def columns(self) -> dict[str, Any]:
        """The columns of all pairs: texts, groups, and scores and outcomes by run and measure."""
        return _table(self)

    @cached_property
    def pairs(self) -> tuple[Key, ...]:
        """The pairs in row order."""
        return tuple(self.keys)


def run_summaries(runs: Runs) -> list[dict[str, Any]]:
    """For every run its headline estimates, with their readings in words, and its checks."""
    return [_summary(name, result) for name, result in zip(runs.names, runs.results, strict=True)]


def compare_runs(first: AuditResult, second: AuditResult) -> list[dict[str, Any]]:
    """The paired changes that `unmask compare` prints; ResultError if the runs share no items."""
    return _compare_folders(str(first.folder.resolve()), str(second.folder.resolve()))


@lru_cache(maxsize=64)
def _compare_folders(first: str, second: str) -> list[dict[str, Any]]:
    """Cached: resampling takes seconds on a large run."""
    changes = compare(load(first), load(second))
    return [plain(change) | {"digits": digits_of(change.statistic)} for change in changes]


def _table(runs: Runs) -> dict[str, Any]:
    n = len(runs.keys)
    unrelated: list[str | None] = [None] * n
    groups: dict[str, list[str | None]] = {}
    scores: dict[tuple[int, str], dict[str, Any]] = {}
    for number, result in enumerate(runs.results):
        for record in _records(result):
            row = runs.keys[_key(record)]
            unrelated[row] = record.get("text_unrelated")
            for name, value in record.items():
                if name not in FIXED and name not in SCORES:
                    groups.setdefault(name, [None] * n)[row] = value
            _add(scores.setdefault((number, str(record["measure"])), _empty(n)), row, record)
    data, items, more, less = zip(*runs.keys, strict=True) if n else ((), (), (), ())
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


def _summary(name: str, result: AuditResult) -> dict[str, Any]:
    model = result.meta["model"]
    return {
        "name": name,
        "model": {key: model.get(key) for key in ("id", "kind", "parameters", "fingerprint", "warnings")},
        "data": [
            {key: data.get(key) for key in ("name", "title", "n", "problems")} for data in result.meta["data"]
        ],
        "headlines": [
            plain(estimate) | {"reading": reading(estimate), "digits": digits_of(estimate.statistic)}
            for estimate in result.headlines()
        ],
        "checks": [plain(check) for check in result.checks],
    }


def _records(result: AuditResult) -> Iterator[dict[str, Any]]:
    """The items of a run as mappings, read in batches."""
    for batch in result.items.to_batches(max_chunksize=4096):
        yield from batch.to_pylist()


def _key(record: dict[str, Any]) -> Key:
    return str(record["data"]), str(record["item"]), record.get("text_more"), record.get("text_less")


def _empty(n: int) -> dict[str, Any]:
    return {"more": [None] * n, "less": [None] * n, "outcome": [None] * n, "reasons": {}}


def _add(columns: dict[str, Any], row: int, record: dict[str, Any]) -> None:
    for side in ("more", "less"):
        columns[side][row] = plain(record[side])
    columns["outcome"][row] = OUTCOMES.index(record["outcome"])
    if record["reason"]:
        columns["reasons"][row] = record["reason"]


def _encode(values: Sequence[str | None]) -> dict[str, Any]:
    """A column dictionary-encoded: its distinct values, and the index of the value in every row."""
    names = {
        value: code
        for code, value in enumerate(dict.fromkeys(value for value in values if value is not None))
    }
    return {"values": list(names), "codes": [-1 if value is None else names[value] for value in values]}
