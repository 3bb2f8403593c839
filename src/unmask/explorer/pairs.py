"""Several runs as one table of pairs, column by column: what the page sorts and filters by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from unmask.audit.result import Result, as_json
from unmask.findings.embed import plain
from unmask.report.wording import digits_of, reading

OUTCOMES = ("more", "less", "tie", "unscored")
FIXED = ("measure", "data", "item", "text_more", "text_less", "text_unrelated")
SCORES = ("more", "less", "unrelated", "difference", "outcome", "reason")
Key = tuple[str, str, str | None, str | None]  # data, item, both sentences: one id may stand for other texts


@dataclass(frozen=True)
class Runs:
    """The runs of one page, in the order they were named."""

    results: tuple[Result, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The model of every run; the folder too where one model was audited twice."""
        models = [str(one.meta["model"]["id"]) for one in self.results]
        folders = [one.folder.resolve().name for one in self.results]
        count = Counter(models)
        both = [
            model if count[model] == 1 else f"{model} ({folder})"
            for model, folder in zip(models, folders, strict=True)
        ]
        twice = Counter(both)
        return tuple(name if twice[name] == 1 else f"{name} #{n}" for n, name in enumerate(both, start=1))

    @cached_property
    def keys(self) -> dict[Key, int]:
        """The number of every pair's line in the table."""
        found: dict[Key, int] = {}
        for result in self.results:
            for row in _rows(result):
                found.setdefault(_key(row), len(found))
        return found

    @cached_property
    def rows_by_run(self) -> tuple[frozenset[int], ...]:
        """For every run the lines it has something to say of."""
        return tuple(frozenset(self.keys[_key(row)] for row in _rows(result)) for result in self.results)

    @cached_property
    def columns(self) -> dict[str, Any]:
        """All pairs: texts, groups, and by run and measure both scores and the outcome."""
        return _table(self)

    @cached_property
    def pairs(self) -> tuple[Key, ...]:
        """The pairs in the order of their lines."""
        return tuple(self.keys)


def run_summaries(runs: Runs) -> list[dict[str, Any]]:
    """What was found in every run: its headline estimates, in words too, and its checks."""
    return [_run(name, result) for name, result in zip(runs.names, runs.results, strict=True)]


def _table(runs: Runs) -> dict[str, Any]:
    n = len(runs.keys)
    thirds: list[str | None] = [None] * n
    groups: dict[str, list[str | None]] = {}
    scores: dict[tuple[int, str], dict[str, Any]] = {}
    for number, result in enumerate(runs.results):
        for row in _rows(result):
            line = runs.keys[_key(row)]
            thirds[line] = row.get("text_unrelated")
            for name, value in row.items():
                if name not in FIXED and name not in SCORES:
                    groups.setdefault(name, [None] * n)[line] = value
            _add(scores.setdefault((number, str(row["measure"])), _empty(n)), line, row)
    data, items, more, less = zip(*runs.keys, strict=True) if n else ((), (), (), ())
    return {
        "n": n,
        "item": items,
        "data": _coded(data),
        "text_more": more,
        "text_less": less,
        "text_unrelated": thirds if any(thirds) else None,
        "groups": {name: _coded(values) for name, values in groups.items() if any(values)},
        "outcomes": OUTCOMES,
        "scores": [{"run": run, "measure": measure, **rest} for (run, measure), rest in scores.items()],
    }


def _run(name: str, result: Result) -> dict[str, Any]:
    model = result.meta["model"]
    return {
        "name": name,
        "model": {key: model.get(key) for key in ("id", "kind", "parameters", "fingerprint", "warnings")},
        "data": [
            {key: one.get(key) for key in ("name", "title", "n", "problems")} for one in result.meta["data"]
        ],
        "headlines": [
            as_json(one) | {"reading": reading(one), "digits": digits_of(one.statistic)}
            for one in result.headlines()
        ],
        "checks": [as_json(one) for one in result.checks],
    }


def _rows(result: Result) -> Iterator[dict[str, Any]]:
    """The items of a run as mappings, read in pieces."""
    for batch in result.items.to_batches(max_chunksize=4096):
        yield from batch.to_pylist()


def _key(row: dict[str, Any]) -> Key:
    return str(row["data"]), str(row["item"]), row.get("text_more"), row.get("text_less")


def _empty(n: int) -> dict[str, Any]:
    return {"more": [None] * n, "less": [None] * n, "outcome": [None] * n, "reasons": {}}


def _add(columns: dict[str, Any], line: int, row: dict[str, Any]) -> None:
    for side in ("more", "less"):
        columns[side][line] = plain(row[side])
    columns["outcome"][line] = OUTCOMES.index(row["outcome"])
    if row["reason"]:
        columns["reasons"][line] = row["reason"]


def _coded(values: Sequence[str | None]) -> dict[str, Any]:
    """A column as its distinct values and, for every line, the number of its value."""
    names = {
        value: code for code, value in enumerate(dict.fromkeys(one for one in values if one is not None))
    }
    return {"values": list(names), "codes": [-1 if one is None else names[one] for one in values]}
