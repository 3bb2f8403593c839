"""One pair token by token: what every measure read, and each token's contribution to the difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from unmask.audit.token_parts import Part, TokenRow, blocks, parts
from unmask.findings.embed import plain
from unmask.report.glyphs import glyphs

SIDES = ("more", "less", "unrelated")
CLOSE = 1e-3  # relative tolerance: contributions add up to the difference but for rounding


def token_breakdown(items: pa.Table, tokens: pa.Table, item: str) -> list[dict[str, Any]]:
    """The item under every measure in these tables."""
    by_measure: dict[str, dict[str, list[TokenRow]]] = {}
    selected = tokens.filter(pc.equal(tokens["item"], item))
    for row in sorted(selected.to_pylist(), key=lambda row: row["position"]):
        by_measure.setdefault(row["measure"], {}).setdefault(row["side"], []).append(row)
    rows = items.filter(pc.equal(items["item"], item)).to_pylist()
    return [_measure(row, by_measure.get(row["measure"], {})) for row in rows]


def _measure(row: Mapping[str, Any], tokens: Mapping[str, Sequence[TokenRow]]) -> dict[str, Any]:
    more, less, unrelated = (tokens.get(side, ()) for side in SIDES)
    split, positions = parts(more, less), blocks(more, less)
    own_parts = [part.own for side in split for part in side if part is not None]
    difference = plain(row["difference"])
    return {
        "measure": row["measure"],
        "outcome": row["outcome"],
        "reason": row["reason"],
        "difference": difference,
        "scores": {side: plain(row[side]) for side in SIDES},
        "adds_up": bool(own_parts)
        and difference is not None
        and abs(sum(own_parts) - difference) <= CLOSE * max(1.0, abs(difference)),
        "tokens": {
            "more": _tokens(more, split[0], positions[0]),
            "less": _tokens(less, split[1], positions[1]),
            "unrelated": _tokens(unrelated, [None] * len(unrelated), list(range(len(unrelated)))),
        },
    }


def _tokens(
    rows: Sequence[TokenRow], split: Sequence[Part | None], positions: Sequence[int]
) -> list[dict[str, Any]]:
    shown = glyphs([str(row["token"] or "") for row in rows])
    return [
        {
            "text": text,
            "glued": glued,
            "changed": bool(row["in_span"]),
            "logprob": plain(row["logprob"]),
            "weight": plain(row["weight"]) if row["logprob"] is not None else None,
            "part": None if part is None else plain(part.own),
            "together": None if part is None else plain(part.block),
            "place": position,
        }
        for row, part, position, (text, glued) in zip(rows, split, positions, shown, strict=True)
    ]
