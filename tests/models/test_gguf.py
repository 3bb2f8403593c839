"""GGUF files: a model read from one has the weights and the tokenizer of the file, or is refused in one line."""

from __future__ import annotations

import copy
import importlib.util
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType

import gguf_files
import unmask
import zoo
from unmask.core.errors import ModelError
from unmask.core.files import sha256_of
from unmask.models import Engine, open_lm
from unmask.models.gguf import read_gguf

TEXT = "The nurse said that she was late."
TYPES = ["F32", "F16", "Q8_0", "Q4_1"]


@pytest.fixture(scope="module")
def llama() -> Any:
    return gguf_files.llama()


@pytest.fixture
def file(llama: Any, tmp_path: Path) -> Path:
    """A file with matrices in Q8_0."""
    path = tmp_path / "tiny.Q8_0.gguf"
    gguf_files.write(path, llama, GGMLQuantizationType.Q8_0)
    return path


def logits(model: Any, ids: Any) -> Any:
    with torch.inference_mode():
        return model(input_ids=torch.tensor([ids])).logits


def refusal(path: Path | str) -> str:
    with pytest.raises(ModelError) as caught:
        open_lm(path)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("name", TYPES)
def test_logits_are_those_of_the_weights_dequantised_independently(name: str, llama: Any, tmp_path: Path) -> None:
    """A wrong order of rows, type or name of a tensor would give plausible but wrong scores."""
    weights = gguf_files.write(tmp_path / "tiny.gguf", llama, GGMLQuantizationType[name])
    expected = copy.deepcopy(llama)
    expected.load_state_dict(weights)
    lm = open_lm(tmp_path / "tiny.gguf")
    ids = lm.encode(TEXT).ids
    torch.testing.assert_close(logits(lm.network.model, ids), logits(expected, ids), atol=1e-4, rtol=1e-5)
    if name == "Q4_1":  # the test could not see a file that was not used
        assert (logits(expected, ids) - logits(llama, ids)).abs().max() > 0.05


def test_the_tokenizer_is_the_files(file: Path) -> None:
    lm, (tokens, _) = open_lm(file), zoo.byte_bpe()
    expected = zoo.gpt2_tokenizer()
    assert lm.begin == len(tokens)
    assert lm.tokens(lm.pieces(TEXT)) == expected.tokenize(TEXT)
    assert lm.facts.begin_rule == "every sentence is preceded by <|endoftext|>"


def test_files_beside_it_are_not_read(file: Path) -> None:
    """A tokenizer or configuration of another model in the same folder would change scores in silence."""
    alone = open_lm(file)
    for path in zoo.folder("opt").iterdir():
        shutil.copy(path, file.parent)
    beside = open_lm(file)
    assert beside.facts == alone.facts
    assert beside.pieces(TEXT) == alone.pieces(TEXT)


def test_facts_say_the_quantisation_and_the_hash_of_the_file(file: Path) -> None:
    facts = open_lm(file).facts
    assert facts.id == "tiny.Q8_0.gguf"
    assert facts.kind == "causal"
    assert facts.origin == {"format": "GGUF", "quantisation": "Q8_0 (16 tensors), F32 (5)", "sha256": sha256_of(file)}
    assert "weights were dequantised from GGUF: Q8_0 (16 tensors), F32 (5)" in facts.warnings


def test_each_quantisation_has_its_own_readings(llama: Any, tmp_path: Path) -> None:
    """Readings of Q4 must never be answered from the store of Q8."""
    namespaces = set()
    for name in TYPES:
        gguf_files.write(tmp_path / f"{name}.gguf", llama, GGMLQuantizationType[name])
        namespaces.add(open_lm(tmp_path / f"{name}.gguf").namespace)
    assert len(namespaces) == len(TYPES)


def test_rotary_factors_are_applied(tmp_path: Path) -> None:
    """Llama 3.1 and later: transformers leaves `rope_freqs.weight` out, and every score would be wrong."""
    scaling = {
        "rope_type": "llama3",
        "rope_theta": 10000.0,
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 20,
    }
    scaled, plain = gguf_files.llama(rope_parameters=scaling), gguf_files.llama()
    factors = (plain.model.rotary_emb.inv_freq / scaled.model.rotary_emb.inv_freq).numpy().astype(np.float32)
    assert (factors > 1).any()
    gguf_files.write(tmp_path / "scaled.gguf", scaled, tensors={"rope_freqs.weight": factors})
    gguf_files.write(tmp_path / "plain.gguf", plain)
    lm = open_lm(tmp_path / "scaled.gguf")
    ids = lm.encode(f"{TEXT} {TEXT} {TEXT}").ids
    torch.testing.assert_close(logits(lm.network.model, ids), logits(scaled, ids), atol=1e-4, rtol=1e-5)
    assert (logits(scaled, ids) - logits(plain, ids)).abs().max() > 0.05
    assert lm.facts.fingerprint != open_lm(tmp_path / "plain.gguf").facts.fingerprint


def test_an_audit_reads_it(file: Path, tmp_path: Path) -> None:
    result = unmask.audit(str(file), data=["nine-axes"], measures=["ll"], limit=4, out=tmp_path / "run")
    assert result.meta["model"]["origin"]["quantisation"].startswith("Q8_0")
    assert unmask.load(tmp_path / "run").meta["model"] == result.meta["model"]
    lm = open_lm(file)
    assert Engine(lm).lm.facts.fingerprint == result.meta["model"]["fingerprint"]
    assert asdict(lm.facts)["origin"] == result.meta["model"]["origin"]


# ----------------------------------------------------------------------------------------- refused


def test_a_tensor_that_would_be_left_out_is_refused(llama: Any, tmp_path: Path) -> None:
    bias = np.ones(gguf_files.SIZE, dtype=np.float32)
    gguf_files.write(tmp_path / "more.gguf", llama, tensors={"blk.0.attn_q.bias": bias})
    message = refusal(tmp_path / "more.gguf")
    assert "some would be left out or random" in message
    assert "64" in message or "weights" in message


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({"llama.rope.scaling.type": "yarn"}, "scales its rotary positions ('yarn')"),
        ({"general.type": "adapter"}, "holds a 'adapter', expected a whole model"),
    ],
)
def test_what_is_not_a_whole_readable_model_is_refused(
    metadata: dict[str, str], words: str, llama: Any, tmp_path: Path
) -> None:
    gguf_files.write(tmp_path / "other.gguf", llama, metadata=metadata)
    assert words in refusal(tmp_path / "other.gguf")


def test_an_unknown_architecture_is_refused(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(b"llama", b"lhama"))
    assert "architecture lhama is not supported" in refusal(file)


@pytest.mark.parametrize("part", [0.0, 0.00001, 0.02, 0.5, 0.999])
def test_truncated_files_are_refused(part: float, file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: int(part * len(content))])
    assert "download it again" in refusal(file) or "not a GGUF file" in refusal(file)


def test_other_formats_and_versions_are_refused(file: Path, tmp_path: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(b"GGML" + content[4:])
    assert "is not a GGUF file: it begins with b'GGML'" in refusal(file)
    file.write_bytes(content[:4] + b"\x01" + content[5:])
    assert "version 1, expected 2 or 3" in refusal(file)
    (tmp_path / "weights.bin").write_bytes(content)
    assert "is a file: give a folder with config.json, a .gguf file" in refusal(tmp_path / "weights.bin")
    assert refusal(tmp_path / "missing.gguf").startswith("no file")


def test_without_the_extra_one_line_says_what_to_install(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr("unmask.models.gguf.find_spec", lambda name: None if name == "gguf" else find(name))
    assert "pip install 'unmask[gguf]'" in refusal(file)


# ------------------------------------------------------------------------------------- a real file


def test_smollm2_gives_likely_text_high_probability(smollm2: Path) -> None:
    """A published Q4_1 file: wrong tensors or tokens would make English as unlikely as shuffled words."""
    assert read_gguf(smollm2).metadata["general.architecture"] == "llama"
    lm = open_lm(smollm2)
    texts = ["The capital of France is Paris.", "France the is Paris capital of."]
    means = []
    for text in texts:
        ids = lm.encode(text).ids
        logprobs = torch.log_softmax(logits(lm.network.model, ids)[0, :-1], -1)
        means.append(float(logprobs.gather(-1, torch.tensor(ids[1:])[:, None])[3:].mean()))
    assert lm.facts.origin["quantisation"].startswith("Q4_1")
    assert means[0] > -3 > -4 > means[1]
