"""Every measure on every architecture equals a slow, unbatched, independent reference, item by item.

On pairs, triples and next-sentence items of our own (`tests/miniature`) and on the built-in templates; with
`$UNMASK_DATA_DIR` on the published CrowS-Pairs and StereoSet too.

Sums agree within 1e-4, means within 1e-5, AULA within 1e-6; token decisions are equal.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reference
import unmask
import zoo
from conftest import QUICK
from unmask import data as datasets
from unmask.core.types import Dataset
from unmask.measures import MEASURES

# Rows by dataset, hard cases first. On the published files they are the rows known to be odd.
ROWS = {
    "miniature": {
        "crows-pairs": (*range(16), 20, 40, 60, 80),
        "stereoset": (*range(10), 12, 20),
        "stereoset-intersentence": (0, 1, 3),
        "pronoun-templates": (0, 350, 700, 1050, 1400, 1750, 2100, 2312, 2500, 2700, 2900),
    },
    "published": {
        "crows-pairs": (0, 129, 231, 395, 507, 617, 833, 863, 899, 1101, 1129, 1442, 2, 4),
        "stereoset": (0, 950, 1139, 1158, 1809, 1933, 2054, 7),
        "stereoset-intersentence": (0, 1, 2),
    },
}
ARCHITECTURES = (*zoo.NAMES_MASKED, *zoo.NAMES_CAUSAL)
ROWS_OF_OTHERS = 7  # of each dataset, the hard cases, for architectures beyond those of `make fast`; `make slow`: all
TOLERANCES = {"aula": 1e-6, "aul": 1e-5, "aula-normalised": 1e-5, "all-masked": 1e-5, "sss": 1e-5}
TOLERANCES |= {"ppd": 2e-5, "ppd-normalised": 2e-5, "sss-diagonal": 1e-5, "crows-bias-bench": 1e-5} | {
    f"{name}{tail}": 1e-6 for name in ("lms", "ss", "icat") for tail in ("", "-spaced")
}


def part(name: str, data_dir: Path) -> Dataset:
    """Some rows of a dataset."""
    rows = ROWS["miniature" if data_dir == zoo.MINIATURE else "published"][name]
    whole = datasets.load(name, data_dir=data_dir)
    return replace(whole, items=tuple(whole.items[row] for row in rows))


def parts(data_dir: Path, most: int | None = None) -> list[Dataset]:
    """The rows of all datasets chosen, or the first of them."""
    whole = [part(name, data_dir) for name in ROWS["miniature" if data_dir == zoo.MINIATURE else "published"]]
    return [replace(data, items=data.items[:most]) for data in whole]


def fitting(architecture: str, data_dir: Path) -> list[str]:
    kind = "masked" if architecture in zoo.NAMES_MASKED else "causal"
    templates = data_dir == zoo.MINIATURE  # built in, so asked once
    return [
        name
        for name, measure in MEASURES.items()
        if kind in measure.kinds and (templates or not {"slot", "word"} & set(measure.needs))
    ]


@cache
def audited(
    architecture: str, data_dir: Path, most: int | None = None, tokens: int | None = None
) -> list[dict[str, Any]]:
    """All measures on all slices in one audit."""
    options = unmask.Options(store=False, tokens=tokens)
    result = unmask.audit(
        zoo.folder(architecture), data=parts(data_dir, most), measures=fitting(architecture, data_dir), options=options
    )
    return list(result.items.to_pylist())


@cache
def opened(architecture: str) -> tuple[Any, Any]:
    return reference.load(zoo.folder(architecture))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_score_equals_the_reference(architecture: str, data_dir: Path) -> None:
    some = data_dir == zoo.MINIATURE and architecture not in QUICK
    compare_scores(architecture, data_dir, ROWS_OF_OTHERS if some else None)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", [name for name in ARCHITECTURES if name not in QUICK])
def test_every_score_of_all_rows_equals_the_reference(architecture: str) -> None:
    compare_scores(architecture, zoo.MINIATURE, None)


def compare_scores(architecture: str, data_dir: Path, most: int | None) -> None:
    model, tokenizer = opened(architecture)
    items = {item.id: item for data in parts(data_dir, most) for item in data.items}
    known: dict[tuple[str, str], Any] = {}
    compared = 0
    for row in sorted(audited(architecture, data_dir, most), key=lambda row: row["item"]):
        if row["data"] == "stereoset-intersentence" and "unrelated" not in MEASURES[row["measure"]].needs:
            continue  # pair measures on whole other sentences: covered on the other two
        name = row["measure"].replace("lms", "ss").replace("icat", "ss").replace("cps-exact", "cps")
        if (name, row["item"]) not in known:
            known[name, row["item"]] = reference.reference(name, model, tokenizer, items[row["item"]])
        expected = known[name, row["item"]]
        if expected is None:
            assert row["outcome"] == "unscored", (row["measure"], row["item"])
            assert row["reason"]
            continue
        assert row["outcome"] != "unscored", (row["measure"], row["item"], row["reason"])
        for side, value in expected.items():
            tolerance = TOLERANCES.get(row["measure"], 1e-4)
            assert row[side] == pytest.approx(value, abs=tolerance, rel=0), (row["measure"], row["item"], side)
        compared += 1
    assert compared > (10 if most is None else ROWS_OF_OTHERS) * len(fitting(architecture, data_dir))
    assert {row["measure"] for row in audited(architecture, data_dir, most)} == set(fitting(architecture, data_dir))


@pytest.mark.thorough
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("tokens", [200, pytest.param(700, marks=pytest.mark.slow)])
def test_the_batch_budget_changes_nothing(architecture: str, tokens: int, data_dir: Path) -> None:
    usual, small = (audited(architecture, data_dir, 4, budget) for budget in (None, tokens))
    assert {row["measure"] for row in usual} == set(fitting(architecture, data_dir))
    for one, other in zip(usual, small, strict=True):
        assert (one["item"], one["measure"]) == (other["item"], other["measure"])
        for side in ("more", "less", "unrelated"):
            if one[side] is not None:
                assert other[side] == pytest.approx(one[side], abs=2e-5, rel=0)
        if one["difference"] is not None and abs(one["difference"]) > 2e-3:
            assert one["outcome"] == other["outcome"]


@pytest.mark.thorough
@pytest.mark.parametrize("architecture", ["bert-uncased", "roberta", "gpt2"])
def test_the_order_of_items_changes_nothing(architecture: str, data_dir: Path) -> None:
    whole = part("crows-pairs", data_dir)
    backwards = replace(whole, items=whole.items[::-1])
    options = unmask.Options(store=False)
    there = unmask.audit(zoo.folder(architecture), data=whole, options=options).to_pandas()
    back = unmask.audit(zoo.folder(architecture), data=backwards, options=options).to_pandas()
    keys = ["measure", "item"]
    there, back = (one.sort_values(keys, ignore_index=True) for one in (there, back))
    np.testing.assert_allclose(there["more"], back["more"], atol=2e-5, rtol=0)
    assert (there["outcome"] == back["outcome"]).all()


@pytest.mark.thorough
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_token_decisions_are_exact(architecture: str, data_dir: Path) -> None:
    """Is the token the model's first guess? Masked alone and unmasked, or as the next token."""
    from unmask.audit.checks import Evidence
    from unmask.audit.scoring import score_items
    from unmask.models import Engine, open_lm

    model, tokenizer = opened(architecture)
    data = part("crows-pairs", data_dir)
    data = replace(data, items=data.items[:6])
    names = ("pll", "aul") if architecture in zoo.NAMES_MASKED else ("ll",)
    evidence = Evidence()
    measures = [MEASURES[name] for name in names]
    engine = Engine(open_lm(zoo.folder(architecture)))
    for _ in score_items("crows-pairs", data.items, measures, engine, evidence=evidence, progress=lambda _: None):
        pass
    if architecture in zoo.NAMES_CAUSAL:
        assert evidence.reads["causal"] > 0
        return
    both = [text for item in data.items for text in (item.more, item.less)]
    texts = {tuple(tokenizer(text)["input_ids"]): text for text in both}.values()  # equal inputs count once
    for how, masked in (("masked", True), ("unmasked", False)):
        expected = [
            hit for text in texts for hit in reference.reference_decision(model, tokenizer, text, masked=masked)
        ]
        assert evidence.reads[how] == len(expected)
        assert evidence.hits[how] == sum(expected)
