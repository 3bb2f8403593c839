"""Audits as steps: the items in shards, each asked alone, so that who asks which changes no digit."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from unmask.audit.plan import Options, load_datasets
from unmask.audit.result import ITEMS, RESULT, TOKENS, load
from unmask.audit.run import audit
from unmask.models import Lm, open_lm
from unmask.models.loading import Opening
from unmask.studies.sizes import forward_tokens
from unmask.studies.spec import Step, StepContext, StepKind, WorkEstimate
from unmask.studies.steps.shards import merge_shards

SHARDS = "shards"
PAIRS_FILE = "pairs.csv"  # what a step that makes pairs leaves for an audit


def run_audit(context: StepContext) -> None:
    """Audit a model on one dataset; `measures`, `limit`, `seed`, `dtype` and `audit_shard` are parameters."""
    parts = [
        {
            "folder": str(context.folder / SHARDS / f"{number:05}"),
            "model": context.model,
            "data": _source(context),
            "from": begin,
            "parameters": dict(context.parameters),
            "runtime": context.runtime,
        }
        for number, begin in enumerate(range(0, _items(context), context.parameters["shard"]))
    ]
    folders = [Path(one) for one in context.parallel_map(audit_shard, parts)]
    merge_shards([load(one) for one in folders], context.folder, seed=context.parameters["seed"])
    for folder in folders:
        for name in (ITEMS, TOKENS, RESULT):
            (folder / name).unlink()
        folder.rmdir()
    (context.folder / SHARDS).rmdir()


def audit_shard(part: Mapping[str, Any]) -> str:
    """Audit some items into a folder of their own, unless an earlier try has done it; the folder."""
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
        some = data.items[part["from"] : part["from"] + parameters["shard"]]
        lm = open_cached(part["model"], parameters["dtype"], runtime.device, offline=runtime.offline)
        audit(
            lm, data=replace(data, items=some), measures=parameters["measures"], out=folder, options=options
        )
    return str(folder)


@functools.lru_cache(maxsize=1)
def open_cached(model: str, dtype: str, device: str | None, *, offline: bool) -> Lm:
    """The model; the last one stays open in each process."""
    return open_lm(model, Opening(device=device, dtype=dtype, offline=offline))


def _source(context: StepContext) -> str:
    """The dataset: from outside, or the pairs that the step named `data` made."""
    return context.step.data[0] if context.step.data else str(context.inputs["data"] / PAIRS_FILE)


def _items(context: StepContext) -> int:
    options = Options(
        limit=context.parameters["limit"], data_dir=context.runtime.data_dir, offline=context.runtime.offline
    )
    return len(load_datasets(_source(context), options)[0].items)


def work_estimate(step: Step) -> WorkEstimate:
    """By the size of the data and what the measures ask."""
    data = step.data[0] if step.data else "prompts"  # made pairs: about as many
    return WorkEstimate(forward_tokens(data, step.parameters["limit"], step.parameters["measures"]))


def step(  # noqa: PLR0913 - what an audit is made of
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
    """An audit as a step; model and data are from outside, or what other steps made."""
    inputs = {"model": model, "data": data}
    return Step(
        f"audit {name} on {data if isinstance(data, str) else data.name}: {', '.join(measures)}",
        f"{__name__}:AUDIT",
        {"measures": list(measures), "limit": limit, "seed": seed, "dtype": dtype, "shard": shard},
        models=(model,) if isinstance(model, str) else (),
        data=(data,) if isinstance(data, str) else (),
        inputs={role: one for role, one in inputs.items() if isinstance(one, Step)},
    )


def has_several_shards(step: Step) -> bool:
    """Whether there may be several shards."""
    limit = step.parameters["limit"]
    return limit is None or limit > step.parameters["shard"]


AUDIT = StepKind(
    run_audit, version=1, estimate_work=work_estimate, resumable=True, has_parts=has_several_shards
)
