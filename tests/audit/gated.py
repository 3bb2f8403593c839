"""Result folders with known outcomes, for the tests of the gate: nothing is scored by a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from report import fake
from unmask.audit.parquet import rows_of
from unmask.core.files import plain
from unmask.core.types import Check
from unmask.findings.envelope import estimate_json
from unmask.measures import MEASURES
from unmask.stats import estimates

OK = Check("own/masked-accuracy", True, "half of the tokens are the model's first guess")
BROKEN = Check("own/masked-accuracy", False, "0 of 90 tokens are the model's first guess")
NEEDED = ("finite-outputs", "masked-accuracy", "unmasked-accuracy")
SHA = "0" * 64


def pairs(won: int, n: int, measure: str = "aul", data: str = "own") -> list[dict[str, Any]]:
    """Pairs of which the first ones are won."""
    return [
        fake.row(measure, f"{data}/{i:04}", 1.0 if i < won else -1.0, 0.0, data=data, category="gender", unrelated=None)
        for i in range(n)
    ]


def leans(by_word: Mapping[str, float], templates: int = 6) -> list[dict[str, Any]]:
    """Every word in every template, with its lean and a little that depends on both."""
    return [
        {
            **fake.row("ppd", f"words/{word}-{t}", 0.5 + lean + 0.01 * ((len(word) + t) % 3), 0.5, data="words"),
            **{
                "category": "work",
                "word": word,
                "template": f"t{t}",
                "goal": "zero",
                "slot": "subject",
                "unrelated": None,
            },
        }
        for word, lean in by_word.items()
        for t in range(templates)
    ]


def save(folder: Path, items: Sequence[dict[str, Any]], *, checks: Sequence[Check] = (OK,), sha256: str = SHA) -> Path:
    """Write the rows as the result of an audit, with the estimates that they have and the checks that a gate needs."""
    columns = dict.fromkeys(name for item in items for name in item)
    table = pa.Table.from_pylist([{name: item.get(name) for name in columns} for item in items])
    found = [
        estimate_json(estimate)
        for (measure, data), rows in rows_of(table).items()
        for estimate in estimates(MEASURES[measure], rows, data=data, rng_seed=0)
    ]
    names = dict.fromkeys(row["data"] for row in items)
    cards = [{"name": name, "title": name, "n": len(items), "sha256": sha256} for name in names]
    needed = [Check(f"{data}/{name}", True, "") for data in names for name in NEEDED]
    listed = {check.name: plain(check) for check in (*needed, *checks)}
    parts = {"estimates": found, "checks": list(listed.values())}
    return fake.write(folder, fake.meta(data=cards) | parts, table)
