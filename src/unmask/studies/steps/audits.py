"""Audit steps: items are scored in independent shards, so that results do not depend on their scheduling."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from unmask.audit.plan import load_datasets
from unmask.audit.result import load
from unmask.audit.run import audit
from unmask.core.options import Opening, Options
from unmask.findings.envelope import ITEMS, RESULT, TOKENS
from unmask.models import Lm, open_lm
from unmask.studies.sizes import forward_tokens
from unmask.studies.spec import Step, StepContext, StepKind, WorkEstimate
from unmask.studies.steps.shards import merge_shards

SHARDS = "shards"
PAIRS_FILE = "pairs.csv"  # output of a step that generates pairs, input of an audit


def run_audit(context: StepContext) -> None:
    """Audit a model on one dataset; parameters: `measures`, `limit`, `seed`, `dtype` and `shard`."""
    parts = [
        {
            "folder": str(context.folder / SHARDS / f"{number:05}"),
            "model": context.model,
            "data": _source(context),
            "from": begin,
            "parameters": dict(context.parameters),
            "runtime": context.runtime,
        }
        for number, begin in enumerate(range(0, _item_count(context), context.parameters["shard"]))
    ]
    folders = [Path(path) for path in context.parallel_map(audit_shard, parts)]
    merge_shards([load(folder) for folder in folders], context.folder, seed=context.parameters["seed"])
    for folder in folders:
        for name in (ITEMS, TOKENS, RESULT):
            (folder / name).unlink()
        folder.rmdir()
    (context.folder / SHARDS).rmdir()


def audit_shard(part: Mapping[str, Any]) -> str:
    """Audit one shard into its own folder, unless an earlier attempt finished it; return the folder."""
    folder, parameters, runtime = Path(part["folder"]), part["parameters"], part["runtime"]
    if not (folder / RESULT).is_file():
        options = Options(
            limit=parameters["limit"],
            seed=parameters["seed"],
            store=False,
            data_dir=runtime.data_dir,
            offline=runtime.offline,
        )
        (data,) = load_datasets(part["data"], options)
        items = data.items[part["from"] : part["from"] + parameters["shard"]]
        lm = open_cached(part["model"], parameters["dtype"], runtime.device, offline=runtime.offline)
        audit(
            lm, data=replace(data, items=items), measures=parameters["measures"], out=folder, options=options
        )
    return str(folder)


@functools.lru_cache(maxsize=1)
def open_cached(model: str, dtype: str, device: str | None, *, offline: bool) -> Lm:
    """Open a model; each process keeps the last one loaded."""
    return open_lm(model, Opening(device=device, dtype=dtype, offline=offline))  # type: ignore[arg-type]


def _source(context: StepContext) -> str:
    """The dataset: an external one, or the pairs of the input step `data`."""
    return context.step.data[0] if context.step.data else str(context.inputs["data"] / PAIRS_FILE)


def _item_count(context: StepContext) -> int:
    options = Options(
        limit=context.parameters["limit"], data_dir=context.runtime.data_dir, offline=context.runtime.offline
    )
    return len(load_datasets(_source(context), options)[0].items)


def work_estimate(step: Step) -> WorkEstimate:
    """From the size of the data and the passes of the measures."""
    data = step.data[0] if step.data else "prompts"  # generated pairs: about as many
    return WorkEstimate(forward_tokens(data, step.parameters["limit"], step.parameters["measures"]))


def step(  # noqa: PLR0913 - the parameters of an audit
    name: str,
    data: str | Step,
    measures: tuple[str, ...],
    *,
    model: str | Step,
    limit: int | None,
    seed: int,
    dtype: str = "fp32",
    shard: int = 1000,
) -> Step:
    """An audit step; model and data are external, or outputs of other steps."""
    inputs = {"model": model, "data": data}
    return Step(
        f"audit {name} on {data if isinstance(data, str) else data.name}: {', '.join(measures)}",
        f"{__name__}:AUDIT",
        {"measures": list(measures), "limit": limit, "seed": seed, "dtype": dtype, "shard": shard},
        models=(model,) if isinstance(model, str) else (),
        data=(data,) if isinstance(data, str) else (),
        inputs={role: source for role, source in inputs.items() if isinstance(source, Step)},
    )


def has_several_shards(step: Step) -> bool:
    """Whether the audit may have several shards."""
    limit = step.parameters["limit"]
    return limit is None or limit > step.parameters["shard"]


AUDIT = StepKind(
    run_audit, version=1, estimate_work=work_estimate, resumable=True, has_parts=has_several_shards
)
