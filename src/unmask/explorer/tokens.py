"""One pair token by token: what every measure read, and each token's contribution to the difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from unmask.audit.attribution import SIDES, Explanation, TokenPart, explain_rows
from unmask.core.files import plain
from unmask.report.pairs import glyphs


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
