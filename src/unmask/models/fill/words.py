"""The most probable whole words for the slot of a text, for masked and causal models.

A masked model runs once, with one mask token in the slot; words of several tokens are not comparable with
words of one token and are left out. A causal model sees only the text before the slot and predicts the next
word, of any number of tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from unmask.core.errors import DataError, Unscorable
from unmask.core.types import Floats
from unmask.models.fill.letters import is_word
from unmask.models.fill.search import WordSearch
from unmask.models.fill.vocabulary import Vocabulary
from unmask.models.lm import Lm
from unmask.models.states import distributions

SLOT = "{slot}"
MAX_ROWS = 256  # forward passes of a causal model for one slot
TOKENS_PER_CHUNK = 32  # candidate tokens checked together, most probable first
PLACEHOLDER_WORDS = ("the", "it", "and", "you", "of", "in", "he", "to", "a", "I")


@dataclass(frozen=True, slots=True)
class SlotWord:
    """A word and its probability in the slot."""

    text: str
    probability: float


@dataclass(frozen=True, slots=True)
class SlotPrediction:
    """The top words of one slot, most probable first."""

    words: tuple[SlotWord, ...]
    left: float = 0.0  # probability not explored: no word can gain more than this
    sure: bool = True  # no unexplored spelling is more probable than the last word
    rows: int = 0  # forward passes
    reason: str = ""  # why there are no words


def top_words(
    lm: Lm, texts: Sequence[str], k: int, *, max_rows: int = MAX_ROWS
) -> tuple[SlotPrediction, ...]:
    """The k most probable words for the `{slot}` of every text; `max_rows` limits a causal model's passes.

    A text that cannot be scored gets no words and a reason.
    """
    if k < 1 or max_rows < 1:
        raise DataError(f"k={k}, max_rows={max_rows}: both must be at least 1")
    parts = [split_at_slot(text) for text in texts]
    if lm.kind == "masked":
        return _masked(lm, parts, k)
    return _causal(lm, parts, k, max_rows)


def split_at_slot(text: str) -> tuple[str, str]:
    """The text before and after the slot; DataError unless there is exactly one slot."""
    if text.count(SLOT) != 1:
        raise DataError(f"{text!r} has {SLOT} {text.count(SLOT)} times, expected once: mark the open word")
    before, _, after = text.partition(SLOT)
    return before, after


# ---------------------------------------------------------------------------------------- masked


def _masked(lm: Lm, parts: Sequence[tuple[str, str]], k: int) -> tuple[SlotPrediction, ...]:
    predictions: list[SlotPrediction] = []
    slots: dict[int, tuple[tuple[int, ...], int]] = {}
    for index, (before, after) in enumerate(parts):
        try:
            slots[index] = mask_slot(lm, before, after)
            predictions.append(SlotPrediction(()))
        except Unscorable as error:
            predictions.append(SlotPrediction((), reason=error.reason))
    indices = list(slots)
    for row, probabilities in distributions(lm, list(slots.values())):
        index = indices[row]
        words = _first(_whole_words(lm, parts[index], slots[index], probabilities), k)
        predictions[index] = SlotPrediction(words, sure=len(words) == k, rows=1)
    return tuple(predictions)


def mask_slot(lm: Lm, before: str, after: str) -> tuple[tuple[int, ...], int]:
    """The token ids of the text with one mask in the slot, and the mask's position.

    The mask id replaces a placeholder word of one token. Some tokenizers would put an extra space around a
    mask written as text, which no sentence with a word there has.
    """
    rows = [lm.encode(before + word + after).ids for word in PLACEHOLDER_WORDS]
    shortest = min(map(len, rows))
    for first, second in combinations([row for row in rows if len(row) == shortest], 2):
        different = [position for position, (a, b) in enumerate(zip(first, second, strict=True)) if a != b]
        if len(different) == 1:
            return _replace_token(first, different[0], lm.mask_id), different[0]
    raise Unscorable("no word of one token stands alone in the slot")


def _whole_words(
    lm: Lm, parts: tuple[str, str], slot: tuple[tuple[int, ...], int], probabilities: Floats
) -> Iterator[SlotWord]:
    """Words that the tokenizer encodes as one token in the slot, most probable first."""
    before, after = parts
    order = np.argsort(-probabilities, kind="stable")
    for begin in range(0, len(order), TOKENS_PER_CHUNK):
        named = {
            int(token): lm.text([int(token)]).strip() for token in order[begin : begin + TOKENS_PER_CHUNK]
        }
        words = {token: word for token, word in named.items() if is_word(word)}
        lm.prime([before + word + after for word in words.values()])
        for token, word in words.items():
            if _encodes(lm, before + word + after, _replace_token(*slot, token)):
                yield SlotWord(word, float(probabilities[token]))


def _encodes(lm: Lm, text: str, ids: tuple[int, ...]) -> bool:
    """Whether the text is encoded as these token ids."""
    try:
        return lm.encode(text).ids == ids
    except Unscorable:
        return False


def _replace_token(ids: tuple[int, ...], position: int, token: int) -> tuple[int, ...]:
    return (*ids[:position], token, *ids[position + 1 :])


def _first(words: Iterator[SlotWord], k: int) -> tuple[SlotWord, ...]:
    return tuple(word for _, word in zip(range(k), words, strict=False))


# ---------------------------------------------------------------------------------------- causal


def _causal(lm: Lm, parts: Sequence[tuple[str, str]], k: int, max_rows: int) -> tuple[SlotPrediction, ...]:
    """Run all searches in lockstep: each round batches the best open prefix of every search."""
    vocabulary = Vocabulary.of(lm)
    searches: list[WordSearch | str] = [_search(lm, before, vocabulary, max_rows) for before, _ in parts]
    active = [search for search in searches if isinstance(search, WordSearch)]
    while round_ := [(search, ids) for search in active if (ids := search.next_context(k)) is not None]:
        rows = [(ids, len(ids) - 1) for _, ids in round_]
        for index, probabilities in distributions(lm, rows):
            round_[index][0].update(probabilities)
        active = [search for search, _ in round_]
    return tuple(
        SlotPrediction((), reason=search) if isinstance(search, str) else _prediction(search, k)
        for search in searches
    )


def _search(lm: Lm, before: str, vocabulary: Vocabulary, max_rows: int) -> WordSearch | str:
    context = before.rstrip(" ")
    if not context:
        return "no text before the slot: a causal model has nothing to go on"
    try:
        ids = lm.encode(context).ids
    except Unscorable as error:
        return error.reason
    return WordSearch(
        vocabulary, ids, spaces=int(context != before), max_rows=max_rows, max_length=lm.facts.max_length
    )


def _prediction(search: WordSearch, k: int) -> SlotPrediction:
    words = tuple(SlotWord(text, value) for text, value in search.best(k))
    sure = len(words) == k and search.max_unseen <= words[-1].probability
    return SlotPrediction(words, left=search.unexplored_probability, sure=sure, rows=search.rows)
