"""`--lora`: the adapter that was trained gives the merged checkpoint, and nothing else was trained."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import torch

import unmask
import zoo
from mitigate.tiny import CORPUS, make_options
from unmask.core.errors import DataError, ModelError, UnknownName
from unmask.mitigate import find
from unmask.mitigate.checkpoint import make_checkpoint
from unmask.models import Engine, open_lm

IDS = torch.tensor([[5, 6, 7, 8, 9]])


def logits(folder: Path | str) -> Any:
    with torch.inference_mode():
        return open_lm(folder).network.model(input_ids=IDS).logits


@pytest.mark.thorough
@pytest.mark.parametrize(("method", "name"), [("cda", "bert-uncased"), ("cds", "gpt2"), ("aul-loss", "bert-uncased")])
def test_the_adapter_on_its_base_is_the_checkpoint(method: str, name: str, tmp_path: Path) -> None:
    base, out = zoo.folder(name), tmp_path / "out"
    made = make_checkpoint(find(method), Engine(open_lm(base)), CORPUS, out, make_options(method, lora=True, rank=2))
    assert made.details["outcome"]["lora"]["rank"] == 2
    assert 0 < made.details["outcome"]["lora"]["weights"] < made.details["changed"]["of"] / 2
    assert sorted(path.name for path in (out / "adapter").iterdir()) == [
        "adapter_config.json",
        "adapter_model.safetensors",
    ]
    torch.testing.assert_close(logits(f"{base}+{out / 'adapter'}"), logits(out), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(logits(out / "adapter"), logits(out), atol=1e-5, rtol=1e-5)
    assert (logits(out) - logits(base)).abs().max() > 1e-4
    before, after = (open_lm(ref).network.model for ref in (base, out))
    assert torch.equal(before.get_input_embeddings().weight, after.get_input_embeddings().weight)


@pytest.mark.thorough
def test_the_same_seed_gives_the_same_adapter(tmp_path: Path) -> None:
    for name in ("a", "b"):
        torch.manual_seed(ord(name))  # the state of torch's generator must not matter
        engine = Engine(open_lm(zoo.folder("bert-uncased")))
        make_checkpoint(find("cda"), engine, CORPUS, tmp_path / name, make_options(lora=True, rank=2))
    first, second = ((tmp_path / name / "adapter" / "adapter_model.safetensors").read_bytes() for name in "ab")
    assert first == second


def test_misuse_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(open_lm(zoo.folder("bert-uncased")))
    for method in ("dropout", "projection"):
        with pytest.raises(UnknownName, match="no option named 'lora'"):
            unmask.mitigate(method, zoo.folder("bert-uncased"), lora=True)
    with pytest.raises(DataError, match="rank is 0, expected at least 1"):
        make_options(lora=True, rank=0)
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        "unmask.mitigate.checkpoint.find_spec", lambda name: None if name == "peft" else find_spec(name)
    )
    with pytest.raises(ModelError, match=r"pip install 'unmask\[peft\]'"):
        make_checkpoint(find("cda"), engine, CORPUS, tmp_path / "out", make_options(lora=True))
