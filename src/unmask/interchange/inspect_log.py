"""A log of Inspect (UK AI Security Institute), JSON format 2: one task, one sample per item, one scorer per measure.

`inspect view` and `inspect_ai.analysis` read it. A sample's score by a measure is 1 where the stereotyping sentence is
preferred, 0.5 at a tie, 0 where the other one is; an item that a measure cannot score has no score by it, and its
metadata the reason. The estimates with their intervals are the metrics.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from unmask.audit.result import AuditResult
from unmask.core.estimate import Estimate
from unmask.core.files import make_folder, write_text
from unmask.interchange.spec import ExportFormat

VERSION = 2
SCORES = {"more": 1.0, "tie": 0.5, "less": 0.0}


def write(result: AuditResult, out: str) -> str:
    """Write the log of an audit into a folder, under a name by which Inspect knows a log."""
    log = log_of(result)
    created = log["eval"]["created"].replace(":", "-")
    path = make_folder(Path(out)) / f"{created}_unmask-audit_{log['eval']['task_id']}.json"
    return str(write_text(path, json.dumps(log, ensure_ascii=False, allow_nan=False, indent=1) + "\n"))


def log_of(result: AuditResult) -> dict[str, Any]:
    """The log as JSON."""
    samples = list(_samples(result))
    now, facts = datetime.now(UTC).isoformat(timespec="seconds"), result.meta["model"]
    names = [card["name"] for card in result.meta["data"]]
    identity = hashlib.sha256(json.dumps(result.meta["details"], sort_keys=True).encode()).hexdigest()[:22]
    dataset: dict[str, Any] = {"name": ", ".join(names), "samples": len(samples)}
    dataset |= {"sample_ids": [sample["id"] for sample in samples], "shuffled": False}
    spec = {
        "eval_id": identity,
        "run_id": identity,
        "created": now,
        "task": "unmask/audit",
        "task_id": identity,
        "task_version": 0,
        "task_args": {},
        "dataset": dataset,
        "model": str(facts["id"]),
        "config": {},
        "packages": {"unmask": str(result.meta["unmask"])},
        "metadata": {"model": facts, "data": result.meta["data"], "checks": result.meta["checks"]},
    }
    scored = [_score(measure, result.estimates) for measure in result.measures()]
    counts = {"total_samples": len(samples), "completed_samples": len(samples)}
    return {
        "version": VERSION,
        "status": "success",
        "eval": spec,
        "plan": {"name": "plan", "steps": []},
        "results": {**counts, "scores": scored},
        "stats": {"started_at": now, "completed_at": now},
        "samples": samples,
    }


def _score(measure: str, estimates: Iterable[Estimate]) -> dict[str, Any]:
    """The estimates of one measure as metrics, named DATA/STATISTIC and, by group, …/category=gender."""
    metrics: dict[str, Any] = {}
    for each in estimates:
        if each.measure != measure or not math.isfinite(each.value):
            continue
        name = "/".join((each.data, each.statistic, *([] if each.group == "all" else [each.group])))
        known = {"null": each.null, "n": each.n, "ties": each.ties, "unscored": each.unscored, "method": each.method}
        ends = {"low": each.low, "high": each.high} if each.has_interval else {}
        metrics[name] = {"name": name, "value": each.value, "params": {}, "metadata": {**known, **ends}}
    return {"name": measure, "scorer": measure, "params": {}, "metrics": metrics}


def _samples(result: AuditResult) -> Iterable[dict[str, Any]]:
    """One sample for every item, with the scores of all measures."""
    by_item: dict[str, dict[str, Any]] = {}
    for row in result.items.to_pylist() if result.has_items else ():
        sample = by_item.setdefault(row["item"], _sample(row))
        if row["outcome"] == "unscored":
            sample["metadata"][f"not scored by {row['measure']}"] = row["reason"]
            continue
        known = {name: row[name] for name in ("outcome", "more", "less", "difference")}
        answer = {"more": row["text_more"], "less": row["text_less"]}.get(row["outcome"])
        score = {"value": SCORES[row["outcome"]], "answer": answer, "metadata": known}
        sample["scores"][row["measure"]] = score
    return by_item.values()


def _sample(row: Mapping[str, Any]) -> dict[str, Any]:
    choices = [text for text in (row["text_more"], row["text_less"]) if text]
    groups = {name: row[name] for name in ("data", "category", "direction") if row.get(name)}
    return {
        "id": row["item"],
        "epoch": 1,
        "input": "Which of the two sentences does the model score higher?",
        "choices": choices,
        "target": "",
        "messages": [],
        "scores": {},
        "metadata": groups,
        "store": {},
        "events": [],
        "model_usage": {},
        "attachments": {},
    }


INSPECT = ExportFormat(
    name="inspect",
    about="a log of Inspect in a folder, for its viewer and its data frames; one sample per item",
    write=write,
    audits_only=True,
)
