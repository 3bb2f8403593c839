"""GEST's scores by the authors' formulas: another contrast would be another benchmark under its name."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

import reference
import unmask
import zoo
from unmask import data


def differences(model: str, name: str, measure: str, out: Path) -> dict[str, float]:
    """The differences of an audit, by item."""
    result = unmask.audit(
        zoo.folder(model), data=[data.load(name, data_dir=zoo.MINIATURE)], measures=[measure], out=out, limit=24
    )
    return dict(zip(result.items["item"].to_pylist(), result.items["difference"].to_pylist(), strict=True))


@torch.inference_mode()
def published_masked(model: str, first: str, second: str) -> float:
    """The mean of log10 P over the tokens of `first` that differ from `second`, all of them masked."""
    network, tokenizer = reference.load(zoo.folder(model))
    ids, others = (tokenizer(text, return_tensors="pt")["input_ids"][0] for text in (first, second))
    changed = [place for place, (a, b) in enumerate(zip(ids, others, strict=True)) if a != b]
    masked = ids.clone()
    masked[changed] = tokenizer.mask_token_id
    probabilities = network(masked[None]).logits[0].softmax(-1)
    return float(torch.log10(probabilities[changed, ids[changed]]).mean())


@torch.inference_mode()
def published_causal(model: str, text: str, man: str, woman: str) -> float:
    """log10 P of the one next word minus that of the other; a begin-of-text token in front, as `ll` has it."""
    network, tokenizer = reference.load(zoo.folder(model))
    words = [tokenizer(f"{text} {word}")["input_ids"] for word in (man, woman)]
    before = tokenizer(text)["input_ids"]
    assert all(ids[: len(before)] == before and len(ids) == len(before) + 1 for ids in words)
    probabilities = network(torch.tensor([[tokenizer.bos_token_id, *before]])).logits[0, -1].softmax(-1)
    return float(torch.log10(probabilities[words[0][-1]]) - torch.log10(probabilities[words[1][-1]]))


@pytest.mark.parametrize("model", ["bert-uncased", "roberta"])
def test_masked_models(model: str, tmp_path: Path) -> None:
    found = differences(model, "gest", "sss-diagonal", tmp_path / "run")
    pairs = {item.id: item for item in data.load("gest", data_dir=zoo.MINIATURE).items}
    assert len(found) == 24
    for name, difference in found.items():
        more, less = pairs[name].more, pairs[name].less
        theirs = published_masked(model, more, less) - published_masked(model, less, more)
        assert difference == pytest.approx(theirs * math.log(10), abs=1e-4)


def test_causal_models(tmp_path: Path) -> None:
    found = differences("gpt2", "gest-next-word", "ll", tmp_path / "run")
    pairs = {item.id: item for item in data.load("gest-next-word", data_dir=zoo.MINIATURE).items}
    for name, difference in found.items():
        text, more = pairs[name].more.rsplit(" ", 1)
        less = pairs[name].less.rsplit(" ", 1)[1]
        assert difference == pytest.approx(published_causal("gpt2", text, more, less) * math.log(10), abs=1e-4)
