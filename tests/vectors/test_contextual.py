"""Vectors of texts and words from tiny models, against plain calls of transformers, one text at a time."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import reference
import zoo
from unmask.core.errors import DataError, ModelError
from unmask.core.types import Floats
from unmask.models import Lm, open_lm
from unmask.vectors.association import cseat, seat
from unmask.vectors.ceat import corpus_vectors
from unmask.vectors.contextual import (
    positions_by_alignment,
    positions_by_offsets,
    text_vectors,
    word_token_positions,
    word_vectors,
)
from unmask.vectors.questions import Group, Question, read_questions
from unmask.vectors.spec import VectorSettings
from vectors import weat_reference

MASKED = ("bert-uncased", "roberta", "albert", "xlm-roberta", "modernbert", "distilbert")
CAUSAL = ("gpt2", "llama", "opt", "qwen2")
TEXTS = ("This is John.", "The nurse was unhappy today.", "Shaniqua is a person, isn't she?", "This is John.")


@cache
def lm(name: str) -> Lm:
    return open_lm(zoo.folder(name))


@cache
def load_model(name: str) -> tuple[Any, Any]:
    return reference.load(zoo.folder(name))


def causal_ids(name: str, text: str) -> list[int]:
    _, tokenizer = load_model(name)
    return reference.fed(tokenizer, text) if name in CAUSAL else reference.encode(tokenizer, text)["input_ids"]


def states(name: str, text: str, layer: int) -> Floats:
    """Hidden states of the full model, one row per token."""
    with torch.no_grad():
        output = load_model(name)[0](input_ids=torch.tensor([causal_ids(name, text)]), output_hidden_states=True)
    return output.hidden_states[layer][0].double().numpy()  # type: ignore[no-any-return]


def own(name: str, text: str) -> list[int]:
    """Positions of the content tokens."""
    _, tokenizer = load_model(name)
    if name in CAUSAL:
        return list(range(0 if tokenizer.bos_token_id is None else 1, len(causal_ids(name, text))))
    return reference.content(tokenizer, reference.encode(tokenizer, text), text)


@pytest.mark.parametrize("layer", [-1, 1, 0])
@pytest.mark.parametrize("name", [*MASKED, *CAUSAL])
def test_text_vectors_are_those_of_plain_calls(name: str, layer: int) -> None:
    every = [states(name, text, layer) for text in TEXTS]
    content = [own(name, text) for text in TEXTS]
    expected = {
        "mean": [rows[positions].mean(0) for rows, positions in zip(every, content, strict=True)],
        "mean-all": [rows.mean(0) for rows in every],
        "last": [rows[positions[-1]] for rows, positions in zip(every, content, strict=True)],
        "first": [rows[0] for rows in every],
    }
    for pooling in ("mean", "mean-all", "last") if name in CAUSAL else ("mean", "mean-all", "last", "first"):
        found = text_vectors(lm(name), TEXTS, layer=layer, pooling=pooling)
        np.testing.assert_allclose(found, expected[pooling], rtol=1e-4, atol=1e-5)
    published = text_vectors(lm(name), TEXTS, layer=layer)
    np.testing.assert_allclose(published, expected["last" if name in CAUSAL else "first"], rtol=1e-4, atol=1e-5)


def letters(name: str, ids: list[int]) -> str:
    return "".join(load_model(name)[1].decode(ids).split()).lower()


@pytest.mark.parametrize("word", ["nurse", "unhappy", "The", "today"])
@pytest.mark.parametrize("name", [*MASKED, *CAUSAL])
def test_a_words_tokens_spell_the_word(name: str, word: str) -> None:
    text = TEXTS[1]
    begin = text.index(word)
    span = (begin, begin + len(word))
    positions = word_token_positions(lm(name), text, span)
    ids = causal_ids(name, text)
    assert letters(name, [ids[place] for place in positions]) == word.lower()
    assert list(positions) == list(range(positions[0], positions[-1] + 1))
    aligned = positions_by_alignment(lm(name), text, span)
    assert letters(name, [ids[place] for place in aligned]) == word.lower()
    assert set(positions_by_offsets(lm(name), text, span)) <= set(aligned)  # a space of its own is the word's or not
    expected = states(name, text, -1)[list(positions)].mean(0)
    np.testing.assert_allclose(word_vectors(lm(name), [(text, span)])[0], expected, rtol=1e-4, atol=1e-5)


def test_two_words_of_one_text_and_batches_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    placed = [(TEXTS[1], (4, 9)), (TEXTS[0], (8, 12)), (TEXTS[1], (14, 21)), (TEXTS[2], (0, 8))]
    together = word_vectors(lm("roberta"), placed)
    monkeypatch.setattr("unmask.models.states.TOKENS", 1)
    alone = [word_vectors(lm("roberta"), [one])[0] for one in placed]
    np.testing.assert_allclose(together, alone, rtol=1e-5, atol=1e-6)
    assert np.abs(together[0] - together[2]).max() > 1e-2


def test_invalid_requests_are_refused() -> None:
    with pytest.raises(ModelError, match="layers 0 to 3"):
        text_vectors(lm("bert-uncased"), TEXTS, layer=4)
    with pytest.raises(ModelError, match="first token does not attend"):
        text_vectors(lm("gpt2"), TEXTS, pooling="first")
    with pytest.raises(DataError, match="too long"):
        text_vectors(lm("bert-uncased"), ["so " * 500])
    with pytest.raises(DataError, match="no text"):
        text_vectors(lm("bert-uncased"), [""])
    with pytest.raises(ModelError, match="no separate token for"):
        word_token_positions(lm("bert-uncased"), "a  b", (1, 2))


def part(question: Question, few: int) -> Question:
    """The first few texts of every set."""
    return Question(question.name, *(Group(g.name, g.texts[:few], g.words[:few]) for g in question.groups()))


def plain_sets(name: str, question: Question) -> list[list[Floats]]:
    """The published vector of every text: the first token's, or the last one's of a causal model."""
    position = -1 if name in CAUSAL else 0
    return [[states(name, text, -1)[position] for text in group.texts] for group in question.groups()]


@pytest.mark.parametrize("name", ["bert-uncased", "roberta", "gpt2"])
@pytest.mark.parametrize(("file", "few"), [("weat6", 8), ("weat7", 8), ("sent-weat8", 6)])
def test_seat_and_its_exact_p_are_plain_loops_over_seat_files(name: str, file: str, few: int, data_dir: Path) -> None:
    (whole,) = read_questions(data_dir / "bias_bench" / "seat" / f"{file}.jsonl")
    x, y, a, b = plain_sets(name, part(whole, few))
    found = seat(part(whole, few), lm(name), VectorSettings())
    p, total = weat_reference.exact_p(*weat_reference.values(x, y, a, b))
    assert found.effect.value == pytest.approx(weat_reference.effect(x, y, a, b), abs=1e-4)
    assert (found.p, found.partitions, found.exact) == (pytest.approx(p, abs=1e-12), total, True)


@pytest.mark.thorough
def test_seat_on_a_whole_file_samples_partitions(data_dir: Path) -> None:
    (question,) = read_questions(data_dir / "bias_bench" / "seat" / "sent-weat6.jsonl")
    x, y, a, b = plain_sets("bert-uncased", question)
    found = seat(question, lm("bert-uncased"), VectorSettings())
    assert found.effect.value == pytest.approx(weat_reference.effect(x, y, a, b), abs=1e-4)
    assert found.statistic == pytest.approx(weat_reference.statistic(x, y, a, b), abs=1e-3)
    assert (found.partitions, found.exact) == (100_000, False)
    assert found.effect.low <= found.effect.value <= found.effect.high
    assert found.effect.method == f"bca over {'+'.join(str(len(rows)) for rows in (x, y, a, b))}"
    (words,) = read_questions(data_dir / "bias_bench" / "seat" / "weat6.jsonl")
    by_word = seat(question.with_words(words), lm("bert-uncased"), VectorSettings())
    assert by_word.effect.method == "bca over 8+8+8+8"
    assert (by_word.effect.value, by_word.p) == (found.effect.value, found.p)


@pytest.mark.parametrize("name", ["roberta", "llama"])
def test_cseat_takes_the_word_of_interest(name: str, data_dir: Path) -> None:
    folder = data_dir / "bias_bench" / "seat"
    (sentences,), (words,) = (read_questions(folder / f"{file}.jsonl") for file in ("sent-weat6", "weat6"))
    question = part(sentences.with_words(words), 5)
    sets = []
    for group in question.groups():
        rows = []
        for text, word in zip(group.texts, group.words, strict=True):
            begin = text.index(word)
            positions = word_token_positions(lm(name), text, (begin, begin + len(word)))
            rows.append(states(name, text, 2)[list(positions)].mean(0))
        sets.append(rows)
    found = cseat(question, lm(name), VectorSettings(layer=2))
    assert found.effect.value == pytest.approx(weat_reference.effect(*sets), abs=1e-4)
    assert found.p == weat_reference.exact_p(*weat_reference.values(*sets))[0]


CORPUS = (
    "The nurse sleeps.",
    "A nurse met a doctor.",
    "Nurses nursed.",
    "The nurse sleeps.",
    "A doctor sleeps, says another doctor.",
    "nurse " * 300,
)


def test_contexts_are_whole_words_of_different_sentences() -> None:
    model, settings = lm("bert-uncased"), VectorSettings()
    found = corpus_vectors(model, CORPUS, ["nurse", "doctor", "judge"], settings)
    assert {word: len(rows) for word, rows in found.items()} == {"nurse": 2, "doctor": 2}
    expected = word_vectors(model, [(CORPUS[1], (14, 20)), (CORPUS[4], (2, 8))])
    np.testing.assert_allclose(found["doctor"], expected, rtol=1e-5, atol=1e-6)
    one = corpus_vectors(model, CORPUS, ["nurse", "doctor"], VectorSettings(each=1))
    assert {word: len(rows) for word, rows in one.items()} == {"nurse": 1, "doctor": 1}
    with pytest.raises(DataError, match="none of the 1 words"):
        corpus_vectors(model, CORPUS, ["judge"], settings)
