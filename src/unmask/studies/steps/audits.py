"""Audit steps: items are scored in independent shards, so that results do not depend on their scheduling."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from unmask.audit.parquet import open_writer, rows_of
from unmask.audit.result import load
from unmask.audit.run import audit
from unmask.audit.session import load_datasets
from unmask.core.files import plain, writing
from unmask.core.options import Opening
from unmask.core.types import Kind
from unmask.findings.envelope import ITEMS, RESULT, TOKENS, Result
from unmask.findings.folder import result_folder
from unmask.measures import find
from unmask.models import Lm, open_lm
from unmask.stats import estimates
from unmask.studies.forecast import forward_tokens
from unmask.studies.spec import Step, StepContext, StepKind, WorkEstimate

SHARDS = "shards"
PAIRS_FILE = "pairs.csv"  # output of a step that generates pairs, input of an audit
GPU_START = 1.0  # seconds


def run_audit(context: StepContext) -> None:
    """Audit a model on one dataset; parameters: `measures`, `limit`, `seed`, `dtype` and `shard`.

    `measures` is a list, or one for each kind of model: the kind is known when the model is open.
    """
    if not (context.folder / RESULT).is_file():  # or an earlier attempt ended while it removed the shards
        (data,) = load_datasets(_source(context), context.options())
        begins = range(0, len(data.items), context.parameters["shard"])
        whole = replace(context, parallel_map=map)  # what a worker of another machine can receive
        parts = [
            (replace(whole, folder=context.folder / SHARDS / f"{number:05}"), begin)
            for number, begin in enumerate(begins)
        ]
        folders = [Path(path) for path in context.parallel_map(audit_shard, parts)]
        merge_shards([load(folder) for folder in folders], context.folder, seed=context.parameters["seed"])
    shutil.rmtree(context.folder / SHARDS, ignore_errors=True)


def audit_shard(part: tuple[StepContext, int]) -> str:
    """Audit one shard into its own folder, unless an earlier attempt finished it; return the folder."""
    context, begin = part
    if not (context.folder / RESULT).is_file():
        options = context.options(store=False)
        (data,) = load_datasets(_source(context), options)
        shard = replace(data, items=data.items[begin : begin + context.parameters["shard"]])
        lm = open_cached(context.model, context.opening)
        named = context.parameters["measures"]
        measures = named[lm.kind] if isinstance(named, Mapping) else named
        audit(lm, data=shard, measures=measures, out=context.folder, options=options)
    return str(context.folder)


@functools.lru_cache(maxsize=1)
def open_cached(model: str, opening: Opening) -> Lm:
    """Open a model; each process keeps the last one loaded."""
    return open_lm(model, opening)


def _source(context: StepContext) -> str:
    """The dataset: an external one, or the pairs of the input step `data`."""
    return context.data if context.step.data else str(context.inputs["data"] / PAIRS_FILE)


def merge_shards(shards: Sequence[Result], folder: Path, *, seed: int) -> None:
    """Write one result folder from the shards of an audit: tables concatenated, estimates from all rows."""
    items = pa.concat_tables([shard.items for shard in shards], promote_options="default")
    tokens = pa.concat_tables([shard.tokens for shard in shards])
    meta = {**shards[0].meta, "tables": {}}
    meta["data"] = [{**meta["data"][0], "n": sum(shard.meta["data"][0]["n"] for shard in shards)}]
    meta["estimates"] = [
        plain(estimate)
        for (measure, data), rows in rows_of(items).items()
        for estimate in estimates(find(measure), rows, data=data, rng_seed=seed)
    ]
    meta["checks"] = _merge_checks(shards) if len(shards) > 1 else shards[0].meta["checks"]
    with result_folder(folder, "audit", also=(SHARDS,)) as opened:
        for name, table in ((ITEMS, items), (TOKENS, tokens)):
            with writing(folder / name), open_writer(opened.stage(name), table.schema) as writer:
                writer.write_table(table)
        opened.finish(meta)


def _merge_checks(shards: Sequence[Result]) -> list[dict[str, Any]]:
    """The checks of all shards; a check passes if it passes in every shard."""
    merged: dict[str, dict[str, Any]] = {}
    for number, shard in enumerate(shards, 1):
        for check in (*shard.checks, *shard.descriptions):
            detail = f"part {number} of {len(shards)}: {check.detail}"
            known = merged.setdefault(check.name, {"name": check.name, "ok": True, "detail": "", "measures": []})
            known["ok"] = known["ok"] and check.ok
            known["measures"] += [measure for measure in check.measures if measure not in known["measures"]]
            known["detail"] += f"; {detail}" if known["detail"] else detail
    return list(merged.values())


def work_estimate(step: Step) -> WorkEstimate:
    """From the size of the data and the passes of the measures."""
    named = step.parameters["measures"]
    measures = named["masked"] if isinstance(named, Mapping) else named  # more work than for a causal model
    data = step.data[0] if step.data else "prompts"  # generated pairs: about as many
    return WorkEstimate(forward_tokens(data, step.parameters["limit"], measures), gpu_start=GPU_START)


def step(
    name: str,
    data: str | Step,
    measures: Sequence[str] | Mapping[Kind, Sequence[str]],
    *,
    model: str | Step,
    shard: int = 1000,
    **scoring: Any,
) -> Step:
    """An audit step; model and data are external or outputs of other steps; `scoring`: limit, seed, dtype."""
    if isinstance(measures, Mapping):
        named: Any = {kind: list(of_kind) for kind, of_kind in measures.items()}
        listed = "; ".join(f"{', '.join(of_kind)} if {kind}" for kind, of_kind in measures.items())
    else:
        named, listed = list(measures), ", ".join(measures)
    return Step.of(
        f"audit {name} on {data if isinstance(data, str) else data.name}: {listed}",
        f"{__name__}:AUDIT",
        {"measures": named, "limit": None, "seed": 0, "dtype": "fp32", **scoring, "shard": shard},
        model=model,
        data=data,
    )


def has_several_shards(step: Step) -> bool:
    """Whether the audit may have several shards."""
    limit = step.parameters["limit"]
    return limit is None or limit > step.parameters["shard"]


AUDIT = StepKind(run_audit, version=2, estimate_work=work_estimate, resumable=True, has_parts=has_several_shards)
