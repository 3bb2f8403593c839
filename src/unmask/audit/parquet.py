"""The two tables of a result folder: written during the run, renamed when complete, read back as rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from unmask.audit.attribution import SIDES, with_contributions
from unmask.audit.scoring import ScoredItem
from unmask.core.errors import Unscorable
from unmask.core.types import Encoded, Pair, Row, SentenceScore
from unmask.findings.envelope import ITEMS, TOKENS
from unmask.measures.spans import align
from unmask.models import Lm

_NAME, _TEXT, _NUMBER = pa.dictionary(pa.int32(), pa.string()), pa.string(), pa.float64()
_LEADING = [("measure", _NAME), ("data", _NAME), ("item", _TEXT)]
_TRAILING = [
    *((f"text_{side}", _TEXT) for side in SIDES),
    *((name, _NUMBER) for name in (*SIDES, "difference")),
    ("outcome", _NAME),
    ("reason", _TEXT),
]
_TAKEN = {name for name, _ in (*_LEADING, *_TRAILING)}
_TOKENS = pa.schema(
    [
        *(("measure", _NAME), ("item", _TEXT), ("side", _NAME), ("position", pa.int32()), ("token", _TEXT)),
        *(("logprob", _NUMBER), ("weight", _NUMBER), ("in_span", pa.bool_())),
        *(("block", pa.int32()), ("contribution", _NUMBER)),
    ]
)


def group_columns(items: Iterable[Pair]) -> tuple[str, ...]:
    """The names of all groups, in order of appearance."""
    return tuple(dict.fromkeys(name for item in items for name in item.groups))


class Tables:
    """Writes both tables chunk by chunk under temporary names until `close`."""

    def __init__(self, folder: Path, groups: Sequence[str]) -> None:
        self.folder = folder
        self._groups = {group: group if group not in _TAKEN else f"group_{group}" for group in groups}
        schema = pa.schema([*_LEADING, *((name, pa.string()) for name in self._groups.values()), *_TRAILING])
        folder.mkdir(parents=True, exist_ok=True)
        self._items = pq.ParquetWriter(folder / f"{ITEMS}.partial", schema, compression="zstd")
        self._tokens = pq.ParquetWriter(folder / f"{TOKENS}.partial", _TOKENS, compression="zstd")

    def add(self, scored: Sequence[ScoredItem], lm: Lm) -> None:
        """Append one chunk."""
        rows = [self._item(item) for item in scored]
        self._items.write_table(pa.Table.from_pylist(rows, schema=self._items.schema))
        columns = zip(*(row for item in scored for row in _token_rows(item, lm)), strict=True)
        named = zip(_TOKENS, columns, strict=False)  # the last two columns are computed
        arrays = {field.name: pa.array(column, field.type) for field, column in named}
        if arrays:
            self._tokens.write_table(with_contributions(pa.table(arrays)))

    def close(self) -> None:
        """Finish both files and rename them."""
        for name, writer in ((ITEMS, self._items), (TOKENS, self._tokens)):
            writer.close()
            (self.folder / f"{name}.partial").replace(self.folder / name)

    def _item(self, scored: ScoredItem) -> dict[str, Any]:
        row, item = scored.row, scored.item
        return {
            "measure": row.measure,
            "data": row.data,
            "item": row.item,
            **{column: row.groups.get(group) for group, column in self._groups.items()},
            **{f"text_{side}": text for side, text in item.sides().items()},
            **{str(side): score for side, score in row.scores.items()},
            "difference": row.difference if row.scores else None,
            "outcome": row.outcome,
            "reason": row.reason,
        }


def rows_of(items: pa.Table) -> dict[tuple[str, str], list[Row]]:
    """The rows of a table of items, by measure and dataset."""
    rows: dict[tuple[str, str], list[Row]] = {}
    for record in items.to_pylist():
        groups = {name: text for name, text in record.items() if name not in _TAKEN and isinstance(text, str)}
        scores = {side: record[side] for side in SIDES if record[side] is not None}
        named = {name: record[name] for name in ("measure", "data", "item", "outcome", "reason")}
        rows.setdefault((record["measure"], record["data"]), []).append(Row(groups=groups, scores=scores, **named))
    return rows


def _token_rows(scored: ScoredItem, lm: Lm) -> Iterable[tuple[Any, ...]]:
    """Every content token of the sentences, scored or not; or the tokens that were read instead."""
    if not scored.sentences:
        return
    texts = scored.item.sides()
    read = {side: _read_sentence(score, texts[side], lm) for side, score in scored.sentences.items()}
    changed = dict(zip(SIDES, align(read["more"][0], read["less"][0]).changed, strict=False))
    for side, score in scored.sentences.items():
        (sentence, positions), differing = read[side], set(changed.get(side, ()))
        at = sentence.content if score.tokens is not None else score.positions
        parts = {p: (float(lp), float(w)) for p, lp, w in zip(at, score.logprobs, score.weights, strict=True)}
        names = lm.tokens([sentence.ids[place] for place in sentence.content])
        for place, position, name in zip(sentence.content, positions, names, strict=True):
            own = parts.get(place, (None, 0.0))
            yield scored.row.measure, scored.row.item, side, position, name, *own, place in differing


def _read_sentence(score: SentenceScore, text: str, lm: Lm) -> tuple[Encoded, Sequence[int]]:
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
