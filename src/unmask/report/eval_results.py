"""Headline estimates in the Hugging Face hub's format of results, `.eval_results/*.yaml`, beside a model card.

The hub names a result by a dataset of its own, so estimates on data that is not on the hub have no entry; they are in
the card itself. The format is that of `huggingface_hub.EvalResultEntry` (hub-docs, docs/hub/eval-results.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

from unmask.audit.result import AuditResult
from unmask.core.estimate import Estimate
from unmask.core.files import make_folder, write_text

FOLDER, FILE = ".eval_results", "unmask.yaml"


def path_beside(card: Path) -> Path:
    """The file that belongs to a model card."""
    return card.parent / FOLDER / FILE


def write(result: AuditResult, card: Path) -> Path | None:
    """Write the file beside a model card; without data of the hub there is none, and an earlier one goes."""
    path, found = path_beside(card), entries(result)
    if not found:
        path.unlink(missing_ok=True)
        return None
    make_folder(path.parent)
    content = eval_result_entries_to_yaml(found)
    return write_text(path, yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=1000))


def entries(result: AuditResult) -> list[EvalResultEntry]:
    """The finite headline estimates on data that is also on the hub."""
    cards = {card.get("name"): card for card in result.meta.get("data") or []}
    known = [(estimate, cards.get(estimate.data, {})) for estimate in result.headlines(published=True)]
    return [
        EvalResultEntry(
            dataset_id=card["hub"],
            task_id=estimate.measure,
            value=estimate.value,
            dataset_revision=card.get("revision"),
            notes=_notes(estimate, result, card),
        )
        for estimate, card in known
        if card.get("hub") and math.isfinite(estimate.value)
    ]


def _notes(estimate: Estimate, result: AuditResult, card: Mapping[str, Any]) -> str:
    """What the number is, its interval, and whether a check failed."""
    whole = f" (a subset of {card['subset_of']:,} items)" if card.get("subset_of") else ""
    parts = [f"{estimate.statistic} by unmask {result.meta.get('unmask', '')}", f"n {estimate.n}{whole}"]
    if estimate.has_interval:
        parts.append(f"95% interval {estimate.low:.4g} to {estimate.high:.4g}")
    if estimate.null is not None:
        parts.append(f"no preference at {estimate.null:g}")
    if estimate.unscored:
        parts.append(f"{estimate.unscored} items not scored")
    if card.get("source"):
        parts.append(f"data {card['source']}")
    failed = sum(not check.ok for check in result.checks)
    return "; ".join([*parts, *([f"{failed} of {len(result.checks)} checks failed"] if failed else [])])
