"""Merge the shards of an audit: concatenate the tables and recompute the estimates from all rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from unmask.audit.parquet import rows_of
from unmask.core.files import plain, write_json
from unmask.findings.envelope import ITEMS, RESULT, TOKENS, Result
from unmask.measures import find
from unmask.stats import estimates


def merge_shards(shards: Sequence[Result], folder: Path, *, seed: int) -> None:
    """Write one result folder from the shards of an audit, which share measures and dataset."""
    items = pa.concat_tables([shard.items for shard in shards], promote_options="default")
    pq.write_table(items, folder / ITEMS, compression="zstd")
    tokens = pa.concat_tables([shard.tokens for shard in shards])
    pq.write_table(tokens, folder / TOKENS, compression="zstd")
    meta = dict(shards[0].meta)
    meta["data"] = [{**meta["data"][0], "n": sum(shard.meta["data"][0]["n"] for shard in shards)}]
    meta["estimates"] = [
        plain(estimate)
        for (measure, data), rows in rows_of(items).items()
        for estimate in estimates(find(measure), rows, data=data, rng_seed=seed)
    ]
    meta["checks"] = _checks(shards)
    write_json(folder / RESULT, meta)


def _checks(shards: Sequence[Result]) -> list[dict[str, Any]]:
    """The checks of all shards; a check passes if it passes in every shard."""
    if len(shards) == 1:
        return [plain(check) for check in shards[0].checks]
    merged = []
    for name in dict.fromkeys(check.name for shard in shards for check in shard.checks):
        checks = [
            (number, check)
            for number, shard in enumerate(shards, 1)
            for check in shard.checks
            if check.name == name
        ]
        detail = "; ".join(f"part {number} of {len(shards)}: {check.detail}" for number, check in checks)
        merged.append({"name": name, "ok": all(check.ok for _, check in checks), "detail": detail})
    return merged
