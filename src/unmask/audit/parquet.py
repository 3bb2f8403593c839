"""The two tables of a result folder: written during the run, read back as rows, and counted again.

The bias scores of a result and those counted in its items must be the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from unmask.audit.attribution import with_contributions
from unmask.core.errors import OutputError, ResultError, Unscorable
from unmask.core.files import writing
from unmask.core.statistic import BALANCED, BIAS_SCORE
from unmask.core.types import Encoded, Measure, Pair, Row, SentenceScore
from unmask.findings.envelope import ITEMS, RESULT
from unmask.findings.tables import ITEM_COLUMNS, LEADING, PER_TOKEN, SIDES, TOKEN_COLUMNS, TRAILING
from unmask.measures import MEASURES
from unmask.measures.spans import align
from unmask.stats.directions import DIRECTIONS
from unmask.stats.table import EMPTY_SPAN, HEADLINE_GOALS

if TYPE_CHECKING:  # reading a result needs no torch
    from unmask.audit.result import AuditResult
    from unmask.audit.scoring import ScoredItem
    from unmask.models import TextModel

SAME = 1e-6  # points by which a score counted again may differ
Cell = Mapping[str, Any]  # the labels of some rows, their outcome, and how many they are
GROUP = 1 << 15  # rows written at once: reading a file of many small row groups takes several times as long


def group_columns(items: Iterable[Pair]) -> tuple[str, ...]:
    """The names of all groups, in order of appearance."""
    return tuple(dict.fromkeys(name for item in items for name in item.groups))


def column_names(groups: Sequence[str]) -> dict[str, str]:
    """The column of every group: its own name, unless that is taken."""
    free = [group for group in groups if group not in ITEM_COLUMNS]
    names, taken = {group: group for group in free}, {*ITEM_COLUMNS, *free}
    for group in groups:
        if group not in names:
            name = f"group_{group}"
            while name in taken:
                name = f"group_{name}"
            names[group] = name
            taken.add(name)
    return {group: names[group] for group in groups}


class Tables:
    """Writes both tables, some chunks at a time."""

    def __init__(self, items: Path, tokens: Path, groups: Sequence[str]) -> None:
        self._columns = column_names(groups)
        self.paths = items, tokens
        with writing(items):
            self._items = open_writer(items, item_schema(self._columns))
            self._tokens = open_writer(tokens, pa.schema(TOKEN_COLUMNS.items()))
        self._waiting: dict[pq.ParquetWriter, list[pa.Table]] = {self._items: [], self._tokens: []}

    def add(self, scored: Sequence[ScoredItem], lm: TextModel) -> None:
        """Append one chunk."""
        self.append(scored, token_table(scored, lm))

    def append(self, scored: Sequence[ScoredItem], tokens: pa.Table) -> None:
        """Append rows of items, and of tokens without their blocks and contributions."""
        self._waiting[self._items].append(item_table(scored, self._columns))
        self._waiting[self._tokens].append(with_contributions(tokens))
        self._flush(GROUP)

    def close(self) -> None:
        """Finish both files."""
        self._flush(1)
        for path, writer in zip(self.paths, (self._items, self._tokens), strict=True):
            with self._writing(path):
                writer.close()

    def _flush(self, least: int) -> None:
        """Write what waits for either file, if it has so many rows."""
        for path, (writer, waiting) in zip(self.paths, self._waiting.items(), strict=True):
            if sum(table.num_rows for table in waiting) >= least:
                with self._writing(path):
                    writer.write_table(pa.concat_tables(waiting).unify_dictionaries().combine_chunks())
                waiting.clear()

    @contextmanager
    def _writing(self, path: Path) -> Iterator[None]:
        """As `writing`; after a failure the writers do not try again when they are deleted."""
        try:
            with writing(path):
                yield
        except OutputError:
            self._items.is_open = self._tokens.is_open = False
            raise


def item_schema(columns: Mapping[str, str]) -> pa.Schema:
    """The columns of items; `columns` has that of every group."""
    return pa.schema([*LEADING, *((name, pa.string()) for name in columns.values()), *TRAILING])


def item_table(scored: Iterable[ScoredItem], columns: Mapping[str, str]) -> pa.Table:
    """Scored items as rows; `columns` has the column of every group."""
    return pa.Table.from_pylist([_item(each, columns) for each in scored], schema=item_schema(columns))


def _item(scored: ScoredItem, columns: Mapping[str, str]) -> dict[str, Any]:
    row, item, per_token = scored.row, scored.item, scored.difference_per_token
    return {
        "measure": row.measure,
        "data": row.data,
        "item": row.item,
        **{column: row.groups.get(group) for group, column in columns.items()},
        **{f"text_{side}": text for side, text in item.sides().items()},
        **{str(side): score for side, score in row.scores.items()},
        "difference": row.difference if row.scores else None,
        PER_TOKEN: None if math.isnan(per_token) else per_token,
        "outcome": row.outcome,
        "reason": row.reason,
        "precision": row.precision,
    }


def open_writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    """A writer of one table; damage to the file is found by its checksums when it is read."""
    return pq.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True)


def rows_of(items: pa.Table) -> dict[tuple[str, str], list[Row]]:
    """The rows of a table of items, by measure and dataset."""
    rows: dict[tuple[str, str], list[Row]] = {}
    for record in items.to_pylist():
        groups = {name: text for name, text in record.items() if name not in ITEM_COLUMNS and isinstance(text, str)}
        scores = {side: record[side] for side in SIDES if record[side] is not None}
        named = {name: record[name] for name in ("measure", "data", "item", "outcome", "reason")}
        named["precision"] = record.get("precision") or ""
        rows.setdefault((record["measure"], record["data"]), []).append(Row(groups=groups, scores=scores, **named))
    return rows


def token_table(scored: Sequence[ScoredItem], lm: TextModel) -> pa.Table:
    """Every content token of the sentences, scored or not; or the tokens that were read instead."""
    sentences: list[tuple[str, str, str]] = []  # measure, item, side
    lengths: list[int] = []
    ids: list[int] = []
    columns: dict[str, list[Any]] = {name: [] for name in ("position", "logprob", "weight", "in_span")}
    for each in scored:
        texts = each.item.sides()
        read = {side: _read_sentence(score, texts[side], lm) for side, score in each.sentences.items()}
        spans = align(read["more"][0], read["less"][0]).changed if read else ()
        changed = dict(zip(SIDES, spans, strict=False))
        for side, (sentence, positions) in read.items():
            differing = frozenset(changed.get(side, ()))
            sentences.append((each.row.measure, each.row.item, side))
            lengths.append(len(sentence.content))
            ids.extend(sentence.ids[place] for place in sentence.content)
            columns["position"].extend(positions)
            columns["in_span"].extend(place in differing for place in sentence.content)
            logprobs, weights = _scores_at(each.sentences[side], sentence)
            columns["logprob"].extend(logprobs)
            columns["weight"].extend(weights)
    distinct, codes = np.unique(np.array(ids, np.int64), return_inverse=True)
    of_sentence = np.repeat(np.arange(len(sentences)), lengths)
    measures, items, sides = zip(*sentences, strict=True) if sentences else ((), (), ())
    named = {"measure": measures, "item": items, "side": sides, "token": lm.tokens(distinct.tolist())}
    known = {name: pa.array(texts, TOKEN_COLUMNS[name]) for name, texts in named.items()}
    taken = {name: texts.take(pa.array(codes if name == "token" else of_sentence)) for name, texts in known.items()}
    arrays = {name: pa.array(values, TOKEN_COLUMNS[name]) for name, values in columns.items()} | taken
    return pa.table({name: arrays[name] for name in TOKEN_COLUMNS if name in arrays})


def _scores_at(score: SentenceScore, sentence: Encoded) -> tuple[list[float | None], list[float]]:
    """Log-probability and weight at every place of the content; None and 0 where the measure reads nothing."""
    logprobs: list[float | None] = score.logprobs.tolist()
    weights: list[float] = score.weights.tolist()
    if score.tokens is not None or score.positions == sentence.content:
        return logprobs, weights
    parts = dict(zip(score.positions, zip(logprobs, weights, strict=True), strict=True))
    found = [parts.get(place, (None, 0.0)) for place in sentence.content]
    return [logprob for logprob, _ in found], [weight for _, weight in found]


def _read_sentence(score: SentenceScore, text: str, lm: TextModel) -> tuple[Encoded, Sequence[int]]:
    """The sentence and the positions of its content; or the tokens that were read instead, and where."""
    tokens = score.tokens
    if tokens is None:
        sentence = lm.encode(text)
        return sentence, sentence.content
    with suppress(Unscorable):  # too long as a whole
        sentence = lm.encode(text)
        if tokens == tuple(sentence.ids[position] for position in sentence.content):
            return sentence, sentence.content
    return Encoded(tokens, tuple(range(len(tokens)))), score.positions


def check_shares(result: AuditResult) -> None:
    """Refuse a result whose bias scores are not those of its items; measures that are not installed are left out."""
    cells = _count_rows(result.items)
    scores = [
        stored
        for stored in result.meta["estimates"]
        if stored["measure"] in MEASURES and stored["statistic"] in (BIAS_SCORE.name, f"{BALANCED}{BIAS_SCORE.name}")
    ]
    _check_headlines(scores, str(result.folder))
    for stored in scores:
        name, _, label = stored["group"].partition("=")
        own = [
            cell
            for cell in cells
            if (cell["measure"], cell["data"]) == (stored["measure"], stored["data"])
            if ((cell.get("goal") or "") in HEADLINE_GOALS if name == "all" else cell.get(name) == label)
        ]
        counted = _share(own, MEASURES[stored["measure"]], balanced=stored["statistic"] != BIAS_SCORE.name)
        if any(_differ(stored[name], number) for name, number in counted.items()):
            what = f"{stored['measure']} {stored['statistic']} on {stored['data']}, {stored['group']},"
            raise ResultError(
                f"{result.folder}: {what} is {_listed(stored)} in {RESULT}, but {_listed(counted)} in {ITEMS}: "
                "one of them was changed, run the audit again"
            )


def _check_headlines(scores: Sequence[Mapping[str, Any]], folder: str) -> None:
    """Refuse scores of groups without that of all items, which they would be taken for, and other reference values."""
    whole = {(stored["measure"], stored["data"]) for stored in scores if stored["group"] == "all"}
    for stored in scores:
        what = f"{folder}: {stored['measure']} {stored['statistic']} on {stored['data']}, {stored['group']},"
        if (stored["measure"], stored["data"]) not in whole:
            raise ResultError(f"{what} is there without the score of all items: it was changed, run the audit again")
        if stored["null"] != (null := MEASURES[stored["measure"]].null):
            raise ResultError(
                f"{what} has the reference value {stored['null']}, expected {null}: it was changed, run the audit again"
            )


def _count_rows(items: pa.Table) -> list[Cell]:
    """How many rows there are of each measure, dataset, group and outcome."""
    named = ("measure", "data", "category", "direction", "goal", "outcome")
    columns = {name: items[name].cast(pa.string()) for name in named if name in items.column_names}
    columns["empty"] = pc.fill_null(pc.starts_with(items["reason"].cast(pa.string()), EMPTY_SPAN), False)
    table = pa.table(columns)
    return [dict(cell) for cell in table.group_by(table.column_names).aggregate([([], "count_all")]).to_pylist()]


def _share(cells: Sequence[Cell], measure: Measure, *, balanced: bool) -> dict[str, float]:
    """The bias score of these rows and its counts; `balanced`: the mean of those of both directions."""
    if balanced:
        cells = [cell for cell in cells if cell.get("direction") in DIRECTIONS]
    counted = [cell for cell in cells if cell["outcome"] != "unscored" or (cell["empty"] and measure.empty_span_loses)]
    parts = (
        [[cell for cell in counted if cell.get("direction") == name] for name in DIRECTIONS] if balanced else [counted]
    )
    shares = [100 * _total(part, "more") / total if (total := _total(part)) else math.nan for part in parts]
    counts = {"ties": _total(cells, "tie"), "unscored": _total(cells, "unscored")}
    return {"value": sum(shares) / len(shares), "n": _total(counted), **counts}


def _total(cells: Sequence[Cell], outcome: str = "") -> int:
    return sum(cell["count_all"] for cell in cells if outcome in ("", cell["outcome"]))


def _differ(stored: float | None, counted: float) -> bool:
    return not (math.isnan(counted) if stored is None else abs(stored - counted) <= SAME)


def _listed(numbers: Mapping[str, Any]) -> str:
    """The score and its counts, whether they are stored or counted."""
    score = "not defined" if (value := numbers["value"]) is None or math.isnan(value) else f"{value:.2f}"
    return f"{score} (n {numbers['n']:,}, ties {numbers['ties']:,}, unscored {numbers['unscored']:,})"
