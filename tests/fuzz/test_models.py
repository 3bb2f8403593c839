"""Model folders: the configuration, the tokenizer's files, weights and their index, and erasers, on the tiniest models.

Every kind of model is there: masked, causal, classifier, encoder. A folder that is accepted must also answer.
"""

from __future__ import annotations

import io
import json
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import peft
import pytest
import torch
import transformers as hf
from safetensors.torch import load_file, save_file
from tests.fuzz.harness import BUDGET, PATIENCE, Boundary, fuzz

import gguf_files
from unmask.core.options import Opening
from unmask.models import open_encoder, open_lm
from unmask.models.classifier import is_classifier, open_classifier
from unmask.models.eraser import Eraser, save_eraser
from unmask.vectors.contextual import text_vectors

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "he", "she", "is", "a", "nurse", "b", "##s")
SIZES = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 8}
HOW = Opening(device="cpu")


def _saved(model: Any, tokenizer: Any) -> dict[str, bytes]:
    """The files of a model and its tokenizer."""
    folder = Path(tempfile.mkdtemp())
    torch.manual_seed(0)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    shutil.rmtree(folder)
    return files


def _bert_tokenizer() -> Any:
    return hf.BertTokenizer(vocab={word: number for number, word in enumerate(WORDS)})


def _bert(kind: str) -> Any:
    config = hf.BertConfig(vocab_size=len(WORDS), max_position_embeddings=16, num_labels=2, **SIZES)
    return getattr(hf, f"BertFor{kind}")(config)


@cache
def masked() -> dict[str, bytes]:
    """A BERT of two layers."""
    return _saved(_bert("MaskedLM"), _bert_tokenizer())


@cache
def classifier() -> dict[str, bytes]:
    """A BERT with a classification head."""
    return _saved(_bert("SequenceClassification"), _bert_tokenizer())


@cache
def encoder() -> dict[str, bytes]:
    """A BERT without a head."""
    return _saved(_bert("MaskedLM").bert, _bert_tokenizer())


@cache
def causal() -> dict[str, bytes]:
    """A GPT-2 of two layers with a tokenizer of single bytes."""
    letters = ["<|endoftext|>", "Ġ", *"abcdehinrsu", "he", "Ġa"]
    tokenizer = hf.GPT2Tokenizer(
        vocab={letter: number for number, letter in enumerate(letters)}, merges=[("h", "e"), ("Ġ", "a")]
    )
    config = hf.GPT2Config(vocab_size=len(letters), n_embd=8, n_layer=2, n_head=2, n_positions=16)
    return _saved(hf.GPT2LMHeadModel(config), tokenizer)


@cache
def sharded() -> dict[str, bytes]:
    """The masked model in two files with an index."""
    files = dict(masked())
    with tempfile.TemporaryDirectory() as name:
        whole = Path(name) / "model.safetensors"
        whole.write_bytes(files.pop(whole.name))
        weights = load_file(whole)
        places: dict[str, str] = {}
        for number in (1, 2):
            part = {key: weights[key] for key in sorted(weights)[number - 1 :: 2]}
            file = f"model-0000{number}-of-00002.safetensors"
            save_file(part, whole.with_name(file), metadata={"format": "pt"})
            files[file] = whole.with_name(file).read_bytes()
            places |= dict.fromkeys(part, file)
    index = {"metadata": {"total_size": 1}, "weight_map": places}
    return files | {"model.safetensors.index.json": json.dumps(index).encode()}


@cache
def erased() -> dict[str, bytes]:
    """The masked model with an eraser."""
    with tempfile.TemporaryDirectory() as folder:
        path = save_eraser(Eraser("projection", {"removed": torch.eye(8)[:2]}, -1, "a test"), Path(folder))
        return masked() | {path.name: path.read_bytes()}


@cache
def adapted() -> dict[str, bytes]:
    """The masked model, in a folder of its own, and an adapter."""
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peft reads deprecated attributes of transformers
        config = peft.LoraConfig(target_modules=["query"], r=2, init_lora_weights=False)
        peft.get_peft_model(_bert("MaskedLM"), config).save_pretrained(name)
        return {file: Path(name, file).read_bytes() for file in ("adapter_config.json", "adapter_model.safetensors")}


@cache
def quantised() -> dict[str, bytes]:
    """A Llama in a GGUF file."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "model.gguf"
        gguf_files.write(path, gguf_files.llama(), gguf_files.GGMLQuantizationType.Q8_0)
        return {path.name: path.read_bytes()}


@cache
def with_vocabulary() -> dict[str, bytes]:
    """The masked model with the older form of its tokenizer."""
    files = {name: content for name, content in masked().items() if name != "tokenizer.json"}
    return files | {"vocab.txt": "\n".join(WORDS).encode()}


@cache
def with_merges() -> dict[str, bytes]:
    """The causal model with the older form of its tokenizer."""
    files = dict(causal())
    model = json.loads(files.pop("tokenizer.json"))["model"]
    merges = "\n".join(" ".join(pair) for pair in model["merges"])
    return files | {"vocab.json": json.dumps(model["vocab"]).encode(), "merges.txt": merges.encode()}


@cache
def with_pieces() -> dict[str, bytes]:
    """The masked model with a SentencePiece tokenizer."""
    import sentencepiece

    trained = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["he is a nurse", "she is a nurse"] * 9),
        model_writer=trained,
        vocab_size=24,
        hard_vocab_limit=False,
        minloglevel=2,
        **{"pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1, "control_symbols": "[CLS],[SEP],[MASK]"},
    )
    config = hf.AlbertConfig(vocab_size=40, embedding_size=8, max_position_embeddings=16, **SIZES)
    files = _saved(hf.AlbertForMaskedLM(config), _bert_tokenizer())
    return {name: files[name] for name in ("config.json", "model.safetensors")} | {"spiece.model": trained.getvalue()}


def open_and_ask(folder: Path | str) -> None:
    """Open the model as a command does, and ask it."""
    began = time.process_time()
    try:
        if is_classifier(folder, HOW):
            open_classifier(folder, HOW).logits([("he is a nurse", None)])
        else:
            lm = open_lm(folder, HOW)
            network, ids = lm.network, lm.pieces("a") or (0,)
            network.logits(network.run(torch.tensor([ids]), None))
    finally:  # the alarm of a hang may have become a refusal
        assert time.process_time() - began < PATIENCE / 2


def open_adapted(folder: Path) -> None:
    """Open the masked model with the adapter."""
    base = folder / "base"
    base.mkdir()
    for name, content in masked().items():
        (base / name).write_bytes(content)
    open_and_ask(f"{base}+{folder}")


def open_gguf(folder: Path) -> None:
    """Open the GGUF file."""
    open_and_ask(folder / "model.gguf")


def read_states(folder: Path) -> None:
    """Open the model for its hidden states."""
    text_vectors(open_encoder(folder, HOW), ["he is a nurse"], pooling="mean")


def boundary(
    model: Callable[[], dict[str, bytes]], *names: str, ask: Callable[[Path], None] = open_and_ask
) -> Boundary:
    """A boundary where some files of a model are damaged; the others are added when it is read."""

    def read(folder: Path) -> None:
        for name, content in model().items():
            if name not in names:
                (folder / name).write_bytes(content)
        ask(folder)

    examples = lambda: [{name: model()[name] for name in names}]  # noqa: E731
    return Boundary(f"{model.__name__} model: {', '.join(names)}", examples, read)


BOUNDARIES = [
    boundary(masked, "config.json"),
    boundary(causal, "config.json", "generation_config.json"),
    boundary(classifier, "config.json"),
    boundary(encoder, "config.json", ask=read_states),
    boundary(masked, "tokenizer.json"),
    boundary(masked, "tokenizer_config.json"),
    boundary(causal, "tokenizer.json", "tokenizer_config.json"),
    boundary(with_vocabulary, "vocab.txt"),
    boundary(with_merges, "vocab.json", "merges.txt"),
    boundary(with_pieces, "spiece.model"),
    boundary(masked, "model.safetensors"),
    boundary(sharded, "model.safetensors.index.json"),
    boundary(erased, "eraser.safetensors"),
    boundary(adapted, "adapter_config.json", "adapter_model.safetensors", ask=open_adapted),
    boundary(quantised, "model.gguf", ask=open_gguf),
]


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda each: each.name)
def test_a_damaged_model_is_accepted_or_refused(boundary: Boundary) -> None:
    fuzz(boundary, BUDGET // 4)
