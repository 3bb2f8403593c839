"""Debiasing by orthogonal attributes and targets: another loss or other word positions would be another method."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import zoo
from mitigate.tiny import CORPUS, make_context
from unmask.core.errors import DataError
from unmask.data.texts import TrainingCorpus
from unmask.mitigate import find
from unmask.mitigate.methods.at import AtOptions
from unmask.mitigate.methods.at.losses import AtCollator, AtExample, AtLoss, AttributeVectors, attribute_vectors
from unmask.mitigate.methods.at.sentences import WordOccurrence, attribute_words, find_occurrences, target_words
from unmask.models import open_lm

TEXTS = [
    "He is a doctor.",
    "She saw him.",
    "The engineer wrote to a plumber.",
    "A woman and her mother left.",
    "It rained.",
]


def lm() -> Any:
    return open_lm(zoo.folder("bert-uncased"))


def test_which_sentences_are_attributes_and_which_are_targets() -> None:
    attributes, targets = find_occurrences(lm(), TEXTS, 64)
    assert {(one.word, one.group) for one in attributes} == {
        ("he", "male"), ("woman", "female"), ("her", "female"), ("mother", "female"),
    }  # fmt: skip
    assert {one.word for one in targets} == {"engineer", "plumber"}


def test_positions_cover_exactly_the_word() -> None:
    model = lm()
    for one in (row for some in find_occurrences(model, TEXTS, 64) for row in some):
        assert model.text([one.ids[place] for place in one.positions]).replace(" ", "") == one.word


def test_lists_do_not_overlap() -> None:
    attributes = attribute_words()
    assert len(attributes["male"]) > 200
    assert len(target_words()) > 200
    assert not set(attributes["male"]) & set(attributes["female"])
    assert not set(target_words()) & {word for group in attributes.values() for word in group}


def states(model: Any, ids: tuple[int, ...]) -> Any:
    with torch.no_grad():
        return model.base_model(input_ids=torch.tensor([ids]), output_hidden_states=True).hidden_states


@pytest.mark.parametrize("by_word", [True, False])
def test_vectors_are_means_of_states(by_word: bool) -> None:
    model = lm()
    rows, _ = find_occurrences(model, [*TEXTS, "She met the woman at a long dinner."], 64)
    with torch.no_grad():
        fast = attribute_vectors(model.network.model, rows, model.tokenizer.pad_token_id, by_word=by_word)
    names = sorted({one.word if by_word else one.group for one in rows})
    for layer in range(fast.shape[0]):
        for number, name in enumerate(names):
            mine = [one for one in rows if name in (one.word, one.group)]
            slow = torch.stack(
                [states(model.network.model, one.ids)[layer][0, list(one.positions)].mean(0) for one in mine]
            ).mean(0)
            assert torch.allclose(fast[layer, number], slow, atol=1e-5)


def batch_of(examples: list[AtExample], tokenizer: Any, *, shifted: bool = False) -> Any:
    return AtCollator(tokenizer, tokenizer.pad_token_id, shifted=shifted)(examples, np.random.default_rng(0))


@pytest.mark.thorough
@pytest.mark.parametrize("level", ["token", "sentence"])
@pytest.mark.parametrize("layers", ["all", "last"])
def test_the_loss_equals_a_slow_loop(tmp_path: Path, level: str, layers: str) -> None:
    opened = lm()
    model, tokenizer = opened.network.model, opened.tokenizer
    attributes, targets = find_occurrences(opened, TEXTS, 64)
    other, _ = zoo.make("bert-uncased")
    with torch.no_grad():
        other.bert.embeddings.word_embeddings.weight += 0.01
    vectors = AttributeVectors(attributes, tokenizer.pad_token_id, tmp_path, by_word=True, unit=True)
    with torch.no_grad():
        vectors.update(0, model)
    examples = [AtExample(targets[0], attributes[0]), AtExample(targets[1], attributes[-1])]
    loss = AtLoss(vectors, other, AtOptions(level=level, layers=layers, strength=0.3))
    with torch.no_grad():
        fast = loss(model, batch_of(examples, tokenizer)).item()
    inner, moved = [], []
    count = vectors.current.shape[0]
    for example in examples:
        mine = states(model, example.target.ids)
        for layer in range(count) if layers == "all" else [count - 1]:
            positions = (
                [[p] for p in range(len(example.target.ids))]
                if level == "sentence"
                else [list(example.target.positions)]
            )
            for some in positions:
                word = mine[layer][0, some].mean(0)
                inner.append([(float(word @ one)) ** 2 for one in vectors.current[layer]])
        now, then = states(model, example.attribute.ids), states(other, example.attribute.ids)
        for layer in range(count):
            moved += [float(one.pow(2).sum()) for one in (now[layer] - then[layer])[0]]
    assert fast == pytest.approx(0.3 * np.mean(inner) + 0.7 * np.mean(moved), rel=1e-4)


def test_the_published_loss_squares_a_mean(tmp_path: Path) -> None:
    opened = lm()
    model, tokenizer = opened.network.model, opened.tokenizer
    attributes, targets = find_occurrences(opened, TEXTS, 64)
    vectors = AttributeVectors(attributes, tokenizer.pad_token_id, tmp_path, by_word=False, unit=False)
    with torch.no_grad():
        vectors.update(0, model)
    example = AtExample(targets[0], attributes[0])
    with torch.no_grad():
        fast = AtLoss(vectors, model, AtOptions(), as_code=True)(
            model, batch_of([example], tokenizer, shifted=True)
        ).item()
    several = len(example.target.positions) > 1
    positions = [p - 1 for p in example.target.positions] if several else list(example.target.positions)
    mine = states(model, example.target.ids)
    inner = np.array(
        [
            [float(mine[layer][0, positions].mean(0) @ one) for one in vectors.current[layer]]
            for layer in range(len(mine))
        ]
    )
    assert fast == pytest.approx(0.2 * (inner.mean(0) ** 2).sum(), rel=1e-4)


def test_published_positions_are_off_by_one_if_a_word_has_several_tokens() -> None:
    attribute = WordOccurrence((1, 2), "he", "male", (1,))
    examples = [
        AtExample(WordOccurrence((1, 5, 6, 7, 2), "ab", "target", (2, 3)), attribute),
        AtExample(WordOccurrence((1, 5, 2), "a", "target", (1,)), attribute),
    ]
    _, tokenizer = zoo.make("bert-uncased")
    right, wrong = (batch_of(examples, tokenizer, shifted=one)["at"].tolist() for one in (False, True))
    assert right == [[0, 0, 0.5, 0.5, 0], [0, 1, 0, 0, 0]]
    assert wrong == [[0, 0.5, 0.5, 0, 0], [0.5, 0, 0, 0, 0]]
    one = batch_of(examples[1:], tokenizer, shifted=True)["at"].tolist()
    assert one == [[0, 1, 0]]


def test_vectors_of_an_epoch_are_stored_for_resuming(tmp_path: Path) -> None:
    opened = lm()
    rows, _ = find_occurrences(opened, TEXTS, 64)
    vectors = AttributeVectors(rows, opened.tokenizer.pad_token_id, tmp_path, by_word=True, unit=True)
    with torch.no_grad():
        vectors.update(1, opened.network.model)
        first = vectors.current
        opened.network.model.bert.embeddings.word_embeddings.weight += 1
        vectors.update(1, opened.network.model)
    assert torch.equal(first, vectors.current)
    assert torch.allclose(first.norm(dim=-1), torch.ones(first.shape[:2]))
    vectors.delete_files()
    assert not list(tmp_path.glob("*")) if tmp_path.exists() else True


@pytest.mark.thorough
@pytest.mark.parametrize("method", ["at", "at-code"])
def test_the_projection_shrinks(tmp_path: Path, method: str) -> None:
    context = make_context(tmp_path, method=method, remind=1)
    done = find(method).apply(context, CORPUS)
    assert done.trained is not None
    assert done.facts["reminders"] == 417
    assert done.facts["target_sentences"] == 2
    assert not (tmp_path / "work").exists()


def test_at_refuses_too_little_text(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="at needs both kinds"):
        find("at").apply(make_context(tmp_path, method="at"), TrainingCorpus((("He is a doctor.",),), ()))


def test_an_interrupted_training_is_known_by_what_determines_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key with the options of other methods, or a path, would refuse to resume the same training."""
    keys: list[str] = []

    def stop(*_: Any, key: str, **__: Any) -> None:
        keys.append(json.dumps(key))
        raise InterruptedError

    monkeypatch.setattr("unmask.training.train", stop)
    for options in ({}, {"items": 40}, {"strength": 0.3}, {"remind": 1}):
        with pytest.raises(InterruptedError):
            find("at").apply(make_context(tmp_path, method="at", **options), CORPUS)
    assert keys[0] == keys[1]
    assert len({*keys}) == 3
