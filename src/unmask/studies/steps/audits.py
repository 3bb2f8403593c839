"""Audit steps: items are scored in independent shards, so that results do not depend on their scheduling."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from unmask.audit.parquet import rows_of
from unmask.audit.plan import load_datasets
from unmask.audit.result import load
from unmask.audit.run import audit
from unmask.core.files import plain, write_json
from unmask.core.options import Opening
from unmask.findings.envelope import ITEMS, RESULT, TOKENS, Result
from unmask.measures import find
from unmask.models import Lm, open_lm
from unmask.stats import estimates
from unmask.studies.durations import forward_tokens
from unmask.studies.spec import Step, StepContext, StepKind, WorkEstimate

SHARDS = "shards"
PAIRS_FILE = "pairs.csv"  # output of a step that generates pairs, input of an audit


def run_audit(context: StepContext) -> None:
    """Audit a model on one dataset; parameters: `measures`, `limit`, `seed`, `dtype` and `shard`."""
    (data,) = load_datasets(_source(context), context.options())
    begins = range(0, len(data.items), context.parameters["shard"])
    whole = replace(context, parallel_map=map)  # what a worker of another machine can receive
    parts = [
        (replace(whole, folder=context.folder / SHARDS / f"{number:05}"), begin) for number, begin in enumerate(begins)
    ]
    folders = [Path(path) for path in context.parallel_map(audit_shard, parts)]
    merge_shards([load(folder) for folder in folders], context.folder, seed=context.parameters["seed"])
    for folder in folders:
        for name in (ITEMS, TOKENS, RESULT):
            (folder / name).unlink()
        folder.rmdir()
    (context.folder / SHARDS).rmdir()


def audit_shard(part: tuple[StepContext, int]) -> str:
    """Audit one shard into its own folder, unless an earlier attempt finished it; return the folder."""
    context, begin = part
    if not (context.folder / RESULT).is_file():
        options = context.options(store=False)
        (data,) = load_datasets(_source(context), options)
        shard = replace(data, items=data.items[begin : begin + context.parameters["shard"]])
        lm = open_cached(context.model, context.opening)
        audit(lm, data=shard, measures=context.parameters["measures"], out=context.folder, options=options)
    return str(context.folder)


@functools.lru_cache(maxsize=1)
def open_cached(model: str, opening: Opening) -> Lm:
    """Open a model; each process keeps the last one loaded."""
    return open_lm(model, opening)


def _source(context: StepContext) -> str:
    """The dataset: an external one, or the pairs of the input step `data`."""
    return context.step.data[0] if context.step.data else str(context.inputs["data"] / PAIRS_FILE)


def merge_shards(shards: Sequence[Result], folder: Path, *, seed: int) -> None:
    """Write one result folder from the shards of an audit: tables concatenated, estimates from all rows."""
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
    meta["checks"] = _merge_checks(shards) if len(shards) > 1 else plain(shards[0].checks)
    write_json(folder / RESULT, meta)


def _merge_checks(shards: Sequence[Result]) -> list[dict[str, Any]]:
    """The checks of all shards; a check passes if it passes in every shard."""
    merged: dict[str, dict[str, Any]] = {}
    for number, shard in enumerate(shards, 1):
        for check in shard.checks:
            detail = f"part {number} of {len(shards)}: {check.detail}"
            known = merged.setdefault(check.name, {"name": check.name, "ok": True, "detail": ""})
            known["ok"] = known["ok"] and check.ok
            known["detail"] += f"; {detail}" if known["detail"] else detail
    return list(merged.values())


def work_estimate(step: Step) -> WorkEstimate:
    """From the size of the data and the passes of the measures."""
    data = step.data[0] if step.data else "prompts"  # generated pairs: about as many
    return WorkEstimate(forward_tokens(data, step.parameters["limit"], step.parameters["measures"]))


def step(
    name: str, data: str | Step, measures: tuple[str, ...], *, model: str | Step, shard: int = 1000, **scoring: Any
) -> Step:
    """An audit step; model and data are external or outputs of other steps; `scoring`: limit, seed, dtype."""
    return Step.of(
        f"audit {name} on {data if isinstance(data, str) else data.name}: {', '.join(measures)}",
        f"{__name__}:AUDIT",
        {"measures": list(measures), "limit": None, "seed": 0, "dtype": "fp32", **scoring, "shard": shard},
        model=model,
        data=data,
    )


def has_several_shards(step: Step) -> bool:
    """Whether the audit may have several shards."""
    limit = step.parameters["limit"]
    return limit is None or limit > step.parameters["shard"]


AUDIT = StepKind(run_audit, version=1, estimate_work=work_estimate, resumable=True, has_parts=has_several_shards)
