"""Write the two tables of a result folder during the run; they are renamed when complete."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from unmask.audit.result import ITEMS, TOKENS
from unmask.audit.scoring import ScoredItem
from unmask.core.errors import Unscorable
from unmask.core.types import Encoded, Pair, SentenceScore, Side
from unmask.measures.spans import align
from unmask.models import Lm

_NAME = pa.dictionary(pa.int32(), pa.string())
_LEADING = [("measure", _NAME), ("data", _NAME), ("item", pa.string())]
_TRAILING = [
    ("text_more", pa.string()),
    ("text_less", pa.string()),
    ("text_unrelated", pa.string()),
    ("more", pa.float64()),
    ("less", pa.float64()),
    ("unrelated", pa.float64()),
    ("difference", pa.float64()),
    ("outcome", _NAME),
    ("reason", pa.string()),
]
_TOKENS = pa.schema(
    [
        ("measure", _NAME),
        ("item", pa.string()),
        ("side", _NAME),
        ("position", pa.int32()),
        ("token", pa.string()),
        ("logprob", pa.float64()),
        ("weight", pa.float64()),
        ("in_span", pa.bool_()),
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
        arrays = [pa.array(column, type=field.type) for column, field in zip(columns, _TOKENS, strict=False)]
        if arrays:
            self._tokens.write_table(pa.Table.from_arrays(arrays, schema=_TOKENS))

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


_TAKEN = {name for name, _ in (*_LEADING, *_TRAILING)}


def _token_rows(scored: ScoredItem, lm: Lm) -> Iterable[tuple[Any, ...]]:
    if not scored.sentences:
        return
    encoded, changed = _encode_sides(scored.item, lm)
    for side, score in scored.sentences.items():
        for row in _sentence_rows(score, encoded.get(side), changed.get(side, frozenset()), lm):
            yield (scored.row.measure, scored.row.item, side, *row)


def _sentence_rows(
    score: SentenceScore, sentence: Encoded | None, changed: frozenset[int], lm: Lm
) -> Iterable[tuple[Any, ...]]:
    """Every content token of the sentence, scored or not; or the tokens that were read instead."""
    positions, tokens = score.positions, score.tokens
    if (
        tokens is not None
        and sentence is not None
        and tokens == tuple(sentence.ids[p] for p in sentence.content)
    ):
        positions, tokens = sentence.content, None
    if tokens is not None or sentence is None:
        names = lm.tokens(tokens or ())
        for position, name, logprob, weight in zip(
            positions, names, score.logprobs, score.weights, strict=True
        ):
            yield position, name, float(logprob), float(weight), True
        return
    parts = {
        p: (float(lp), float(w)) for p, lp, w in zip(positions, score.logprobs, score.weights, strict=True)
    }
    names = lm.tokens([sentence.ids[position] for position in sentence.content])
    for position, name in zip(sentence.content, names, strict=True):
        yield position, name, *parts.get(position, (None, 0.0)), position in changed


def _encode_sides(item: Pair, lm: Lm) -> tuple[Mapping[Side, Encoded], Mapping[Side, frozenset[int]]]:
    """The encoded sentences, and the positions that differ between `more` and `less`."""
    encoded: dict[Side, Encoded] = {}
    for side, text in item.sides().items():
        try:
            encoded[side] = lm.encode(text)
        except Unscorable:
            continue
    if "more" not in encoded or "less" not in encoded:
        return encoded, {}
    alignment = align(encoded["more"], encoded["less"])
    return encoded, {"more": frozenset(alignment.changed[0]), "less": frozenset(alignment.changed[1])}
