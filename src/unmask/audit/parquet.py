"""Write the two tables of a result folder during the run, and read items back as rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from unmask.audit.attribution import with_contributions
from unmask.core.errors import OutputError, Unscorable
from unmask.core.files import writing
from unmask.core.types import Encoded, Pair, Row, SentenceScore
from unmask.findings.tables import ITEM_COLUMNS, LEADING, PER_TOKEN, SIDES, TOKEN_COLUMNS, TRAILING
from unmask.measures.spans import align

if TYPE_CHECKING:  # reading a result needs no torch
    from unmask.audit.scoring import ScoredItem
    from unmask.models import TextModel

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
        self._groups = column_names(groups)
        columns = pa.schema([*LEADING, *((name, pa.string()) for name in self._groups.values()), *TRAILING])
        self.paths = items, tokens
        with writing(items):
            self._items = open_writer(items, columns)
            self._tokens = open_writer(tokens, pa.schema(TOKEN_COLUMNS.items()))
        self._waiting: dict[pq.ParquetWriter, list[pa.Table]] = {self._items: [], self._tokens: []}

    def add(self, scored: Sequence[ScoredItem], lm: TextModel) -> None:
        """Append one chunk."""
        self.append(scored, _token_table(scored, lm))

    def append(self, scored: Sequence[ScoredItem], tokens: pa.Table) -> None:
        """Append rows of items, and of tokens without their blocks and contributions."""
        rows = [self._item(item) for item in scored]
        self._waiting[self._items].append(pa.Table.from_pylist(rows, schema=self._items.schema))
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

    def _item(self, scored: ScoredItem) -> dict[str, Any]:
        row, item, per_token = scored.row, scored.item, scored.difference_per_token
        return {
            "measure": row.measure,
            "data": row.data,
            "item": row.item,
            **{column: row.groups.get(group) for group, column in self._groups.items()},
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


def _token_table(scored: Sequence[ScoredItem], lm: TextModel) -> pa.Table:
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
