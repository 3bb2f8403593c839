"""Every Eval Ever (evaleval/every_eval_ever), schema 0.3.0: an aggregate record and a row per item, for each dataset.

    OUT/data/DATASET/DEVELOPER/MODEL/UUID.json            `eval.schema.json`
    OUT/data/DATASET/DEVELOPER/MODEL/UUID_samples.jsonl   `instance_level_eval.schema.json`

The schema asks whether lower is better and whether an item is answered correctly; neither fits a bias score, whose
reference value lies in the middle. So `lower_is_better` is true where a higher value is nearer to the stereotype, the
reference value is a parameter of the metric, and `is_correct` says that the stereotyping sentence is not preferred.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from unmask.audit.result import AuditResult
from unmask.core.estimate import Estimate
from unmask.core.files import make_folder, write_text
from unmask.core.statistic import statistic
from unmask.interchange.spec import ExportFormat

SCHEMA = "0.3.0"
SCORES = {"more": 1.0, "less": 0.0, "tie": 0.5, "unscored": 0.0}
READ = "no preference at the reference value; below it the other sentences are preferred"
_UNPORTABLE = re.compile(r"[^\w.+-]+")


def write(result: AuditResult, out: str) -> str:
    """Write the records of an audit below a folder, in the layout of the shared database."""
    for card in result.meta["data"]:
        _write_dataset(result, card, Path(out))
    return str(Path(out) / "data")


def _write_dataset(result: AuditResult, card: Mapping[str, Any], out: Path) -> None:
    """The aggregate record of one dataset, and its items."""
    created = str(int(time.time()))
    model = _model(result)
    identity = f"{result.meta['tables']}{card['name']}{created}"
    name = str(uuid.UUID(bytes=hashlib.sha256(identity.encode()).digest()[:16], version=4))
    developer, _, short = model["id"].partition("/")
    place = Path("data", _portable(card["name"]), _portable(developer), _portable(short))
    record: dict[str, Any] = {
        "schema_version": SCHEMA,
        "evaluation_id": f"{card['name']}/{model['id']}/{created}",
        "retrieved_timestamp": created,
        "source_metadata": {
            "source_name": "unmask",
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "unmask", "version": str(result.meta["unmask"])},
        "model_info": model,
        "evaluation_results": [
            _estimate(estimate, card, result)
            for estimate in result.estimates
            if estimate.data == card["name"] and math.isfinite(estimate.value)
        ],
    }
    folder = make_folder(out / place)
    rows = list(_instances(result, card["name"], record)) if result.has_items else []
    if rows:
        text = "".join(f"{json.dumps(row, ensure_ascii=False, allow_nan=False)}\n" for row in rows)
        file = write_text(folder / f"{name}_samples.jsonl", text)
        record["detailed_evaluation_results"] = {
            "format": "jsonl",
            "file_path": (place / file.name).as_posix(),
            "hash_algorithm": "sha256",
            "checksum": hashlib.sha256(text.encode()).hexdigest(),
            "total_rows": len(rows),
        }
    write_text(folder / f"{name}.json", json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def _model(result: AuditResult) -> dict[str, Any]:
    facts = result.meta["model"]
    known = {name: facts.get(name) for name in ("revision", "kind", "architecture", "dtype", "fingerprint", "device")}
    name, is_ours = str(facts["id"]), bool(facts.get("built_in"))
    is_hub_name = name.count("/") == 1
    identity = name if is_hub_name else f"{'unmask' if is_ours else 'unknown'}/{_portable(name)}"
    return {
        "name": name,
        "id": identity,
        "developer": identity.partition("/")[0],
        "inference_engine": {"name": "transformers", "version": result.meta["versions"].get("transformers", "unknown")},
        "additional_details": {
            "deployment_type": "self_deployed",
            "model_availability": "open_weights" if is_hub_name or is_ours else "unknown",
            **{key: str(value) for key, value in known.items() if value},
        },
    }


def _estimate(estimate: Estimate, card: Mapping[str, Any], result: AuditResult) -> dict[str, Any]:
    """One estimate as an evaluation result."""
    measure = result.measure(estimate.measure)
    facts = statistic(estimate.statistic)
    details = {name: getattr(estimate, name) for name in ("group", "ties", "unscored", "p", "p_holm", "unit")}
    details |= {"n": estimate.n, "design effect": estimate.design_effect}
    uncertainty: dict[str, Any] = {"num_samples": estimate.n}
    if estimate.has_interval:
        ends = {"lower": estimate.low, "upper": estimate.high, "confidence_level": 0.95, "method": estimate.method}
        uncertainty["confidence_interval"] = ends
    return {
        "evaluation_result_id": _result_id(estimate.measure, estimate.statistic, estimate.group),
        "evaluation_name": f"{estimate.data} by {estimate.measure}",
        "source_data": _source(card),
        "metric_config": {
            "evaluation_description": measure.reads,
            "metric_id": f"unmask.{estimate.measure}.{estimate.statistic}",
            "metric_name": f"{measure.title}: {estimate.statistic}",
            "metric_unit": "percent" if facts.is_percent else facts.unit or "none",
            "metric_parameters": {"reference_value": estimate.null, "group": estimate.group},
            "lower_is_better": facts.better != "higher",
            "score_type": "continuous",
            **dict(zip(("min_score", "max_score"), map(_end, facts.scale), strict=True)),
            "additional_details": {"reading": READ},
        },
        "score_details": {
            "score": estimate.value,
            "details": {key: str(value) for key, value in details.items() if value not in (None, "")},
            "uncertainty": uncertainty,
        },
    }


def _end(value: float) -> float | str:
    """An end of a scale; JSON has no infinity."""
    return value if math.isfinite(value) else f"{'-' if value < 0 else ''}Infinity"


def _source(card: Mapping[str, Any]) -> dict[str, Any]:
    """Where the data is from."""
    known = {name: card.get(name) for name in ("title", "licence", "source", "sha256", "revision")}
    details = {"additional_details": {key: str(value) for key, value in known.items() if value}}
    if card.get("hub"):
        return {
            "dataset_name": card["name"],
            "source_type": "hf_dataset",
            "hf_repo": card["hub"],
            **({"samples_number": card["n"]} if card.get("n") is not None else {}),
            **details,
        }
    return {"dataset_name": card["name"], "source_type": "other", **details}


def _instances(result: AuditResult, data: str, record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A row for every item and measure, joined to the headline of the measure."""
    headlines = {each.measure: each for each in result.headlines(published=True) if each.data == data}
    for row in result.items.to_pylist():
        if row["data"] != data or row["measure"] not in headlines:
            continue
        estimate = headlines[row["measure"]]
        more, less = row["text_more"] or "", row["text_less"] or ""
        chosen = {"more": more, "less": less}.get(row["outcome"], "")
        known = {name: row[name] for name in ("outcome", "more", "less", "difference", "category", "direction")
                 if row.get(name) is not None}  # fmt: skip
        yield {
            "schema_version": SCHEMA,
            "evaluation_id": record["evaluation_id"],
            "model_id": record["model_info"]["id"],
            "evaluation_name": f"{data} by {row['measure']}",
            "evaluation_result_id": _result_id(row["measure"], estimate.statistic, "all"),
            "sample_id": row["item"],
            "sample_hash": hashlib.sha256((more + less).encode()).hexdigest(),
            "interaction_type": "single_turn",
            "input": {"raw": more, "reference": [less], "choices": [more, less]},
            "output": {"raw": [chosen]},
            "answer_attribution": [
                {
                    "turn_idx": 0,
                    "source": "output.raw",
                    "extracted_value": chosen,
                    "extraction_method": f"the sentence that {row['measure']} scores higher",
                    "is_terminal": True,
                }
            ],
            "evaluation": {"score": SCORES[row["outcome"]], "is_correct": row["outcome"] == "less"},
            "error": row["reason"] or None,
            "metadata": {key: str(value) for key, value in known.items()},
        }


def _result_id(measure: str, statistic: str, group: str) -> str:
    return f"{measure}/{statistic}/{group}"


def _portable(text: str) -> str:
    """A name that every file system takes as one component of a path."""
    return _UNPORTABLE.sub("-", text).strip(".-") or "unknown"


EVERY_EVAL_EVER = ExportFormat(
    name="every-eval-ever",
    about="records of the Every Eval Ever schema 0.3.0 below a folder: estimates, and every item beside them",
    write=write,
    audits_only=True,
)
