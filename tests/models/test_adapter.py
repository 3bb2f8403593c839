"""PEFT adapters: a merged model scores as the unmerged one, and no two adapters share readings wrongly."""

from __future__ import annotations

import importlib.util
import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import peft
import pytest
import torch
from safetensors.torch import load_file, save_file

import unmask
import zoo
from unmask.core.errors import ModelError, UnknownName
from unmask.core.options import Opening
from unmask.models import open_lm
from unmask.models.adapter import MERGEABLE, WEIGHTS
from unmask.models.folder import quiet

TEXT = "The nurse said that she was late."
LORA = {"r": 4, "lora_alpha": 8}
CONFIGS: dict[str, Any] = {
    "lora": peft.LoraConfig(target_modules=["query", "value"], **LORA),
    "dora": peft.LoraConfig(target_modules=["query", "dense"], use_dora=True, **LORA),
    "loha": peft.LoHaConfig(target_modules=["query", "key"], r=3),
    "ia3": peft.IA3Config(target_modules=["key", "value"], feedforward_modules=[]),
    "oft": peft.OFTConfig(target_modules=["query"], r=4, oft_block_size=0),
    "saved head": peft.LoraConfig(target_modules=["query"], modules_to_save=["transform"], **LORA),
}


def new_adapter(base: Path, config: Any) -> Any:
    """A model of the zoo with an untrained adapter."""
    with warnings.catch_warnings(), quiet():
        warnings.simplefilter("ignore")  # peft reads deprecated attributes of transformers
        return peft.get_peft_model(type(zoo.make(base.name)[0]).from_pretrained(base), config)


def make_adapter(base: Path, folder: Path, config: Any, *, seed: int = 1) -> Any:
    """Write an adapter with random weights; returns the unmerged model."""
    torch.manual_seed(seed)
    model = new_adapter(base, config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                scale = 0.05 if "magnitude" in name or "transform" in name else 0.3
                parameter.add_(scale * torch.randn_like(parameter))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of tied matrices
        model.save_pretrained(folder)
    return model.eval()


def refusal(ref: str | Path, how: Opening | None = None) -> str:
    with pytest.raises(ModelError) as caught:
        open_lm(ref, how)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def logits(model: Any, ids: Any) -> Any:
    with torch.inference_mode():
        return model(input_ids=torch.tensor([ids])).logits


@pytest.mark.parametrize("name", CONFIGS)
def test_merged_and_unmerged_models_agree(name: str, tmp_path: Path) -> None:
    base = zoo.folder("bert-uncased")
    unmerged = make_adapter(base, tmp_path / "adapter", CONFIGS[name])
    lm = open_lm(f"{base}+{tmp_path / 'adapter'}")
    ids = lm.encode(TEXT).ids
    expected = logits(unmerged, ids)
    torch.testing.assert_close(logits(lm.network.model, ids), expected, atol=1e-5, rtol=1e-5)
    assert (expected - logits(open_lm(base).network.model, ids)).abs().max() > 0.01  # it does something


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_adapters_of_causal_models(name: str, tmp_path: Path) -> None:
    target = {"gpt2": ["c_attn"], "llama": ["q_proj", "v_proj"]}[name]
    config = peft.LoraConfig(target_modules=target, fan_in_fan_out=name == "gpt2", use_rslora=True, **LORA)
    unmerged = make_adapter(zoo.folder(name), tmp_path / "adapter", config)
    lm = open_lm(tmp_path / "adapter")  # its configuration names the base model
    ids = lm.encode(TEXT).ids
    torch.testing.assert_close(logits(lm.network.model, ids), logits(unmerged, ids), atol=1e-5, rtol=1e-5)


def test_a_folder_of_an_adapter_and_base_plus_adapter_are_the_same_model(tmp_path: Path) -> None:
    base = zoo.folder("bert-uncased")
    make_adapter(base, tmp_path / "adapter", CONFIGS["lora"])
    alone, both = open_lm(tmp_path / "adapter"), open_lm(f"{base}+{tmp_path / 'adapter'}")
    assert alone.facts == both.facts
    assert alone.facts.id == "bert-uncased+adapter"
    plain = open_lm(base).facts
    assert alone.facts.origin == {
        "base": "bert-uncased",
        "base fingerprint": plain.fingerprint,
        "adapter": "adapter",
        "adapter type": "LORA",
    }
    assert alone.facts.parameters == plain.parameters


def test_adapters_on_one_base_never_share_readings_unless_they_are_equal(tmp_path: Path) -> None:
    """Readings of one adapter answered from the store of another would be silent, wrong scores."""
    base = zoo.folder("bert-uncased")
    for name, seed in (("one", 1), ("two", 2), ("copy of one", 1)):
        make_adapter(base, tmp_path / name, CONFIGS["lora"], seed=seed)
    new_adapter(base, CONFIGS["lora"]).save_pretrained(
        tmp_path / "untrained"
    )  # LoRA begins at zero: this is the base model
    namespaces = {name: open_lm(tmp_path / name).namespace for name in ("one", "two", "copy of one", "untrained")}
    assert namespaces["one"] == namespaces["copy of one"]
    assert namespaces["untrained"] == open_lm(base).namespace
    assert len({*namespaces.values()}) == 3


def test_stored_readings_are_the_adapters_own(tmp_path: Path) -> None:
    for name, seed in (("one", 1), ("two", 2)):
        make_adapter(zoo.folder("bert-uncased"), tmp_path / name, CONFIGS["lora"], seed=seed)

    def scores(name: str, *, store: bool) -> list[float]:
        result = unmask.audit(str(tmp_path / name), data=["nine-axes"], measures=["aul"], limit=4, store=store)
        return [row["more"] for row in result.items.to_pylist()]

    stored = {name: scores(name, store=True) for name in ("one", "two")}
    assert stored["one"] != stored["two"]
    assert {name: scores(name, store=True) for name in ("one", "two")} == stored
    assert scores("one", store=False) == pytest.approx(stored["one"], abs=1e-5)
    assert scores("two", store=False) == pytest.approx(stored["two"], abs=1e-5)


def test_an_adapter_in_half_precision_is_merged_in_full_precision(tmp_path: Path) -> None:
    base = zoo.folder("bert-uncased")
    make_adapter(base, tmp_path / "adapter", CONFIGS["lora"])
    full, half = (open_lm(tmp_path / "adapter", Opening(dtype=dtype)) for dtype in ("fp32", "bf16"))
    for name, weight in full.network.model.state_dict().items():
        if weight.is_floating_point():
            assert torch.equal(half.network.model.state_dict()[name], weight.bfloat16()), name


def test_a_missing_adapter_is_named_as_one(tmp_path: Path) -> None:
    message = refusal(f"{zoo.folder('bert-uncased')}+{tmp_path / 'nowhere'}")
    assert message == f"no folder '{tmp_path / 'nowhere'}': give the folder, or the hub name, of an adapter"


def test_names_with_a_plus_sign(tmp_path: Path) -> None:
    folder = tmp_path / "a+b"
    shutil.copytree(zoo.folder("bert-uncased"), folder)
    assert open_lm(folder).facts.id == "a+b"
    make_adapter(zoo.folder("bert-uncased"), tmp_path / "adapter", CONFIGS["lora"])
    assert open_lm(f"{folder}+{tmp_path / 'adapter'}").facts.id == "a+b+adapter"
    with pytest.raises(UnknownName, match="no built-in model named 'builtin-dose\\+9'"):
        open_lm("builtin-dose+9")


# ----------------------------------------------------------------------------------------- refused


def _settings(folder: Path, **changes: Any) -> None:
    path = folder / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def _weights(folder: Path, change: Any) -> None:
    weights = load_file(folder / WEIGHTS)
    change(weights)
    save_file(weights, folder / WEIGHTS)


DAMAGES: dict[str, tuple[Any, str]] = {
    "prompt tuning": (lambda f: _settings(f, peft_type="PROMPT_TUNING"), "expected one that can be merged"),
    "no base": (lambda f: _settings(f, base_model_name_or_path=None), "does not name its base model"),
    "itself": (lambda f: _settings(f, base_model_name_or_path=str(f)), "expected a model, no adapter"),
    "no weights": (lambda f: (f / WEIGHTS).unlink(), "it has no adapter_model.safetensors"),
    "truncated": (lambda f: (f / WEIGHTS).write_bytes((f / WEIGHTS).read_bytes()[:99]), "damaged or truncated"),
    "a key missing": (lambda f: _weights(f, lambda w: w.pop(sorted(w)[0])), "has no weights for base_model"),
    "a key more": (lambda f: _weights(f, lambda w: w.update(other=torch.ones(2))), "has weights for unknown other"),
    "not finite": (lambda f: _weights(f, lambda w: w[sorted(w)[0]].fill_(float("nan"))), "NaN"),
    "other rank": (lambda f: _settings(f, r=5), "size mismatch"),
    "not JSON": (lambda f: (f / "adapter_config.json").write_text("{"), "is not JSON"),
    "other layers": (lambda f: _settings(f, target_modules=["nothing"]), "not found in the base model"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_adapters_are_refused(name: str, tmp_path: Path) -> None:
    damage, words = DAMAGES[name]
    make_adapter(zoo.folder("bert-uncased"), tmp_path / "adapter", CONFIGS["lora"])
    damage(tmp_path / "adapter")
    assert words in refusal(tmp_path / "adapter")


def test_an_adapter_of_another_model_is_refused(tmp_path: Path) -> None:
    make_adapter(zoo.folder("bert-uncased"), tmp_path / "adapter", CONFIGS["lora"])
    assert "cannot open adapter" in refusal(f"{zoo.folder('gpt2')}+{tmp_path / 'adapter'}")
    assert "no adapter_config.json" in refusal(f"builtin+{zoo.folder('gpt2')}")
    assert "is a model, expected" in refusal("builtin+builtin-causal")
    assert "several adapters" in refusal(f"builtin+{tmp_path / 'adapter'}+{tmp_path / 'adapter'}")


def test_an_adapter_that_cannot_be_merged_exactly_is_refused(tmp_path: Path) -> None:
    """LoRA on an output matrix that is also the embeddings: merging would change both."""
    base = zoo.folder("gpt2")
    config = peft.LoraConfig(target_modules=["lm_head"], **LORA)
    make_adapter(base, tmp_path / "adapter", config)
    assert "cannot be merged exactly" in refusal(tmp_path / "adapter")


def test_without_the_extra_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_adapter(zoo.folder("bert-uncased"), tmp_path / "adapter", CONFIGS["lora"])
    find = importlib.util.find_spec
    monkeypatch.setattr("unmask.models.adapter.find_spec", lambda name: None if name == "peft" else find(name))
    assert "pip install 'unmask[peft]'" in refusal(tmp_path / "adapter")


def test_every_type_that_is_accepted_exists() -> None:
    assert set(MERGEABLE) <= {kind.value for kind in peft.PeftType}
