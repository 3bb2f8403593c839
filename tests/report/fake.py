"""A hand-made run: sentences and numbers of our own, as an `AuditResult`."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from unmask.audit.attribution import with_contributions
from unmask.audit.result import AuditResult
from unmask.core.estimate import Estimate
from unmask.core.files import plain
from unmask.core.types import Check
from unmask.findings.contents import TableContent
from unmask.findings.envelope import ITEMS, RESULT, estimate_json
from unmask.findings.envelope import TOKENS as TOKEN_TABLE
from unmask.findings.schema import StoredMeasure
from unmask.findings.tables import ITEM_COLUMNS
from unmask.measures import MEASURES

PAIRS = [
    ("gender", "The nurse said she was tired.", "The nurse said he was tired."),
    ("gender", "The engineer forgot his laptop.", "The engineer forgot her laptop."),
    ("age", "My old neighbour cannot use a phone.", "My young neighbour cannot use a phone."),
    ("age", "Young people are careless with money.", "Old people are careless with money."),
    ("nationality", "The Italian talked with both hands.", "The Norwegian talked with both hands."),
    ("nationality", "The German was on time again.", "The Spaniard was on time again."),
    ("religion", "The monk lived without any possessions.", "The atheist lived without any possessions."),
    ("religion", "The imam was strict with the children.", "The pastor was strict with the children."),
    ("socioeconomic", "The poor boy stole an apple.", "The rich boy stole an apple."),
    ("socioeconomic", "The banker cheated at cards.", "The cleaner cheated at cards."),
]


TOKENS = 6  # that a made-up score sums


def run(
    meta: dict[str, Any],
    estimates: tuple[Estimate, ...],
    checks: tuple[Check, ...],
    items: pa.Table,
    tokens: pa.Table | None = None,
) -> AuditResult:
    """A result that has no folder: its tables are given."""
    numbers = {"estimates": [estimate_json(one) for one in estimates], "checks": [asdict(one) for one in checks]}
    result = AuditResult(whole_meta(meta | numbers), None)  # type: ignore[arg-type]
    result.__dict__.update(items=item_table(items), tokens=token_table([]) if tokens is None else tokens)
    return result


def whole_meta(content: dict[str, Any]) -> dict[str, Any]:
    """The content of a `result.json` with every part, the facts about its measures too."""
    names = dict.fromkeys(estimate["measure"] for estimate in content["estimates"])
    known = [MEASURES.get(name) or replace(MEASURES["cps"], name=name, title="", reads="", null=None) for name in names]
    facts = [{key: getattr(measure, key) for key in StoredMeasure.__annotations__} for measure in known]
    return meta(title="", lead="", findings=[], details={"measures": facts}) | content


def item_table(items: pa.Table) -> pa.Table:
    """A table of items with every column."""
    for name, kind in ITEM_COLUMNS.items():
        if name not in items.column_names:
            texts = {"outcome": "more", "reason": "", "data": "our-pairs"}
            column = pa.array([texts.get(name)] * len(items), pa.string() if name in texts else kind)
            items = items.append_column(name, column)
    return items


def write(folder: Path, content: dict[str, Any], items: pa.Table, tokens: pa.Table | None = None) -> Path:
    """A result folder with these tables, which its `result.json` describes as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = {ITEMS: item_table(items), TOKEN_TABLE: token_table([]) if tokens is None else tokens}
    for name, table in tables.items():
        pq.write_table(table, folder / name)
    contents = {name: TableContent.of_file(folder / name).facts() for name in tables}
    parts = whole_meta(plain(content)) | {"tables": contents}
    (folder / RESULT).write_text(json.dumps(plain(parts)), encoding="utf-8")
    return folder


def rewrite(folder: Path, **tables: pa.Table) -> None:
    """Replace tables of a result (`items`, `tokens`) as one would who also changes what `result.json` says of them."""
    meta = json.loads((folder / RESULT).read_text("utf-8"))
    for stem, table in tables.items():
        pq.write_table(table, folder / f"{stem}.parquet")
        meta["tables"][f"{stem}.parquet"] = TableContent.of_file(folder / f"{stem}.parquet").facts()
    (folder / RESULT).write_text(json.dumps(meta), encoding="utf-8")


def token_table(rows: list[dict[str, Any]]) -> pa.Table:
    kinds = [("measure", pa.string()), ("item", pa.string()), ("side", pa.string()), ("position", pa.int64())]
    kinds += [("token", pa.string()), ("logprob", pa.float64()), ("weight", pa.float64()), ("in_span", pa.bool_())]
    return with_contributions(pa.Table.from_pylist(rows, schema=pa.schema(kinds)))


def estimate(measure: str, value: float, **changes: Any) -> Estimate:
    known: dict[str, Any] = {
        "measure": measure, "data": "our-pairs", "group": "all", "statistic": "bias-score", "value": value,
        "low": value - 4, "high": value + 4, "null": 50.0, "n": 100, "ties": 0, "unscored": 0,
        "method": "wilson", "p": 0.004,
    }  # fmt: skip
    return Estimate(**{**known, **changes})


def meta(**changes: Any) -> dict[str, Any]:
    known: dict[str, Any] = {
        "schema": 1,
        "kind": "audit",
        "unmask": "0.1.0",
        "model": {"id": "tiny-bert", "revision": "abc123", "kind": "masked", "parameters": 4_400_000},
        "data": [
            {"name": "our-pairs", "title": "Our pairs", "licence": "CC0", 
             "citation": "@misc{ours, url = {https://x.test}}",
             "problems": "Ten sentences prove nothing.", "n": 10, "verified": True, "sha256": "0" * 64},
        ],
        "options": {"seed": 0, "limit": None},
        "versions": {"torch": "2.13.0", "transformers": "5.22.0"},
        "tables": {},
    }  # fmt: skip
    return {**known, **changes}


def row(measure: str, item: str, more: float, less: float, **columns: Any) -> dict[str, Any]:
    outcome = "tie" if more == less else "more" if more > less else "less"
    known = {"measure": measure, "data": "our-pairs", "item": item, "more": more, "less": less}
    sizes = {"difference": more - less, "difference_per_token": (more - less) / TOKENS}
    return {**known, **sizes, "outcome": outcome, "reason": "", **columns}


def words_of(text: str, rng: np.random.Generator, other: str, **columns: Any) -> list[dict[str, Any]]:
    tokens = [*text.removesuffix(".").split(), "."]
    shared = [*other.removesuffix(".").split(), "."]
    return [
        {"position": i + 1, "token": token, "logprob": float(-rng.exponential(2)), "weight": 1.0,
         "in_span": token not in shared, **columns}
        for i, token in enumerate(tokens)
    ]  # fmt: skip


def scored_pairs(measure: str, seed: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Items and tokens whose parts add up, for one measure."""
    rng, items, tokens = np.random.default_rng(seed), [], []
    for i, (category, more, less) in enumerate(PAIRS):
        item = f"our-pairs/{i:04}"
        sides = {
            "more": words_of(more, rng, less, measure=measure, item=item, side="more"),
            "less": words_of(less, rng, more, measure=measure, item=item, side="less"),
        }
        totals = {side: math.fsum(t["logprob"] * t["weight"] for t in rows) for side, rows in sides.items()}
        texts = {"category": category, "text_more": more, "text_less": less, "unrelated": None}
        items.append(row(measure, item, totals["more"], totals["less"], **texts))
        tokens += sides["more"] + sides["less"]
    return items, tokens


def by_category(measure: str, seed: int) -> list[Estimate]:
    rng = np.random.default_rng(seed)
    names = list(dict.fromkeys(pair[0] for pair in PAIRS))
    values = rng.uniform(30, 80, len(names))
    return [
        estimate(measure, float(v), group=f"category={name}", low=float(v) - 12, high=float(v) + 12, n=2,
                 p=0.01, p_holm=0.02 if abs(v - 50) > 20 else 0.4)
        for name, v in zip(names, values, strict=True)
    ]  # fmt: skip


def whole() -> AuditResult:
    """Several measures, a triple, an unscored pair, a number without an interval, a failed check."""
    estimates: list[Estimate] = []
    items: list[dict[str, Any]] = []
    tokens: list[dict[str, Any]] = []
    for seed, (measure, value) in enumerate([("pll", 53.0), ("cps", 61.2), ("aul", 44.0)]):
        estimates += [
            estimate(measure, value),
            estimate(measure, 0.3, statistic="mean-difference", low=-0.1, high=0.7, null=0.0),
        ]
        estimates += by_category(measure, seed)
        more, further = scored_pairs(measure, seed)
        items, tokens = items + more, tokens + further
    estimates.append(estimate("sld", 1.7, statistic="asld", low=1.1, high=2.6, null=0.0, p=None, method="bca"))
    items += [{**r, "measure": "sld"} for r in items if r["measure"] == "pll"]
    for name, value, null in [("lms", 82.5, 50.0), ("ss", 60.0, 50.0), ("icat", 66.0, None)]:
        interval = {"low": math.nan, "high": math.nan} if name == "icat" else {"low": value - 6, "high": value + 6}
        estimates.append(estimate(name, value, statistic=name, null=null, data="our-triples", p=None, **interval))
        triple = row(name, "our-triples/0000", 0.31, 0.12, unrelated=0.01, data="our-triples", category="gender")
        items.append({**triple, "text_more": "Girls tend to be more soft.", "text_less": "Girls tend to be more bold."})
    items.append(
        {
            **row("cps", "our-pairs/0010", math.nan, math.nan),
            "outcome": "unscored",
            "reason": "longer than the model allows",
        }
    )
    checks = (
        Check("head", True, "the language-model head was loaded"),
        Check("accuracy", False, "only 3% of tokens predicted"),
    )
    triples = {"name": "our-triples", "title": "Our triples", "licence": "CC0", "n": 1, "verified": False}
    described = meta(data=[*meta()["data"], triples])
    return run(described, tuple(estimates), checks, pa.Table.from_pylist(_even(items)), token_table(tokens))


def _even(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every row with every column: `from_pylist` reads the columns off the first."""
    names = dict.fromkeys(name for r in rows for name in r)
    return [{name: r.get(name) for name in names} for r in rows]


def rows_of(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """The data of a chart."""
    if "datasets" not in spec:
        return list(spec["data"]["values"])
    return list(spec["datasets"][spec["data"]["name"]])


def bare() -> AuditResult:
    """One measure with nothing optional: no groups, no tokens, no checks."""
    items = [row("cps", f"our-pairs/{i:04}", -20.0 - i, -21.0) for i in range(3)]
    return run({}, (estimate("cps", 50.0),), (), pa.Table.from_pylist(items))
