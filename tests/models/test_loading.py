"""Loading a model: bad checkpoints are refused with a one-line error, others are described correctly."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers.models.prophetnet.tokenization_prophetnet import ProphetNetTokenizer

import unmask
import zoo
from unmask import data as datasets
from unmask.core.errors import DataError, ModelError
from unmask.core.options import Opening
from unmask.core.registry import Registry
from unmask.models import open_encoder, open_lm
from unmask.models.checkpoint import load_folder
from unmask.models.classifier import new_classifier
from unmask.models.loading import LOADERS, ModelLoader, wrap_lm
from unmask.models.states import mean_states
from unmask.models.weights import fingerprint

# checkpoint: what its error names, and the advice or reason it gives
REFUSED = {
    "encoder_only": ("cls.predictions", "saved with its LM head"),
    "classifier": ("BertForSequenceClassification", "give the language model it was fine-tuned from"),
    "nan_weights": ("encoder.layer.1.output.dense.weight", "the checkpoint is damaged"),
    "no_mask_token": ("without a mask token", "the tokenizer the model was trained with"),
    "pickle_only": ("model.safetensors", "allow_pickle"),
    "missing_bias_only": ("cls.predictions.bias", "saved with its LM head"),
    "untied": ("tie_word_embeddings", "set the flag to false"),
    "llama_without_head": ("lm_head.weight", "saved with its LM head"),
}


def refusal(ref: str | Path, how: Opening | None = None) -> str:
    """The one-line error with which a model is refused."""
    with pytest.raises(ModelError) as caught:
        open_lm(ref, how)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_every_bad_checkpoint_is_covered() -> None:
    assert {*REFUSED, "deberta_v3_as_published"} == set(zoo.NAMES_BAD)


@pytest.mark.parametrize("name", REFUSED)
def test_bad_checkpoints_are_refused(name: str) -> None:
    message = refusal(zoo.folder(name))
    assert name in message
    assert all(words in message for words in REFUSED[name]), message


def test_infinite_weights_are_refused(tmp_path: Path) -> None:
    folder = zoo.build("gpt2", tmp_path / "model")
    zoo.rewrite(folder, lambda weights: weights["transformer.h.1.mlp.c_fc.bias"][3].fill_(float("inf")))
    message = refusal(folder)
    assert "infinite" in message
    assert "h.1.mlp.c_fc.bias" in message


def test_a_classifier_is_refused_even_with_kind_masked() -> None:
    assert "cls.predictions" in refusal(zoo.folder("classifier"), Opening(kind="masked"))


@pytest.mark.parametrize("name", ["classifier", "encoder_only"])
def test_hidden_states_of_a_model_without_an_lm_head_are_its_own(name: str) -> None:
    """A fine-tuned classifier or a plain encoder could not be measured by its vectors, or a random head would be."""
    lm, text = open_encoder(zoo.folder(name)), "the nurse met him"
    body = zoo.hf.AutoModel.from_pretrained(zoo.folder(name)).eval()
    ids = lm.encode(text).ids
    with torch.inference_mode():
        expected = body(torch.tensor([ids]), output_hidden_states=True).hidden_states[1][0, 2].double().numpy()
    assert mean_states(lm, [ids], [[2]], layer=1)[0] == pytest.approx(expected, abs=1e-6)
    assert lm.kind == "masked"
    assert "opened without a head: only its hidden states are read" in lm.facts.warnings


def test_a_language_model_opened_for_its_states_is_the_same_model() -> None:
    for name in ("bert-uncased", "gpt2"):
        assert open_encoder(zoo.folder(name)).facts == open_lm(zoo.folder(name)).facts


def test_an_encoder_without_a_layer_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(zoo.folder("encoder_only"), folder)
    zoo.rewrite(folder, lambda weights: weights.pop("encoder.layer.1.output.dense.weight"))
    with pytest.raises(ModelError, match=r"no weights for encoder.layer.1.output.dense.weight: they would be random"):
        open_encoder(folder)


def test_another_models_tokenizer_is_refused(tmp_path: Path) -> None:
    folder = zoo.build("bert-uncased", tmp_path / "model")
    tokenizer = zoo.bert_tokenizer(zoo.hf.BertTokenizer)
    tokenizer.add_tokens(["onemore"])
    tokenizer.save_pretrained(folder)
    assert "belongs to another model" in refusal(folder)


def test_pickled_weights_are_loaded_when_allowed_with_a_warning() -> None:
    lm = open_lm(zoo.folder("pickle_only"), Opening(allow_pickle=True))
    assert any("pickle" in warning for warning in lm.facts.warnings)
    same = open_lm(zoo.folder("bert-uncased"))
    assert lm.facts.fingerprint == same.facts.fingerprint
    assert same.facts.warnings == ()


def test_deberta_as_published_is_loaded_with_its_own_head() -> None:
    lm = open_lm(zoo.folder("deberta_v3_as_published"))
    stored = load_file(zoo.folder("deberta_v3_as_published") / "model.safetensors")
    loaded = lm.network.model.state_dict()
    heads = [key for key in stored if key.startswith("lm_predictions")]
    assert heads
    for key in heads:
        assert torch.equal(stored[key], loaded[key]), key
    ids = torch.tensor([lm.encode("He said so.").ids])
    with torch.inference_mode():
        expected = zoo.make("deberta-v3-like")[0](input_ids=ids).logits
        torch.testing.assert_close(lm.network.model(input_ids=ids).logits, expected)


# ------------------------------------------------------------------------------------------- kind


@pytest.mark.parametrize(("name", "kind"), [("bert-nsp", "masked"), ("roberta", "masked"), ("gpt2", "causal")])
def test_the_kind_comes_from_the_configuration(name: str, kind: str) -> None:
    assert open_lm(zoo.folder(name)).kind == kind


def test_the_kind_can_be_overridden() -> None:
    assert "is a BertForSequenceClassification" in refusal(zoo.folder("classifier"))
    assert "has no weights for cls" in refusal(zoo.folder("classifier"), Opening(kind="masked"))
    assert open_lm(zoo.folder("gpt2"), Opening(kind="causal")).kind == "causal"
    with pytest.raises(DataError, match="kind is 'other', expected masked or causal"):
        Opening(kind="other")  # type: ignore[arg-type]


def test_an_encoder_cannot_be_loaded_as_causal() -> None:
    with pytest.raises(ModelError, match="is bidirectional"):
        open_lm(zoo.folder("bert-uncased"), Opening(kind="causal"))


def test_a_causal_model_cannot_be_loaded_as_masked() -> None:
    message = refusal(zoo.folder("gpt2"), Opening(kind="masked"))
    assert message == "gpt2 has no masked-LM head (gpt2): it can be scored as a causal model only; leave out the kind"


def test_encoder_decoders_and_unknown_architectures_are_refused_with_what_to_do(tmp_path: Path) -> None:
    for config in (zoo.hf.T5Config(architectures=["T5ForConditionalGeneration"]), zoo.hf.BartConfig()):
        config.save_pretrained(tmp_path / config.model_type)
        assert f"is an encoder–decoder ({config.model_type})" in refusal(tmp_path / config.model_type)
        with pytest.raises(ModelError, match="is an encoder–decoder"):
            open_encoder(tmp_path / config.model_type)
    zoo.hf.ViTConfig().save_pretrained(tmp_path / "vit")
    assert "vit is no language model (vit): give a masked or a causal one" in refusal(tmp_path / "vit")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "mamba9", "architectures": ["Mamba9ForCausalLM"]}))
    message = refusal(tmp_path)
    assert "mamba9" in message
    assert "update transformers" in message


# ------------------------------------------------------------------------------- names and folders


@pytest.mark.parametrize("ref", ["./nowhere", "/no/such/folder", Path("nowhere"), "a/b/c"])
def test_a_missing_folder_is_refused(ref: str | Path) -> None:
    assert refusal(ref).startswith("no folder")


def test_an_unknown_hub_name_offline() -> None:
    message = refusal("nobody/no-such-model", Opening(offline=True))
    assert message.startswith("cannot open nobody/no-such-model")
    assert "offline mode is on" in message


def test_an_empty_folder(tmp_path: Path) -> None:
    assert refusal(tmp_path).startswith(f"cannot open {tmp_path.name}")


def test_truncated_weights_give_a_one_line_error(tmp_path: Path) -> None:
    weights = zoo.build("bert-uncased", tmp_path / "model") / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    assert "model.safetensors is damaged or truncated" in refusal(tmp_path / "model")


def test_a_damaged_configuration_gives_a_one_line_error(tmp_path: Path) -> None:
    (zoo.build("bert-uncased", tmp_path / "model") / "config.json").write_text("{not json", encoding="utf-8")
    assert "config.json is not JSON" in refusal(tmp_path / "model")


# ------------------------------------------------------------------------------------------ facts


def test_the_fingerprint_depends_on_the_content_only(tmp_path: Path) -> None:
    first = zoo.folder("roberta")
    second = Path(shutil.copytree(first, tmp_path / "elsewhere"))
    before = open_lm(first)
    after = open_lm(second)
    assert before.facts.fingerprint == after.facts.fingerprint
    assert before.namespace == after.namespace
    zoo.rewrite(second, lambda weights: weights["lm_head.bias"][7].add_(1e-3))
    assert open_lm(second).facts.fingerprint != before.facts.fingerprint


def test_the_configuration_is_part_of_the_fingerprint(tmp_path: Path) -> None:
    folder = zoo.build("bert-uncased", tmp_path / "model")
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps({**settings, "hidden_act": "relu"}), encoding="utf-8")
    assert open_lm(folder).facts.fingerprint != open_lm(zoo.folder("bert-uncased")).facts.fingerprint


def swap_two_tokens(tokenizer: dict[str, Any]) -> None:
    vocabulary = tokenizer["model"]["vocab"]
    vocabulary["a"], vocabulary["b"] = vocabulary["b"], vocabulary["a"]


def lower_case(tokenizer: dict[str, Any]) -> None:
    tokenizer["normalizer"] = {"type": "Lowercase"}


def pad_and_cut(tokenizer: dict[str, Any]) -> None:
    tokenizer["truncation"] = {"direction": "Right", "max_length": 9, "strategy": "LongestFirst", "stride": 0}
    pad = {"pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]", "pad_to_multiple_of": None, "direction": "Right"}
    tokenizer["padding"] = {"strategy": {"Fixed": 9}, **pad}


@pytest.mark.parametrize(("change", "is_same"), [(swap_two_tokens, False), (lower_case, False), (pad_and_cut, True)])
def test_the_tokenizer_is_part_of_the_fingerprint(
    change: Callable[[dict[str, Any]], None], is_same: bool, tmp_path: Path
) -> None:
    """With another vocabulary a result would count as one of the same model; how texts are padded changes nothing."""
    folder = zoo.build("modernbert", tmp_path / "model")  # of a class that leaves tokenizer.json as it is
    before = open_lm(folder).facts.fingerprint
    rewrite_json(folder / "tokenizer.json", change)
    assert (open_lm(folder).facts.fingerprint == before) == is_same


def test_the_roles_of_special_tokens_are_part_of_the_fingerprint(tmp_path: Path) -> None:
    folder = zoo.build("bert-uncased", tmp_path / "model")
    before = open_lm(folder).facts.fingerprint
    rewrite_json(folder / "tokenizer_config.json", lambda settings: settings.update(unk_token="[SEP]"))
    assert open_lm(folder).facts.fingerprint != before


def test_a_tokenizer_in_python_is_part_of_the_fingerprint(tmp_path: Path) -> None:
    """Lower-casing is an option of its class, which stands in none of its files."""
    vocabulary = tmp_path / "vocab.txt"
    model, prints = zoo.make("bert-uncased")[0], []
    for words in ("the nurse", "nurse the"):
        vocabulary.write_text("\n".join(("[PAD] [UNK] [CLS] [SEP] [MASK] x_sep " + words).split()), encoding="utf-8")
        for lower in (True, False, True):
            tokenizer = ProphetNetTokenizer(str(vocabulary), do_lower_case=lower)
            assert not tokenizer.is_fast
            prints.append(fingerprint(model, tokenizer, "masked"))
    assert [prints.index(each) for each in prints] == [0, 1, 0, 3, 4, 3]


@pytest.mark.parametrize(
    ("name", "role", "token"),
    [
        *[("bert-uncased", "mask", "the"), ("bert-uncased", "pad", "the"), ("bert-uncased", "sep", "a")],
        *[("bert-uncased", "mask", "masked"), ("bert-uncased", "mask", "[PAD]"), ("bert-uncased", "sep", "[CLS]")],
        *[("roberta", "mask", "Ġthe"), ("xlm-roberta", "cls", "."), ("gpt2", "pad", "the"), ("llama", "mask", "▁the")],
    ],
)
def test_a_word_as_a_special_token_is_refused(name: str, role: str, token: str, tmp_path: Path) -> None:
    """A wrong name in tokenizer_config.json cuts a word out of all sentences, or puts another token for the mask."""
    folder = zoo.build(name, tmp_path / "model")
    rewrite_json(folder / "tokenizer_config.json", lambda settings: settings.update({f"{role}_token": token}))
    message = refusal(folder)
    assert f"has {token!r} as its {role} token" in message
    assert f"correct {role}_token in tokenizer_config.json" in message


def test_a_word_saved_as_the_mask_is_refused(tmp_path: Path) -> None:
    """Saving a tokenizer with a wrong mask lists the word as special in tokenizer.json too."""
    folder = zoo.build("bert-uncased", tmp_path / "model")
    tokenizer = zoo.hf.AutoTokenizer.from_pretrained(folder)
    tokenizer.mask_token = "the"
    tokenizer.save_pretrained(folder)
    assert "has 'the' as its mask token" in refusal(folder)


@pytest.mark.parametrize(("role", "token", "listed"), [("pad", "the", True), ("pad", "PAD", False)])
def test_special_tokens_that_the_model_was_trained_with_are_accepted(
    role: str, token: str, listed: bool, tmp_path: Path
) -> None:
    """A tokenizer made by hand may have names without brackets, or a word that its own file lists as special."""
    folder = zoo.build("modernbert", tmp_path / "model")

    def name_token(tokenizer: dict[str, Any]) -> None:
        vocabulary, added = tokenizer["model"]["vocab"], tokenizer["added_tokens"]
        (entry,) = (each for each in added if each["content"] == "[PAD]")
        vocabulary.pop(token, None)
        vocabulary[token] = entry["id"]
        entry["content"] = token
        if not listed:
            added.remove(entry)

    rewrite_json(folder / "tokenizer.json", name_token)
    rewrite_json(folder / "tokenizer_config.json", lambda settings: settings.update({f"{role}_token": token}))
    assert open_lm(folder).tokenizer.pad_token == token


def rewrite_json(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change a JSON file in place."""
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")


def test_facts_contain_no_local_path() -> None:
    folder = zoo.folder("llama")
    facts = open_lm(folder).facts
    assert facts.id == "llama"
    assert str(folder.parent) not in json.dumps(asdict(facts))


@pytest.mark.parametrize("name", [*zoo.NAMES_MASKED, *zoo.NAMES_CAUSAL])
def test_max_length_of_every_architecture(name: str) -> None:
    """RoBERTa-like position tables have two unusable rows; every model accepts `max_length` tokens.

    The same holds for a classifier made from it and for the model wrapped in memory.
    """
    lm = open_lm(zoo.folder(name))
    assert lm.facts.max_length == zoo.POSITIONS
    assert wrap_lm(lm.network.model, lm.tokenizer).facts.max_length == zoo.POSITIONS
    classifier = new_classifier(zoo.folder(name), Opening(), labels=("a", "b"), seed=0, length=10**6)
    assert classifier.length == zoo.POSITIONS
    ids = torch.full((1, zoo.POSITIONS), 7)
    with torch.inference_mode():
        assert lm.network.model(input_ids=ids).logits.isfinite().all()


def test_max_length_follows_the_padding_index() -> None:
    """A model of another padding index than RoBERTa's, or of a rare type, would run out of positions."""
    _, tokenizer = zoo.make("roberta")
    sizes = {**zoo.SIZES, "vocab_size": 900, "max_position_embeddings": 20, "pad_token_id": 4}
    for kind in ("Roberta", "RobertaPreLayerNorm", "Data2VecText"):
        config = getattr(zoo.hf, f"{kind}Config")(**sizes)
        model = getattr(zoo.hf, f"{kind}ForMaskedLM")(config).eval()
        longest = wrap_lm(model, tokenizer).facts.max_length
        assert longest == 15
        model(input_ids=torch.full((1, longest), 7))
        with pytest.raises((IndexError, RuntimeError)):
            model(input_ids=torch.full((1, longest + 1), 7))


@pytest.mark.parametrize(("name", "measure"), [("roberta", "pll"), ("gpt2", "ll")])
def test_a_sentence_that_is_too_long_is_unscored_and_never_truncated(name: str, measure: str) -> None:
    long = "she said so " * zoo.POSITIONS
    pairs = datasets.from_records([("He said so.", "She said so."), (long, "She said so.")])
    options = unmask.Options(store=False)
    result = unmask.audit(zoo.folder(name), data=pairs, measures=measure, options=options)
    short, too_long = result.items.to_pylist()
    assert short["outcome"] in ("more", "less")
    assert (too_long["outcome"], too_long["more"], too_long["less"]) == ("unscored", None, None)
    assert too_long["reason"].startswith("too long")
    assert str(zoo.POSITIONS) in too_long["reason"]
    (truncated,) = [check for check in result.checks if check.name == "truncated"]
    assert not truncated.ok


@pytest.mark.usefixtures("plain_bf16")
def test_bf16_is_recorded_and_labelled() -> None:
    exact, rounded = (open_lm(zoo.folder("bert-uncased"), Opening(dtype=dtype)) for dtype in ("fp32", "bf16"))
    assert (exact.facts.dtype, rounded.facts.dtype) == ("fp32", "bf16")
    assert next(rounded.network.model.parameters()).dtype == torch.bfloat16
    assert any("bf16" in warning for warning in rounded.facts.warnings)
    assert exact.namespace != rounded.namespace


def test_an_unknown_dtype_is_refused() -> None:
    with pytest.raises(DataError, match="dtype is 'fp8', expected fp32, bf16, fp16, int8 or int4"):
        Opening(dtype="fp8")  # type: ignore[arg-type]


def test_the_built_in_model_needs_no_network() -> None:
    lm = open_lm()
    assert (lm.facts.built_in, lm.facts.id, lm.kind) == (True, "builtin", "masked")


AUDIT = """
import sys, unmask
unmask.audit(sys.argv[1], data="nine-axes", limit=2, store=False)
print(*(name for name in sys.modules if name.startswith("unmask.models.")))
"""


def test_an_audit_of_a_folder_imports_no_other_loader() -> None:
    """What reads GGUF files, adapters, quantised weights and endpoints is for those who have one."""
    words = [sys.executable, "-c", AUDIT, str(zoo.folder("bert-uncased"))]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    imported = {name.removeprefix("unmask.models.") for name in done.stdout.split()}
    assert {"loading", "checkpoint", "engine"} <= imported
    others = {"adapter", "classifier", "eraser", "gguf", "precision"}
    assert not {name for name in imported if name in others or name.startswith("endpoint")}


def test_another_package_brings_a_loader(monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = ModelLoader(
        "shelf", lambda name, _: name.startswith("shelf:"), lambda name, how: load_folder(name[6:], how)
    )
    point = SimpleNamespace(name="shelf", dist=None, load=lambda: shelf)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [point] if group == LOADERS.group else [])
    registry = Registry(LOADERS.kind, ModelLoader, home="unmask.models.loading", group=LOADERS.group)
    monkeypatch.setattr("unmask.models.loading.LOADERS", registry)
    folder = zoo.folder("bert-uncased")
    assert open_lm(f"shelf:{folder}").facts.fingerprint == open_lm(folder).facts.fingerprint


def test_a_path_is_never_the_name_of_a_repository() -> None:
    with pytest.raises(ModelError, match="no folder"):
        open_lm(Path("owner/name"))
    with pytest.raises(ModelError, match="no folder"):
        open_lm(Path("builtin-dose"))
