"""Result folders without a model: real items, scores and tokens drawn from a seed, real statistics."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from tests.report import fake

from unmask.audit.result import load
from unmask.core.files import plain
from unmask.core.types import Check, Dataset, Outcome, Pair, Row
from unmask.findings.envelope import Result
from unmask.measures import MEASURES
from unmask.stats import estimates

CHECKS = (
    Check("lm-head", True, "every weight of Fake came from the checkpoint"),
    Check("masked-accuracy", True, "41.0% of 900 tokens are the model's first guess"),
)


def run(
    folder: Path,
    plan: Sequence[tuple[Dataset, Sequence[str]]],
    *,
    model: str = "made",
    lean: float = 0.5,
    seed: int = 0,
    facts: Mapping[str, Any] | None = None,
    checks: Sequence[Check] = CHECKS,
) -> Result:
    """A result folder of a model that prefers `more` by `lean` nats on average."""
    rng = np.random.default_rng(seed)
    items: list[dict[str, Any]] = []
    tokens: list[dict[str, Any]] = []
    found = []
    for data, measures in plan:
        for name in measures:
            rows = []
            for item in data.items:
                row, told = _scored(name, data.card.name, item, lean, rng)
                rows.append(row)
                tokens += told
                items.append(_item(row, item))
            found += estimates(MEASURES[name], rows, data=data.card.name, rng_seed=seed)
    names = dict.fromkeys(name for item in items for name in item)
    even = [{name: item.get(name) for name in names} for item in items]
    meta = fake.meta() | {
        "model": {"id": model, "kind": "masked", "parameters": 4_000_000, **(facts or {})},
        "data": [data.facts() for data, _ in plan],
        "options": {"seed": seed, "limit": None},
        "versions": {"python": "3.11.0", "torch": "2.13.0"},
        "estimates": [plain(one) for one in found],
        "checks": [plain(one) for one in checks],
    }
    return load(fake.write(folder, meta, pa.Table.from_pylist(even), fake.token_table(tokens)))


def _scored(
    measure: str, data: str, item: Pair, lean: float, rng: np.random.Generator
) -> tuple[Row, list[dict[str, Any]]]:
    told, scores = [], {}
    others = {"more": item.less.split(), "less": item.more.split()}
    for side, text in (("more", item.more), ("less", item.less)):
        parts = text.split()
        logprobs = -rng.exponential(2.0, len(parts))
        if "slot" in item.groups:
            scores[side] = float(rng.uniform(0.1, 0.5)) + (0.05 * lean if side == "more" else 0.0)
        else:
            logprobs[0] -= lean if side == "less" else 0.0
            scores[side] = math.fsum(logprobs)
        told += [
            {"measure": measure, "item": item.id, "side": side, "position": place, "token": token,
             "logprob": float(logprob), "weight": 1.0, "in_span": token not in others[side]}
            for place, (token, logprob) in enumerate(zip(parts, logprobs, strict=True), start=1)
        ]  # fmt: skip
    outcome: Outcome = "more" if scores["more"] > scores["less"] else "less"
    return Row(measure, data, item.id, item.groups, scores, outcome), told  # type: ignore[arg-type]


def _item(row: Row, item: Pair) -> dict[str, Any]:
    return {
        "measure": row.measure, "data": row.data, "item": row.item, **row.groups, "text_more": item.more,
        "text_less": item.less, "text_unrelated": None, "more": row.scores["more"],
        "less": row.scores["less"], "unrelated": None, "difference": row.difference,
        "outcome": row.outcome, "reason": "",
    }  # fmt: skip
