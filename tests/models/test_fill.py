"""Top words compared with plain loops over the whole vocabulary, one sentence at a time."""

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
def load(name: str) -> Lm:
    return open_lm(zoo.folder(name))


# ---------------------------------------------------------------------------------------- masked


def plain_masked(model: Any, tokenizer: Any, text: str) -> list[tuple[str, float]]:
    """Every token that is a whole word in the slot, sorted by its probability there."""
    before, after = text.split("{slot}")
    position = 1 + len(reference.pieces(tokenizer, before.rstrip(" "))) if before else 1
    words, inputs = [], set()
    for token in range(len(tokenizer)):
        word = tokenizer.decode([token]).strip()
        if not word.isalpha():
            continue
        encoding = reference.encode(tokenizer, before + word + after)
        if encoding["input_ids"][position] != token:
            continue
        rest = reference.encode(tokenizer, before + "a" + after)["input_ids"]
        if encoding["input_ids"][position + 1 :] != rest[position + 1 :]:
            continue
        masked = reference.hidden(tokenizer, encoding, [position])
        inputs.add(tuple(masked["input_ids"]))
        words.append((word, token))
    assert len(inputs) == 1  # masking any of them gives the same input
    logits = reference.run(model, masked).logits[0, position].double()
    probabilities = torch.softmax(logits, -1).tolist()
    return sorted(((word, probabilities[token]) for word, token in words), key=lambda item: -item[1])


@pytest.mark.parametrize("name", MASKED)
@pytest.mark.parametrize("text", TEXTS)
def test_masked_models_give_the_most_probable_tokens_that_are_words(name: str, text: str) -> None:
    model, tokenizer = reference.load(zoo.folder(name))
    expected = plain_masked(model, tokenizer, text)
    (prediction,) = top_words(load(name), [text], 7)
    assert [word.text for word in prediction.words] == [word for word, _ in expected[:7]]
    assert [word.probability for word in prediction.words] == pytest.approx([p for _, p in expected[:7]], rel=1e-4)
    assert prediction.sure
    assert prediction.left == 0


@pytest.mark.parametrize("name", MASKED)
def test_the_mask_replaces_a_word_and_its_space(name: str) -> None:
    lm = load(name)
    for text in TEXTS:
        before, after = text.split("{slot}")
        ids, position = mask_slot(lm, before, after)
        assert lm.mask_positions(ids) == (position,)
        word = lm.encode(before + "you" + after).ids
        if len(word) == len(ids):
            assert [n for n, (a, b) in enumerate(zip(ids, word, strict=True)) if a != b] == [position]


def test_a_mask_written_as_text_after_a_space_would_be_another_input() -> None:
    lm = load("roberta-plainmask")
    ids, _ = mask_slot(lm, "The woman is a ", ".")
    assert ids != lm.encode(f"The woman is a {lm.mask_token}.").ids


@pytest.mark.parametrize(("name", "special"), [("bert-uncased", "[MASK]"), ("gpt2", "<|endoftext|>")])
def test_a_text_with_a_special_token_written_in_it_has_no_words(name: str, special: str) -> None:
    """The model would fill in a word beside a second mask, which the text does not mean."""
    texts = [f"the {special} said that {{slot}} is here", "the man said that {slot} is here"]
    spelt, plain = top_words(load(name), texts, 2, max_rows=20)
    assert spelt == SlotPrediction((), reason=spelt.reason)
    assert f"has {special} written in it" in spelt.reason
    assert (plain,) == top_words(load(name), texts[1:], 2, max_rows=20)
    assert top_words(load(name), texts[:1], 2) == (spelt,)


def test_a_k_larger_than_the_vocabulary_gives_all_words() -> None:
    model, tokenizer = reference.load(zoo.folder("roberta"))
    (prediction,) = top_words(load("roberta"), [TEXTS[0]], 10_000)
    assert len(prediction.words) == len(plain_masked(model, tokenizer, TEXTS[0]))
    assert not prediction.sure


# ---------------------------------------------------------------------------------------- causal


def surfaces(tokenizer: Any, size: int) -> list[str]:
    """The text each token adds."""
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
    """Extend the `rows` most probable prefixes above `least`, whole texts at a time.

    Returns words with their probability, and the total probability of prefixes not extended.
    """
    model, tokenizer = reference.load(folder)
    texts = surfaces(tokenizer, model.config.vocab_size)
    context, words = context_of(tokenizer, before), {}
    prefixes = [(1.0, [], "")]
    for _ in range(rows):
        best = max(range(len(prefixes)), key=lambda n: prefixes[n][0])
        if prefixes[best][0] < least:
            break
        chance, path, text = prefixes.pop(best)
        for token, value in enumerate(next_token(model, context + path)):
            whole = text + texts[token]
            if "\ufffd" in whole:
                continue
            if whole == " " and before.endswith(" "):
                prefixes.append((chance * value, [*path, token], whole))
            if before.endswith(" ") and not whole.startswith(" "):
                continue
            bare = whole[1:] if before.endswith(" ") else whole
            letters = 0
            while letters < len(bare) and bare[letters].isalnum():
                letters += 1
            if not bare[:letters].isalpha():
                continue
            if letters == len(bare):
                prefixes.append((chance * value, [*path, token], whole))
            else:
                words[bare[:letters]] = words.get(bare[:letters], 0.0) + chance * value
    return words, sum(prefix[0] for prefix in prefixes)


@pytest.mark.parametrize("name", CAUSAL)
@pytest.mark.parametrize("text", TEXTS[:3])
def test_causal_models_give_the_next_words(name: str, text: str) -> None:
    (prediction,) = top_words(load(name), [text], 3, max_rows=40)
    before = text.partition("{slot}")[0]
    expected, left = plain_causal(zoo.folder(name), before, prediction.rows)
    best = sorted(expected.items(), key=lambda item: -item[1])[:3]
    assert [word.text for word in prediction.words] == [word for word, _ in best]
    assert [word.probability for word in prediction.words] == pytest.approx([p for _, p in best], rel=1e-4)
    assert prediction.left == pytest.approx(left, rel=1e-4)


TINY = ("a", "b", "ab", "Ġ", "Ġa", "Ġb", "Ġab", "Ġba", ".", "1", "a.", "Ġb,", "é", "Ã", "©")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A causal model of sixteen tokens: two letters, rival spellings, punctuation in tokens, half an é."""
    folder = tmp_path_factory.mktemp("tiny")
    tokenizer = hf.GPT2Tokenizer(vocab=zoo.numbered(TINY, ("<|endoftext|>",)), merges=[])
    config = hf.GPT2Config(vocab_size=len(tokenizer), n_embd=16, n_layer=2, n_head=2, n_positions=40)
    model = hf.GPT2LMHeadModel(config).eval()
    zoo.randomise(model, seed=3)
    zoo.save(folder, model, tokenizer)
    return folder


def enumerate_words(folder: Path, before: str, least: float) -> tuple[dict[str, float], float]:
    """Every word whose prefixes all have at least that probability, spellings summed, and the rest."""
    return plain_causal(folder, before, rows=100_000, least=least)


@pytest.mark.parametrize("before", ["ab ba ", "ab ba", "ab. "])
def test_top_words_of_a_tiny_vocabulary_equal_full_enumeration(tiny: Path, before: str) -> None:
    exact, unseen = enumerate_words(tiny, before, least=1e-7)
    assert unseen < 1e-4
    (prediction,) = top_words(open_lm(tiny), [before + "{slot}"], 8, max_rows=100_000)
    assert prediction.sure
    assert len(prediction.words) == 8
    for word in prediction.words:
        assert word.probability <= exact[word.text] + unseen
        assert exact[word.text] <= word.probability + prediction.left
    likely = sorted(exact.values(), reverse=True)[7]
    assert prediction.words[-1].probability >= likely - prediction.left
    (wider,) = top_words(open_lm(tiny), [before + "{slot}"], 10_000, max_rows=len(exact))
    for word in wider.words[:8]:
        assert word.probability == pytest.approx(exact[word.text], abs=wider.left + unseen)
    assert wider.left < prediction.left


def test_all_probability_is_accounted_for(tiny: Path) -> None:
    lm = open_lm(tiny)
    (prediction,) = top_words(lm, ["ab {slot}"], 10_000, max_rows=300)
    assert prediction.rows == 300
    assert not prediction.sure
    total = sum(word.probability for word in prediction.words) + prediction.left
    first = next_token(*_load_context(tiny, "ab"))
    begins = sum(p for p, token in zip(first, TINY, strict=False) if token.startswith("Ġ"))
    assert total <= begins
    assert total > 0.5 * begins  # the rest: two spaces, digits and partial characters


def _load_context(folder: Path, before: str) -> tuple[Any, list[int]]:
    model, tokenizer = reference.load(folder)
    return model, context_of(tokenizer, before)


def test_spellings_of_one_word_are_summed(tiny: Path) -> None:
    """`ab` is one token, or ` a` and `b`, or a space and either of these."""
    model, context = _load_context(tiny, "b")
    expected = 0.0
    for spelling in ([6], [4, 1], [3, 2], [3, 0, 1]):
        ids, chance = list(context), 1.0
        for token in spelling:
            chance *= next_token(model, ids)[token]
            ids.append(token)
        following = next_token(model, ids)
        expected += chance * sum(following[token] for token in (3, 4, 5, 6, 7, 8, 11, 15))
    (prediction,) = top_words(open_lm(tiny), ["b {slot}"], 10_000, max_rows=400)
    (word,) = [word for word in prediction.words if word.text == "ab"]
    assert word.probability == pytest.approx(expected, rel=1e-5)


def test_a_causal_model_ignores_the_text_after_the_slot() -> None:
    first, second = top_words(load("gpt2"), ["He is a {slot}.", "He is a {slot} in the town."], 2, max_rows=30)
    assert [word.text for word in first.words] == [word.text for word in second.words]
    probabilities = [[word.probability for word in prediction.words] for prediction in (first, second)]
    assert probabilities[0] == pytest.approx(probabilities[1], rel=1e-5)  # rows of a batch round apart


def test_the_search_respects_max_rows_and_reports_it() -> None:
    (prediction,) = top_words(load("gpt2"), [TEXTS[0]], 2, max_rows=2)
    assert prediction.rows == 2
    assert not prediction.sure
    assert prediction.left > 0


def test_a_context_of_max_length_finds_no_longer_words() -> None:
    lm = load("gpt2")
    text = "a" + " a" * (lm.facts.max_length - 2)
    assert len(lm.encode(text).ids) == lm.facts.max_length
    (prediction,) = top_words(lm, [f"{text} {{slot}}"], 2)
    assert prediction.rows == 1
    assert prediction.words == ()
    assert prediction.left > 0.3


# ------------------------------------------------------------------------------------ all of them


@pytest.mark.parametrize("name", ["roberta", "gpt2"])
def test_predictions_do_not_depend_on_the_other_texts(name: str) -> None:
    lm = load(name)
    together = top_words(lm, TEXTS[:3], 2, max_rows=20)
    for text, prediction in zip(TEXTS, together, strict=False):
        (alone,) = top_words(lm, [text], 2, max_rows=20)
        assert [word.text for word in alone.words] == [word.text for word in prediction.words]
        assert alone.left == pytest.approx(prediction.left, rel=1e-4)


@pytest.mark.parametrize("name", ["bert-uncased", "llama"])
def test_a_text_too_long_is_left_out_with_its_reason(name: str) -> None:
    long, short = top_words(load(name), ["He said " * 200 + "{slot}.", "He said {slot}."], 2, max_rows=20)
    assert long.words == ()
    assert "too long" in long.reason
    assert len(short.words) == 2


def test_a_causal_model_needs_text_before_the_slot() -> None:
    (prediction,) = top_words(load("gpt2"), ["{slot} was here."], 2)
    assert prediction == SlotPrediction((), reason="no text before the slot: a causal model has nothing to go on")


@pytest.mark.parametrize("text", ["no slot", "{slot} and {slot}"])
def test_one_slot_is_expected(text: str) -> None:
    with pytest.raises(DataError, match="expected once"):
        top_words(load("gpt2"), [text], 2)


def test_k_must_be_positive() -> None:
    with pytest.raises(DataError, match="at least 1"):
        top_words(load("gpt2"), TEXTS[:1], 0)


def test_a_slot_that_fits_no_one_token_word_gives_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unmask.models.fill.PLACEHOLDER_WORDS", ("xylophone", "quartz"))
    (prediction,) = top_words(load("bert-uncased"), TEXTS[:1], 2)
    assert prediction == SlotPrediction((), reason="no word of one token stands alone in the slot")
