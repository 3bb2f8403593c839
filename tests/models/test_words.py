"""The likeliest words against plain loops over the whole vocabulary, one sentence at a time."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as hf

import reference
import zoo
from unmask.core.errors import DataError
from unmask.models import Lm, open_lm
from unmask.models.fill import SlotPrediction, mask_slot, top_words

MASKED = ("bert-uncased", "roberta", "roberta-plainmask", "albert", "xlm-roberta", "deberta-v2", "modernbert")
CAUSAL = ("gpt2", "llama", "opt", "qwen2")
TEXTS = (
    "The woman who works in our building is a {slot}.",
    "The nurse was very gentle, and I remember {slot} name.",
    '"Who did it?" asked the boy. "{slot} did it."',
    "{slot} was very kind.",
)


@cache
def opened(name: str) -> Lm:
    return open_lm(zoo.folder(name))


# ---------------------------------------------------------------------------------------- masked


def plain_masked(model: Any, tokenizer: Any, text: str) -> list[tuple[str, float]]:
    """Every token that alone makes a word in the slot, by its probability where it stands."""
    before, after = text.split("{slot}")
    place = 1 + len(reference.pieces(tokenizer, before.rstrip(" "))) if before else 1
    found, asked = [], set()
    for token in range(len(tokenizer)):
        word = tokenizer.decode([token]).strip()
        if not word.isalpha():
            continue
        encoding = reference.encode(tokenizer, before + word + after)
        if encoding["input_ids"][place] != token:
            continue
        rest = reference.encode(tokenizer, before + "a" + after)["input_ids"]
        if encoding["input_ids"][place + 1 :] != rest[place + 1 :]:
            continue
        hidden = reference.hidden(tokenizer, encoding, [place])
        asked.add(tuple(hidden["input_ids"]))
        found.append((word, token))
    assert len(asked) == 1  # all of them leave one and the same sentence when hidden
    logits = reference.run(model, hidden).logits[0, place].double()
    probabilities = torch.softmax(logits, -1).tolist()
    return sorted(((word, probabilities[token]) for word, token in found), key=lambda one: -one[1])


@pytest.mark.parametrize("name", MASKED)
@pytest.mark.parametrize("text", TEXTS)
def test_masked_models_give_the_likeliest_tokens_that_are_words(name: str, text: str) -> None:
    model, tokenizer = reference.load(zoo.folder(name))
    expected = plain_masked(model, tokenizer, text)
    (found,) = top_words(opened(name), [text], 7)
    assert [word.text for word in found.words] == [word for word, _ in expected[:7]]
    assert [word.probability for word in found.words] == pytest.approx([p for _, p in expected[:7]], rel=1e-4)
    assert found.sure
    assert found.left == 0


@pytest.mark.parametrize("name", MASKED)
def test_the_mask_takes_the_place_of_a_word_and_its_space(name: str) -> None:
    lm = opened(name)
    for text in TEXTS:
        before, after = text.split("{slot}")
        ids, place = mask_slot(lm, before, after)
        assert lm.mask_positions(ids) == (place,)
        word = lm.encode(before + "you" + after).ids
        if len(word) == len(ids):
            assert [n for n, (a, b) in enumerate(zip(ids, word, strict=True)) if a != b] == [place]


def test_a_mask_written_as_text_after_a_space_would_be_another_question() -> None:
    lm = opened("roberta-plainmask")
    ids, _ = mask_slot(lm, "The woman is a ", ".")
    assert ids != lm.encode(f"The woman is a {lm.mask_token}.").ids


def test_more_words_than_there_are_gives_all_of_them() -> None:
    model, tokenizer = reference.load(zoo.folder("roberta"))
    (found,) = top_words(opened("roberta"), [TEXTS[0]], 10_000)
    assert len(found.words) == len(plain_masked(model, tokenizer, TEXTS[0]))
    assert not found.sure


# ---------------------------------------------------------------------------------------- causal


def surfaces(tokenizer: Any, size: int) -> list[str]:
    """What each token adds to a text."""
    anchor = reference.pieces(tokenizer, "a")[-1]
    texts = []
    for token in range(size):
        special = token in tokenizer.all_special_ids or token >= len(tokenizer)
        texts.append("\x00" if special else tokenizer.decode([anchor, token])[1:])
    return texts


def next_token(model: Any, ids: list[int]) -> list[float]:
    logits = reference.run(model, {"input_ids": ids}).logits[0, -1].double()
    return list(torch.softmax(logits, -1).tolist())


def context_of(tokenizer: Any, before: str) -> list[int]:
    begin = [] if tokenizer.bos_token_id is None else [tokenizer.bos_token_id]
    return begin + reference.pieces(tokenizer, before.rstrip(" "))


def plain_causal(folder: Path, before: str, rows: int, least: float = 0.0) -> tuple[dict[str, float], float]:
    """Follow the likeliest `rows` beginnings likelier than `least`, whole texts at a time.

    Words with their probability, and the probability of beginnings not followed.
    """
    model, tokenizer = reference.load(folder)
    texts = surfaces(tokenizer, model.config.vocab_size)
    context, found = context_of(tokenizer, before), {}
    openings = [(1.0, [], "")]
    for _ in range(rows):
        best = max(range(len(openings)), key=lambda n: openings[n][0])
        if openings[best][0] < least:
            break
        chance, path, text = openings.pop(best)
        for token, value in enumerate(next_token(model, context + path)):
            whole = text + texts[token]
            if "\ufffd" in whole:
                continue
            if whole == " " and before.endswith(" "):
                openings.append((chance * value, [*path, token], whole))
            if before.endswith(" ") and not whole.startswith(" "):
                continue
            bare = whole[1:] if before.endswith(" ") else whole
            letters = 0
            while letters < len(bare) and bare[letters].isalnum():
                letters += 1
            if not bare[:letters].isalpha():
                continue
            if letters == len(bare):
                openings.append((chance * value, [*path, token], whole))
            else:
                found[bare[:letters]] = found.get(bare[:letters], 0.0) + chance * value
    return found, sum(one[0] for one in openings)


@pytest.mark.parametrize("name", CAUSAL)
@pytest.mark.parametrize("text", TEXTS[:3])
def test_causal_models_give_the_next_words(name: str, text: str) -> None:
    (found,) = top_words(opened(name), [text], 3, max_rows=40)
    before = text.partition("{slot}")[0]
    expected, left = plain_causal(zoo.folder(name), before, found.rows)
    best = sorted(expected.items(), key=lambda one: -one[1])[:3]
    assert [word.text for word in found.words] == [word for word, _ in best]
    assert [word.probability for word in found.words] == pytest.approx([p for _, p in best], rel=1e-4)
    assert found.left == pytest.approx(left, rel=1e-4)


TINY = ("a", "b", "ab", "Ġ", "Ġa", "Ġb", "Ġab", "Ġba", ".", "1", "a.", "Ġb,", "é", "Ã", "©")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A causal model of sixteen tokens: two letters, rival spellings, signs inside tokens, a half é."""
    folder = tmp_path_factory.mktemp("tiny")
    tokenizer = hf.GPT2Tokenizer(vocab=zoo.numbered(TINY, ("<|endoftext|>",)), merges=[])
    config = hf.GPT2Config(vocab_size=len(tokenizer), n_embd=16, n_layer=2, n_head=2, n_positions=40)
    model = hf.GPT2LMHeadModel(config).eval()
    zoo.randomise(model, seed=3)
    zoo.save(folder, model, tokenizer)
    return folder


def enumerated(folder: Path, before: str, least: float) -> tuple[dict[str, float], float]:
    """Every word whose beginnings all have that probability, spellings added up, and what is left."""
    return plain_causal(folder, before, rows=100_000, least=least)


@pytest.mark.parametrize("before", ["ab ba ", "ab ba", "ab. "])
def test_words_of_a_tiny_vocabulary_are_those_of_all_that_could_follow(tiny: Path, before: str) -> None:
    every, unseen = enumerated(tiny, before, least=1e-7)
    assert unseen < 1e-4
    (found,) = top_words(open_lm(tiny), [before + "{slot}"], 8, max_rows=100_000)
    assert found.sure
    assert len(found.words) == 8
    for word in found.words:
        assert word.probability <= every[word.text] + unseen
        assert every[word.text] <= word.probability + found.left
    likely = sorted(every.values(), reverse=True)[7]
    assert found.words[-1].probability >= likely - found.left
    (wider,) = top_words(open_lm(tiny), [before + "{slot}"], 10_000, max_rows=len(every))
    for word in wider.words[:8]:
        assert word.probability == pytest.approx(every[word.text], abs=wider.left + unseen)
    assert wider.left < found.left


def test_all_probability_is_accounted_for(tiny: Path) -> None:
    lm = open_lm(tiny)
    (found,) = top_words(lm, ["ab {slot}"], 10_000, max_rows=300)
    assert found.rows == 300
    assert not found.sure
    total = sum(word.probability for word in found.words) + found.left
    first = next_token(*_loaded(tiny, "ab"))
    begins = sum(p for p, token in zip(first, TINY, strict=False) if token.startswith("Ġ"))
    assert total <= begins
    assert total > 0.5 * begins  # the rest: two spaces, digits and half characters


def _loaded(folder: Path, before: str) -> tuple[Any, list[int]]:
    model, tokenizer = reference.load(folder)
    return model, context_of(tokenizer, before)


def test_spellings_of_one_word_are_added(tiny: Path) -> None:
    """`ab` is one token, or ` a` and `b`, or a space and either of these."""
    model, context = _loaded(tiny, "b")
    expected = 0.0
    for spelling in ([6], [4, 1], [3, 2], [3, 0, 1]):
        ids, chance = list(context), 1.0
        for token in spelling:
            chance *= next_token(model, ids)[token]
            ids.append(token)
        ended = next_token(model, ids)
        expected += chance * sum(ended[token] for token in (3, 4, 5, 6, 7, 8, 11, 15))
    (found,) = top_words(open_lm(tiny), ["b {slot}"], 10_000, max_rows=400)
    (word,) = [word for word in found.words if word.text == "ab"]
    assert word.probability == pytest.approx(expected, rel=1e-5)


def test_what_stands_behind_the_slot_does_not_matter_to_a_causal_model() -> None:
    one, other = top_words(opened("gpt2"), ["He is a {slot}.", "He is a {slot} in the town."], 2, max_rows=30)
    assert one == other


def test_the_search_stays_within_its_means_and_says_so() -> None:
    (found,) = top_words(opened("gpt2"), [TEXTS[0]], 2, max_rows=2)
    assert found.rows == 2
    assert not found.sure
    assert found.left > 0


def test_a_context_of_full_length_leaves_no_room_for_longer_words() -> None:
    lm = opened("gpt2")
    text = "a" + " a" * (lm.facts.max_length - 2)
    assert len(lm.encode(text).ids) == lm.facts.max_length
    (found,) = top_words(lm, [f"{text} {{slot}}"], 2)
    assert found.rows == 1
    assert found.words == ()
    assert found.left > 0.3


# ------------------------------------------------------------------------------------ all of them


@pytest.mark.parametrize("name", ["roberta", "gpt2"])
def test_company_changes_nothing(name: str) -> None:
    lm = opened(name)
    together = top_words(lm, TEXTS[:3], 2, max_rows=20)
    for text, found in zip(TEXTS, together, strict=False):
        (alone,) = top_words(lm, [text], 2, max_rows=20)
        assert [word.text for word in alone.words] == [word.text for word in found.words]
        assert alone.left == pytest.approx(found.left, rel=1e-4)


@pytest.mark.parametrize("name", ["bert-uncased", "llama"])
def test_a_text_too_long_is_left_out_with_its_reason(name: str) -> None:
    long, short = top_words(opened(name), ["He said " * 200 + "{slot}.", "He said {slot}."], 2, max_rows=20)
    assert long.words == ()
    assert "too long" in long.reason
    assert len(short.words) == 2


def test_a_causal_model_needs_something_before_the_slot() -> None:
    (found,) = top_words(opened("gpt2"), ["{slot} was here."], 2)
    assert found == SlotPrediction((), reason="no text before the slot: a causal model has nothing to go on")


@pytest.mark.parametrize("text", ["no slot", "{slot} and {slot}"])
def test_one_slot_is_expected(text: str) -> None:
    with pytest.raises(DataError, match="expected once"):
        top_words(opened("gpt2"), [text], 2)


def test_no_words_cannot_be_asked_for() -> None:
    with pytest.raises(DataError, match="at least 1"):
        top_words(opened("gpt2"), TEXTS[:1], 0)


def test_a_slot_where_no_word_of_one_token_fits_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unmask.models.fill.words.PLACEHOLDER_WORDS", ("xylophone", "quartz"))
    (found,) = top_words(opened("bert-uncased"), TEXTS[:1], 2)
    assert found == SlotPrediction((), reason="no word of one token stands alone in the slot")
