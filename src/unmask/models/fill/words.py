"""The likeliest whole words for the slot of a text, by masked and by causal models.

A masked model is asked once, with the mask where one token stands; words that take several tokens cannot be
compared with those there and are left out. A causal model sees only what stands before the slot, and is
asked for its next word, of however many tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from unmask.core.errors import DataError, Unscorable
from unmask.core.types import Floats
from unmask.models.fill.distribution import distributions
from unmask.models.fill.letters import is_word
from unmask.models.fill.search import WordSearch
from unmask.models.fill.vocabulary import Vocabulary
from unmask.models.lm import Lm

SLOT = "{slot}"
MAX_ROWS = 256  # sentences put through a causal model for one slot, at most
TOKENS_PER_CHUNK = 32  # tokens looked at together, likeliest first
PLACEHOLDER_WORDS = ("the", "it", "and", "you", "of", "in", "he", "to", "a", "I")


@dataclass(frozen=True, slots=True)
class SlotWord:
    """A word, as it is written, and its probability in the slot."""

    text: str
    probability: float


@dataclass(frozen=True, slots=True)
class SlotPrediction:
    """The likeliest words of one slot, likeliest first."""

    words: tuple[SlotWord, ...]
    left: float = 0.0  # probability that was not looked into: no word can have more than this on top
    sure: bool = True  # no spelling that was not looked into is likelier than the last word
    rows: int = 0  # sentences put through the model
    reason: str = ""  # why there are no words


def top_words(
    lm: Lm, texts: Sequence[str], k: int, *, max_rows: int = MAX_ROWS
) -> tuple[SlotPrediction, ...]:
    """The k likeliest words for the `{slot}` of every text; `max_rows` bounds what a causal model is asked.

    A text that cannot be asked gets no words and the reason.
    """
    if k < 1 or max_rows < 1:
        raise DataError(f"{k} words from {max_rows} sentences: both must be at least 1")
    parts = [split_at_slot(text) for text in texts]
    if lm.kind == "masked":
        return _masked(lm, parts, k)
    return _causal(lm, parts, k, max_rows)


def split_at_slot(text: str) -> tuple[str, str]:
    """What stands before and behind the slot; DataError unless there is exactly one."""
    if text.count(SLOT) != 1:
        raise DataError(f"{text!r} has {text.count(SLOT)} times {SLOT}, expected once: mark the open word")
    before, _, after = text.partition(SLOT)
    return before, after


# ---------------------------------------------------------------------------------------- masked


def _masked(lm: Lm, parts: Sequence[tuple[str, str]], k: int) -> tuple[SlotPrediction, ...]:
    found: list[SlotPrediction] = []
    asked: dict[int, tuple[tuple[int, ...], int]] = {}
    for number, (before, after) in enumerate(parts):
        try:
            asked[number] = mask_slot(lm, before, after)
            found.append(SlotPrediction(()))
        except Unscorable as error:
            found.append(SlotPrediction((), reason=error.reason))
    numbers = list(asked)
    for row, probabilities in distributions(lm, list(asked.values())):
        number = numbers[row]
        words = _first(_whole_words(lm, parts[number], asked[number], probabilities), k)
        found[number] = SlotPrediction(words, sure=len(words) == k, rows=1)
    return tuple(found)


def mask_slot(lm: Lm, before: str, after: str) -> tuple[tuple[int, ...], int]:
    """The text with one mask for its slot, and where that stands.

    The mask is set by its id in place of a word of one token. Written as text it would leave a space of its
    own in front or behind, with some tokenizers, that no sentence with a word there has.
    """
    rows = [lm.encode(before + word + after).ids for word in PLACEHOLDER_WORDS]
    shortest = min(map(len, rows))
    for one, other in combinations([row for row in rows if len(row) == shortest], 2):
        places = [place for place, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
        if len(places) == 1:
            return _with(one, places[0], lm.mask_id), places[0]
    raise Unscorable("no word of one token stands alone in the slot")


def _whole_words(
    lm: Lm, parts: tuple[str, str], asked: tuple[tuple[int, ...], int], probabilities: Floats
) -> Iterator[SlotWord]:
    """Tokens that are what the tokenizer makes of a word in the slot, likeliest first."""
    before, after = parts
    order = np.argsort(-probabilities, kind="stable")
    for begin in range(0, len(order), TOKENS_PER_CHUNK):
        named = {
            int(token): lm.text([int(token)]).strip() for token in order[begin : begin + TOKENS_PER_CHUNK]
        }
        words = {token: word for token, word in named.items() if is_word(word)}
        lm.prime([before + word + after for word in words.values()])
        for token, word in words.items():
            if _encodes(lm, before + word + after, _with(*asked, token)):
                yield SlotWord(word, float(probabilities[token]))


def _encodes(lm: Lm, text: str, ids: tuple[int, ...]) -> bool:
    """Is the text fed to the model as these tokens?"""
    try:
        return lm.encode(text).ids == ids
    except Unscorable:
        return False


def _with(ids: tuple[int, ...], place: int, token: int) -> tuple[int, ...]:
    return (*ids[:place], token, *ids[place + 1 :])


def _first(words: Iterator[SlotWord], k: int) -> tuple[SlotWord, ...]:
    return tuple(word for _, word in zip(range(k), words, strict=False))


# ---------------------------------------------------------------------------------------- causal


def _causal(lm: Lm, parts: Sequence[tuple[str, str]], k: int, max_rows: int) -> tuple[SlotPrediction, ...]:
    """All searches go on side by side: each round asks for the best beginning that every one has open."""
    vocabulary = Vocabulary.of(lm)
    searches: list[WordSearch | str] = [_search(lm, before, vocabulary, max_rows) for before, _ in parts]
    going = [search for search in searches if isinstance(search, WordSearch)]
    while asked := [(one, ids) for one in going if (ids := one.asking(k)) is not None]:
        rows = [(ids, len(ids) - 1) for _, ids in asked]
        for number, probabilities in distributions(lm, rows):
            asked[number][0].answer(probabilities)
        going = [one for one, _ in asked]
    return tuple(
        SlotPrediction((), reason=one) if isinstance(one, str) else _guesses(one, k) for one in searches
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
        vocabulary, ids, spaces=int(context != before), most=max_rows, longest=lm.facts.max_length
    )


def _guesses(search: WordSearch, k: int) -> SlotPrediction:
    words = tuple(SlotWord(text, value) for text, value in search.best(k))
    sure = len(words) == k and search.bound <= words[-1].probability
    return SlotPrediction(words, left=search.left, sure=sure, rows=search.rows)
