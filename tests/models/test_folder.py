"""Model folders that are damaged or hostile are refused in one line that names the cause; sound ones are loaded."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import zoo
from unmask.core.errors import ModelError
from unmask.core.options import Opening
from unmask.models import open_lm
from unmask.models.classifier import open_classifier
from unmask.models.eraser import Eraser, save_eraser
from unmask.models.loading import wrap_lm

INDEX = "model.safetensors.index.json"


def refusal(folder: Path, how: Opening | None = None) -> str:
    """The error with which a model is refused."""
    with pytest.raises(ModelError) as caught:
        open_lm(folder, how)
    message = str(caught.value)
    assert "above report" not in message
    assert "network" not in message
    assert "offline" not in message
    return message


def copy(name: str, folder: Path) -> Path:
    """A copy of a zoo model that may be damaged."""
    return Path(shutil.copytree(zoo.folder(name), folder / "model"))


def settings(folder: Path, file: str = "config.json", **changed: Any) -> None:
    """Change entries of a JSON file."""
    path = folder / file
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **changed}), encoding="utf-8")


def text(folder: Path, file: str, content: str) -> None:
    """Replace a file."""
    (folder / file).write_text(content, encoding="utf-8")


def shard(folder: Path, *names: str) -> None:
    """Move the weights into files of these names, with an index."""
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    places = {}
    for number, name in enumerate(names):
        part = {key: weights[key] for key in sorted(weights)[number :: len(names)]}
        places |= dict.fromkeys(part, name)
        target = folder / name
        if name.endswith(".bin"):
            torch.save(part, target)
        else:
            save_file(part, target, metadata={"format": "pt"})
    text(folder, INDEX, json.dumps({"metadata": {}, "weight_map": places}))


def link_outside(folder: Path) -> None:
    """Replace a shard by a link to a file elsewhere."""
    shard(folder, "a.safetensors")
    (folder / "a.safetensors").rename(folder.parent / "elsewhere.safetensors")
    (folder / "a.safetensors").symlink_to(folder.parent / "elsewhere.safetensors")


def other_index(folder: Path, **changed: Any) -> None:
    """An index with entries of its own."""
    shard(folder, "a.safetensors")
    settings(folder, INDEX, **changed)


def no_tokenizer(folder: Path) -> None:
    """Remove the tokenizer's files."""
    for path in folder.glob("tokenizer*"):
        path.unlink()


def eraser(folder: Path, tensors: dict[str, torch.Tensor] | None = None, **facts: Any) -> None:
    """Write the file of an eraser."""
    known = {"schema": "1", "method": "projection", "layer": -1, "about": ""} | facts
    described = json.dumps({key: value for key, value in known.items() if value is not None})
    save_file(tensors or {"removed": torch.eye(32)[:2]}, folder / "eraser.safetensors", metadata={"unmask": described})


# name: what is done to a BERT, and words of the refusal
DAMAGED: dict[str, tuple[Callable[[Path], object], str]] = {
    # the configuration
    "not JSON": (lambda f: text(f, "config.json", "{"), "config.json is not JSON"),
    "a list": (lambda f: text(f, "config.json", "[]"), "the content is []: input should be a valid dictionary"),
    "deep": (lambda f: text(f, "config.json", "[" * 10**5), "nested too deeply"),
    "a folder": (lambda f: [(f / "config.json").unlink(), (f / "config.json").mkdir()], "has no config.json"),
    "positions as text": (lambda f: settings(f, max_position_embeddings="x"), "max_position_embeddings is 'x'"),
    "a million layers": (lambda f: settings(f, num_hidden_layers=10**6), "expected an integer from 1 to 1,000"),
    "no layers": (lambda f: settings(f, num_hidden_layers=0), "num_hidden_layers is 0, expected an integer from 1"),
    "layers true": (lambda f: settings(f, num_hidden_layers=True), "num_hidden_layers is True"),
    "a fraction": (lambda f: settings(f, hidden_size=32.5), "hidden_size is 32.5"),
    "negative vocabulary": (lambda f: settings(f, vocab_size=-1), "vocab_size is -1"),
    "a nested size": (lambda f: settings(f, text_config={"n_layer": 10**6}), "n_layer is 1000000"),
    "labels": (lambda f: settings(f, num_labels=10**9), "num_labels is 1000000000"),
    "a huge vocabulary": (lambda f: settings(f, vocab_size=10**8), "belong to different models"),
    "many positions": (lambda f: settings(f, max_position_embeddings=10**9), "belong to different models"),
    "heads that do not divide": (lambda f: settings(f, num_attention_heads=5), "multiple of the number of attention"),
    "unknown activation": (
        lambda f: settings(f, hidden_act="nothing"),
        "cannot open model, its config.json: KeyError 'nothing'",
    ),
    "activation of a wrong type": (lambda f: settings(f, hidden_act=7), "field 'hidden_act'"),
    "norm as text": (lambda f: settings(f, layer_norm_eps="x"), "'layer_norm_eps' expected float"),
    "padding outside": (lambda f: settings(f, pad_token_id=10**6), "Padding_idx must be within num_embeddings"),
    "chunks that do not divide": (lambda f: settings(f, chunk_size_feed_forward=7), "cannot open model: "),
    "unknown type": (lambda f: settings(f, model_type="nothing"), "model type `nothing`"),
    "type a number": (lambda f: settings(f, model_type=5), "model_type is 5"),
    "architectures a text": (lambda f: settings(f, architectures="BertForMaskedLM"), "architectures is 'BertForM"),
    "code of the hub": (lambda f: settings(f, attn_implementation="evil/kernel"), "asks for code from the hub"),
    "own code": (lambda f: settings(f, model_type="x", auto_map={"AutoConfig": "evil.Evil"}), "trust_remote_code"),
    "named pickle": (lambda f: settings(f, transformers_weights="adapter_model.bin"), "names its weights"),
    "an adapter": (lambda f: text(f, "adapter_config.json", "{}"), "open MODEL+ADAPTER"),
    "other shapes": (lambda f: settings(f, intermediate_size=64), "intermediate.dense.bias (48, expected 64)"),
    "fewer layers": (
        lambda f: settings(f, num_hidden_layers=1),
        "weights of layers that its config.json does not have: encoder.layer.1, encoder.layer.2;",
    ),
    "more layers": (lambda f: settings(f, num_hidden_layers=4), "no weights for bert.encoder.layer.3"),
    # weights and their index
    "no weights": (lambda f: (f / "model.safetensors").unlink(), "has no model.safetensors"),
    "empty weights": (lambda f: (f / "model.safetensors").write_bytes(b""), "damaged or truncated"),
    "a long header": (lambda f: (f / "model.safetensors").write_bytes(b"\xff" * 100), "damaged or truncated"),
    "no tensors": (lambda f: save_file({}, f / "model.safetensors"), "holds no weights"),
    "pickled shard": (lambda f: shard(f, "x.bin"), "names 'x.bin', expected .safetensors files"),
    "shard elsewhere": (lambda f: shard(f, "../x.safetensors"), "names '../x.safetensors', expected"),
    "shard by its path": (lambda f: other_index(f, weight_map={"a": "/x.safetensors"}), "names '/x.safetensors'"),
    "shard in a folder": (lambda f: other_index(f, weight_map={"a": "b/x.safetensors"}), "names 'b/x.safetensors'"),
    "missing shard": (lambda f: other_index(f, weight_map={"a": "x.safetensors"}), "x.safetensors, which is not there"),
    "linked shard": (link_outside, "is a link to a file outside the folder"),
    "index a list": (lambda f: other_index(f, weight_map=[1]), "weight_map is [1]"),
    "index of numbers": (lambda f: other_index(f, weight_map={"a": 1}), "weight_map.a is 1"),
    "empty index": (lambda f: other_index(f, weight_map={}), "weight_map is {}"),
    # the tokenizer
    "no tokenizer": (no_tokenizer, "has no tokenizer, or one without a vocabulary"),
    "tokenizer of garbage": (lambda f: text(f, "tokenizer.json", '{"a": 1}'), "cannot open model, its tokenizer: "),
    "tokenizer not text": (lambda f: (f / "tokenizer.json").write_bytes(b"\xff\xfe"), "tokenizer.json is not UTF-8"),
    "empty tokenizer": (lambda f: text(f, "tokenizer.json", ""), "tokenizer.json is empty"),
    "settings a list": (lambda f: text(f, "tokenizer_config.json", "[]"), "tokenizer_config.json: the content is []"),
    "length as text": (lambda f: settings(f, "tokenizer_config.json", model_max_length="x"), "model_max_length is 'x'"),
    "length zero": (lambda f: settings(f, "tokenizer_config.json", model_max_length=0), "model_max_length is 0"),
    "class a number": (lambda f: settings(f, "tokenizer_config.json", tokenizer_class=5), "tokenizer_class is 5"),
    # an eraser
    "eraser without method": (lambda f: eraser(f, method=None), "eraser.safetensors has no method"),
    "eraser of another version": (lambda f: eraser(f, schema="9"), "schema is '9'"),
    "eraser layer as text": (lambda f: eraser(f, layer="x"), "layer is 'x'"),
    "eraser of other tensors": (lambda f: eraser(f, {"x": torch.eye(2)}), "has x (2, 2): it is not an eraser"),
    "eraser of integers": (lambda f: eraser(f, {"removed": torch.eye(32).int()}), "it is not an eraser"),
    "eraser of three dimensions": (lambda f: eraser(f, {"removed": torch.ones(1, 1, 32)}), "it is not an eraser"),
    "eraser of long rows": (lambda f: eraser(f, {"removed": torch.eye(32)[:2] * 3}), "are not orthonormal"),
    "eraser of equal directions": (
        lambda f: eraser(f, {"first": torch.eye(32)[0], "second": torch.eye(32)[0].clone()}),
        "is damaged",
    ),
    "eraser of other sizes": (
        lambda f: eraser(f, {"first": torch.eye(32)[0], "second": torch.eye(16)[0]}),
        "is damaged",
    ),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_folder_is_refused_with_its_cause(name: str, tmp_path: Path) -> None:
    damage, words = DAMAGED[name]
    folder = copy("bert-uncased", tmp_path)
    damage(folder)
    assert words in refusal(folder)


def test_a_causal_model_with_fewer_layers_than_its_checkpoint_is_refused(tmp_path: Path) -> None:
    folder = copy("gpt2", tmp_path)
    settings(folder, n_layer=1)
    assert "weights of layers that its config.json does not have: " in refusal(folder)


def test_a_classifier_is_checked_in_the_same_way(tmp_path: Path) -> None:
    folder = copy("classifier", tmp_path)
    settings(folder, num_hidden_layers=1)
    with pytest.raises(ModelError, match="weights of layers that its config"):
        open_classifier(folder, Opening())
    settings(folder, num_hidden_layers=3, chunk_size_feed_forward=7)
    with pytest.raises(ModelError, match="cannot open model: The dimension to be chunked"):
        open_classifier(folder, Opening())


def test_weights_too_large_for_fp16_are_refused_and_fp32_advised(tmp_path: Path) -> None:
    folder = copy("bert-uncased", tmp_path)
    zoo.rewrite(folder, lambda weights: weights["bert.encoder.layer.0.output.dense.weight"].mul_(1e6))
    assert "too large for float16; try fp32" in refusal(folder, Opening(dtype="fp16"))
    assert open_lm(folder).kind == "masked"


def test_a_planted_pickle_never_runs(tmp_path: Path) -> None:
    class Planted:
        def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
            return (os.mkdir, (str(tmp_path / "ran"),))

    folder = copy("bert-uncased", tmp_path)
    shard(folder, "x.bin")
    (folder / "x.bin").write_bytes(pickle.dumps(Planted()))
    refusal(folder)
    refusal(folder, Opening(allow_pickle=True))
    assert not (tmp_path / "ran").exists()


def test_a_panic_of_the_tokenizer_is_one_line_and_prints_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Rust prints a backtrace to the terminal and raises what is no Exception."""

    class PanicException(BaseException):
        pass

    def panic(**_: object) -> None:
        os.write(2, b"thread panicked\n")
        raise PanicException("index out of range")

    monkeypatch.setattr("transformers.AutoTokenizer.from_pretrained", panic)
    assert "PanicException index out of range" in refusal(copy("bert-uncased", tmp_path))
    assert "panicked" not in capfd.readouterr().err


def test_an_interrupt_while_loading_is_not_a_bad_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("transformers.AutoTokenizer.from_pretrained", interrupt)
    with pytest.raises(KeyboardInterrupt):
        open_lm(zoo.folder("bert-uncased"))


@pytest.mark.parametrize("ref", ["", "a" * 5000, "\x00", "a b", "../" * 2000])
def test_a_name_that_cannot_be_one_is_refused(ref: str) -> None:
    with pytest.raises(ModelError):
        open_lm(ref, Opening(offline=True))


# -------------------------------------------------------------------------------------- what is sound


def same(folder: Path, name: str = "bert-uncased") -> bool:
    """Whether the model is the zoo's."""
    return open_lm(folder).facts.fingerprint == open_lm(zoo.folder(name)).facts.fingerprint


def test_a_sharded_checkpoint_is_loaded(tmp_path: Path) -> None:
    folder = copy("bert-uncased", tmp_path)
    shard(folder, "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")
    assert same(folder)


def test_a_snapshot_of_the_hubs_cache_is_loaded(tmp_path: Path) -> None:
    """Its files are links to blobs beside the snapshots."""
    files = copy("bert-uncased", tmp_path)
    shard(files, "a.safetensors", "b.safetensors")
    cache = tmp_path / "models--team--tiny"
    snapshot = cache / "snapshots" / ("0" * 40)
    snapshot.mkdir(parents=True)
    (cache / "blobs").mkdir()
    for number, path in enumerate(sorted(files.iterdir())):
        path.rename(cache / "blobs" / f"{number:064x}")
        (snapshot / path.name).symlink_to(Path("../../blobs") / f"{number:064x}")
    assert same(snapshot)


def test_pickled_shards_are_loaded_when_allowed(tmp_path: Path) -> None:
    folder = copy("bert-uncased", tmp_path)
    shard(folder, "x.bin")
    assert open_lm(folder, Opening(allow_pickle=True)).kind == "masked"


def test_harmless_extra_weights_are_accepted(tmp_path: Path) -> None:
    """Poolers, next-sentence heads, copies of the head and buffers of older versions are in published checkpoints."""
    bert, gpt2 = copy("bert-uncased", tmp_path / "a"), copy("gpt2", tmp_path / "b")

    def add_bert(weights: dict[str, torch.Tensor]) -> None:
        weights["bert.pooler.dense.weight"] = torch.ones(32, 32)
        weights["cls.seq_relationship.weight"] = torch.ones(2, 32)
        weights["bert.embeddings.position_ids"] = torch.arange(160)
        weights["cls.predictions.decoder.weight"] = weights["bert.embeddings.word_embeddings.weight"].clone()

    def add_gpt2(weights: dict[str, torch.Tensor]) -> None:
        for layer in range(2):
            weights[f"transformer.h.{layer}.attn.bias"] = torch.ones(1, 1, 160, 160)
            weights[f"transformer.h.{layer}.attn.masked_bias"] = torch.tensor(-1e4)

    zoo.rewrite(bert, add_bert)
    zoo.rewrite(gpt2, add_gpt2)
    assert same(bert)
    assert same(gpt2, "gpt2")


def test_infinity_in_a_configuration_is_accepted(tmp_path: Path) -> None:
    """Published configurations of state-space models have it."""
    folder = copy("bert-uncased", tmp_path)
    settings(folder, time_step_limit=[0.0, float("inf")])
    assert open_lm(folder).kind == "masked"


def test_the_older_form_of_a_tokenizer_is_loaded(tmp_path: Path) -> None:
    folder = copy("bert-uncased", tmp_path)
    vocabulary = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    no_tokenizer(folder)
    text(folder, "vocab.txt", "\n".join(sorted(vocabulary, key=vocabulary.__getitem__)))
    lm, before = open_lm(folder), open_lm(zoo.folder("bert-uncased"))
    assert lm.encode("She is a nurse.") == before.encode("She is a nurse.")


def test_a_saved_eraser_is_read_again(tmp_path: Path) -> None:
    folder = copy("bert-uncased", tmp_path)
    directions = {"first": torch.eye(32)[0], "second": torch.nn.functional.normalize(torch.ones(32), dim=0)}
    save_eraser(Eraser("oscar", directions, -1, "a test"), folder)
    assert any("oscar" in warning for warning in open_lm(folder).facts.warnings)


def test_loading_does_not_move_the_random_numbers() -> None:
    torch.manual_seed(3)
    expected = torch.rand(3)
    torch.manual_seed(3)
    open_lm(zoo.folder("gpt2"))
    assert torch.equal(torch.rand(3), expected)


def test_a_model_in_memory_is_not_checked_again() -> None:
    model, tokenizer = zoo.make("bert-uncased")
    assert wrap_lm(model, tokenizer).kind == "masked"


# ------------------------------------------------------------------------------------------- network

GUARDED = """
import socket, sys

def refuse(*_, **__):
    print("NETWORK")
    raise OSError("no network")

socket.getaddrinfo = socket.socket.connect = socket.create_connection = refuse
from unmask import Opening, UnmaskError, open_model
print(open_model(sys.argv[1]).facts.id)
try:
    open_model("bert-base-uncased", Opening(offline=True))
except UnmaskError as error:
    print(error)
from huggingface_hub import constants
print("telemetry off" if constants.HF_HUB_DISABLE_TELEMETRY else "telemetry on", constants.HF_HUB_OFFLINE)
"""


@pytest.mark.thorough  # a fresh process
def test_offline_and_folders_never_touch_the_network(tmp_path: Path) -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    command = [sys.executable, "-c", GUARDED, str(zoo.folder("bert-uncased"))]
    done = subprocess.run(
        command, env=environment | {"HF_HOME": str(tmp_path)}, capture_output=True, text=True, check=True
    )
    name, refused, telemetry = done.stdout.splitlines()
    assert name == "bert-uncased"
    assert refused.startswith("cannot open bert-base-uncased: it is not in the cache, and offline mode is on")
    assert telemetry == "telemetry off False"
    assert "NETWORK" not in done.stdout
