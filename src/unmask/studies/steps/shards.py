"""Shards of an audit put together: the tables one after the other, estimates made anew from all rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from unmask.audit.plan import write_json
from unmask.audit.result import ITEMS, RESULT, TOKENS, Result, as_json
from unmask.core.types import Row, Side
from unmask.measures import find
from unmask.stats import estimates

FIXED = ("measure", "data", "item", "difference", "outcome", "reason")
SIDES: tuple[Side, ...] = ("more", "less", "unrelated")


def merge_shards(shards: Sequence[Result], folder: Path, *, seed: int) -> None:
    """One result folder out of several, of the same measures on parts of one dataset."""
    items = pa.concat_tables([one.items for one in shards], promote_options="default")
    pq.write_table(items, folder / ITEMS, compression="zstd")
    pq.write_table(pa.concat_tables([one.tokens for one in shards]), folder / TOKENS, compression="zstd")
    meta = dict(shards[0].meta)
    meta["data"] = [{**meta["data"][0], "n": sum(one.meta["data"][0]["n"] for one in shards)}]
    meta["estimates"] = [as_json(one) for one in _estimates(items, seed)]
    meta["checks"] = _checks(shards)
    write_json(folder / RESULT, meta)


def _estimates(items: pa.Table, seed: int) -> list[Any]:
    rows: dict[tuple[str, str], list[Row]] = {}
    for one in items.to_pylist():
        groups = {
            name: value
            for name, value in one.items()
            if isinstance(value, str) and name not in FIXED and not name.startswith("text_")
        }
        scores = {side: one[side] for side in SIDES if one[side] is not None}
        row = Row(one["measure"], one["data"], one["item"], groups, scores, one["outcome"], one["reason"])
        rows.setdefault((row.measure, row.data), []).append(row)
    return [
        each
        for (measure, data), some in rows.items()
        for each in estimates(find(measure), some, data=data, rng_seed=seed)
    ]


def _checks(shards: Sequence[Result]) -> list[dict[str, Any]]:
    """Of one shard as they are; of several each is passed where every shard passes it."""
    if len(shards) == 1:
        return [as_json(one) for one in shards[0].checks]
    made = []
    for name in dict.fromkeys(one.name for shard in shards for one in shard.checks):
        found = [
            (number, one)
            for number, shard in enumerate(shards, 1)
            for one in shard.checks
            if one.name == name
        ]
        told = "; ".join(f"part {number} of {len(shards)}: {one.detail}" for number, one in found)
        made.append({"name": name, "ok": all(one.ok for _, one in found), "detail": told})
    return made
