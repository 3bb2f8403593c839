"""What every method trains on, erases or refuses: a mistake here would mitigate another bias than its name says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import zoo
from mitigate.tiny import CORPUS, make_context, make_options
from unmask import data
from unmask.core.errors import DataError, ModelError, UnknownName
from unmask.data.texts import TrainingCorpus
from unmask.mitigate import METHODS, find
from unmask.mitigate.methods.cda import counterfactual_copies, word_entries
from unmask.mitigate.methods.dropout import with_dropout

TRAINED = ("cda", "cda-kaneko", "cds", "dropout")


@pytest.fixture
def trained_texts(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The texts that a method trains on."""
    texts: list[list[str]] = []
    from unmask.mitigate import mlm

    def record(context: Any, given: Sequence[str]) -> Any:
        texts.append(list(given))
        return plain(context, given)

    plain = mlm.tokenize_texts
    monkeypatch.setattr(mlm, "tokenize_texts", record)
    return texts


@pytest.mark.thorough
def test_cda_trains_on_every_document_and_on_its_counterfactual(tmp_path: Path, trained_texts: list[list[str]]) -> None:
    done = find("cda").apply(make_context(tmp_path), CORPUS)
    (texts,) = trained_texts
    assert texts[:4] == [
        "He is a doctor. The nurse saw him at work.",
        "She is a doctor. The nurse saw her at work.",
        "She is a teacher. Her brother likes the garden.",
        "He is a teacher. His sister likes the garden.",
    ]
    assert texts.count("The weather was bad all week.") == 1
    assert "James met Linda. She told him that her car was new." in texts
    assert len(texts) == 6 + 4
    assert done.facts["counterfactuals"] == 4
    assert done.trained is not None
    assert done.trained.steps == 3  # ten rows, four at a time


@pytest.mark.thorough
def test_names_are_swapped_on_request(tmp_path: Path, trained_texts: list[list[str]]) -> None:
    find("cda").apply(make_context(tmp_path, names=True), CORPUS)
    assert "Mary met Robert. She told him that her car was new." in trained_texts[0]


@pytest.mark.thorough
def test_cds_trains_on_each_document_or_its_counterfactual(tmp_path: Path, trained_texts: list[list[str]]) -> None:
    find("cda").apply(make_context(tmp_path / "a", names=True), CORPUS)
    both = set(trained_texts[0])
    for seed in range(3):
        find("cds").apply(make_context(tmp_path / f"{seed}", method="cds", lr=5e-5, seed=seed), CORPUS)
    assert all(len(texts) == 6 and set(texts) <= both for texts in trained_texts[1:])
    assert len({tuple(texts) for texts in trained_texts[1:]}) > 1
    tails = np.random.default_rng((0, 2)).random(6) < 0.5
    plain = [" ".join(one) for one in CORPUS.documents]
    for text, original, tail in zip(trained_texts[1], plain, tails, strict=True):
        assert (text == original) == (not tail or original.startswith(("The weather", "The engineer")))


@pytest.mark.thorough
@pytest.mark.parametrize(("axis", "text"), [("religion", "The mosque was full."), ("race", "Asian people voted.")])
def test_other_axes_are_swapped(tmp_path: Path, trained_texts: list[list[str]], axis: str, text: str) -> None:
    find("cda").apply(make_context(tmp_path, axis=axis), TrainingCorpus(((text,),), ()))
    assert trained_texts[0][0] == text
    assert len(trained_texts[0]) == 2


@pytest.mark.thorough
def test_reminders_are_repeated(tmp_path: Path, trained_texts: list[list[str]]) -> None:
    find("dropout").apply(make_context(tmp_path, method="dropout", remind=2), CORPUS)
    known = data.read("reminders")
    assert len(trained_texts[0]) == 6 + 2 * len(known)
    assert trained_texts[0].count(known[0].sentence) == 2


@pytest.mark.parametrize("method", ["cda", "cds", "cda-kaneko"])
def test_text_without_gendered_words_is_refused(tmp_path: Path, method: str) -> None:
    with pytest.raises(DataError, match="none of the 1"):
        find(method).apply(make_context(tmp_path, method=method), TrainingCorpus((("The rain fell.",),), ()))


KANEKO = [("he", "she"), ("his", "her"), ("his", "hers"), ("man", "woman"), ("him", "her")]


@pytest.mark.parametrize(
    ("sentence", "wanted"),
    [
        ("She saw the woman", []),  # feminine words only: no counterfactual
        ("He saw the Man", ["she saw the Man", "she saw the woman"]),  # one copy an entry, step by step
        ("the man, he said", ["the man, she said"]),  # punctuation hides a word
        ("He saw her", ["she saw him"]),  # the last entry of her
        ("his hat", ["her hat", "hers hat"]),
    ],
)
def test_copies_as_the_published_code_writes_them(sentence: str, wanted: list[str]) -> None:
    assert counterfactual_copies(sentence, KANEKO) == wanted


def test_the_package_pairs_end_with_him_and_her() -> None:
    entries = word_entries(None)
    assert entries[-1] == ("him", "her")
    assert counterfactual_copies("He saw her", entries) == ["she saw him"]


def test_a_list_with_repeated_words_keeps_its_pairs_and_their_order(tmp_path: Path) -> None:
    """The published lists have (his, her) and (him, her): pairs after them were read as (feminine, masculine)."""
    path = tmp_path / "pairs.csv"
    path.write_text("\n".join(",".join(pair) for pair in KANEKO))
    assert word_entries(path) == KANEKO


@pytest.mark.thorough
def test_cda_kaneko_keeps_every_sentence_and_adds_copies(tmp_path: Path, trained_texts: list[list[str]]) -> None:
    find("cda-kaneko").apply(make_context(tmp_path, method="cda-kaneko"), CORPUS)
    assert trained_texts[0][: len(CORPUS.sentences)] == CORPUS.sentences
    assert trained_texts[0][len(CORPUS.sentences) :][:2] == ["she is a doctor.", "The nurse saw her at work."]


@pytest.mark.parametrize(("name", "fields"), [
    ("bert-uncased", {"hidden_dropout_prob": 0.2, "attention_probs_dropout_prob": 0.15}),
    ("distilbert", {"dropout": 0.2, "attention_dropout": 0.15}),
    ("gpt2", {"resid_pdrop": 0.2, "embd_pdrop": 0.2, "attn_pdrop": 0.15}),
])  # fmt: skip
def test_only_dropout_changes(name: str, fields: dict[str, float]) -> None:
    model, _ = zoo.make(name)
    fresh, changed = with_dropout(model, 0.2, 0.15)
    assert changed == fields
    ids = torch.tensor([[5, 6, 7, 8]])
    assert torch.equal(fresh(input_ids=ids).logits, model(input_ids=ids).logits)
    fresh.train()
    assert not torch.equal(fresh(input_ids=ids).logits, model(input_ids=ids).logits)
    probabilities = {module.p for module in fresh.modules() if isinstance(module, torch.nn.Dropout)}
    assert probabilities <= {0.2, 0.15, 0.0}
    assert {0.2, 0.15} & probabilities


@pytest.mark.thorough
def test_alberts_published_exception_has_a_name(tmp_path: Path) -> None:
    found = {name: find(name).apply(make_context(tmp_path / name, "albert", name), CORPUS).facts["dropout"]
             for name in ("dropout", "dropout-bias-bench")}  # fmt: skip
    assert set(found["dropout"].values()) == {0.2, 0.15}
    assert set(found["dropout-bias-bench"].values()) == {0.05}


@pytest.mark.thorough
def test_the_checkpoint_keeps_its_own_dropout(tmp_path: Path) -> None:
    context = make_context(tmp_path, method="dropout")
    before = context.model.config.hidden_dropout_prob
    done = find("dropout").apply(context, CORPUS)
    assert done.model.config.hidden_dropout_prob == before != 0.2


def test_a_model_without_dropout_is_refused() -> None:
    model = torch.nn.Module()
    model.config = type("Config", (), {})()  # type: ignore[assignment]
    with pytest.raises(ModelError, match="no dropout to increase"):
        with_dropout(model, 0.2, 0.15)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["gpt2", "llama"])
@pytest.mark.parametrize("method", ["cda", "cds", "dropout"])
def test_causal_models_are_trained(tmp_path: Path, name: str, method: str) -> None:
    context = make_context(tmp_path, name, method)
    before = {key: one.clone() for key, one in context.model.state_dict().items()}
    done = find(method).apply(context, CORPUS)
    assert any(not torch.equal(one, before[key]) for key, one in done.model.state_dict().items())


def test_every_method_is_documented() -> None:
    for one in METHODS.values():
        assert one.about[0].islower()
        assert not one.about.endswith(".")
        assert one.citation
    assert {name for name, one in METHODS.items() if one.published} == {"cda-kaneko", "at-code", "dropout-bias-bench"}


def test_unknown_method() -> None:
    with pytest.raises(UnknownName, match="cda"):
        find("cdaa")


@pytest.mark.parametrize(("method", "name", "value"), [
    ("cda", "axis", "age"), ("cds", "remind", 4), ("at", "layers", "first"), ("dropout", "length", 3),
    ("at", "strength", 1.0),
])  # fmt: skip
def test_invalid_options(method: str, name: str, value: Any) -> None:
    with pytest.raises(DataError, match=name):
        make_options(method, **{name: value})
