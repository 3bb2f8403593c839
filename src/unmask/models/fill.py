"""The most probable whole words for the slot of a text, for masked and causal models.

A masked model runs once, with one mask token in the slot; words of several tokens are not comparable with
words of one token and are left out. A causal model sees only the text before the slot and predicts the next
word, of any number of tokens, by best-first search over word prefixes: a word's probability is the product of
its tokens' probabilities times the probability that the next token does not continue it. Several token
sequences may spell one word: those found are summed. A prefix is never more probable than the prefixes it
extends, so once no open prefix beats the k-th word, no other spelling can.

A word is a letter followed by letters and combining marks.
"""

from __future__ import annotations

import heapq
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice
from typing import NamedTuple

import numpy as np

from unmask.core.errors import DataError, Unscorable
from unmask.core.types import Floats, Ints
from unmask.models.lm import NOT_FINITE, Lm, TextModel, refuse_bad_outputs, special_reason

SLOT = "{slot}"
MAX_ROWS = 256  # forward passes of a causal model for one slot
NO_TEXT = "no text before the slot: a causal model has nothing to go on"
CONTEXT_TOKENS = 4096  # tokens of the contexts that are searched at once, whose key/value caches are kept
TOKENS_PER_CHUNK = 32  # candidate tokens checked together, most probable first
PLACEHOLDER_WORDS = ("the", "it", "and", "you", "of", "in", "he", "to", "a", "I")
BROKEN = "\N{REPLACEMENT CHARACTER}"  # what an incomplete UTF-8 sequence decodes to
Prefix = tuple[float, tuple[int, ...], str, int]  # minus its probability, tokens, letters, spaces expected


class SlotWord(NamedTuple):
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


def split_at_slot(text: str) -> tuple[str, str]:
    """The text before and after the slot; DataError unless there is exactly one slot."""
    if text.count(SLOT) != 1:
        raise DataError(f"{text!r} has {SLOT} {text.count(SLOT)} times, expected once: mark the open word")
    before, _, after = text.partition(SLOT)
    return before, after


def top_words(lm: TextModel, texts: Sequence[str], k: int, *, max_rows: int = MAX_ROWS) -> tuple[SlotPrediction, ...]:
    """The k most probable words for the `{slot}` of every text; `max_rows` limits a causal model's passes.

    A text that cannot be scored gets no words and a reason; ModelError if most outputs are not finite.
    """
    if k < 1 or max_rows < 1:
        raise DataError(f"k={k}, max_rows={max_rows}: both must be at least 1")
    parts = [split_at_slot(text) for text in texts]
    special = [next(filter(None, map(lm.special_in, part)), "") for part in parts]
    usual = [part for part, spelt in zip(parts, special, strict=True) if not spelt]
    if lm.kind == "causal" or not usual:
        rest = iter(lm.search_words([before for before, _ in usual], k, max_rows) if usual else ())
    else:
        assert isinstance(lm, Lm)  # no endpoint serves a masked model
        rest = iter(_masked(lm, usual, k))
    predictions = tuple(SlotPrediction((), reason=special_reason(spelt)) if spelt else next(rest) for spelt in special)
    bad = sum(prediction.reason == NOT_FINITE for prediction in predictions)
    refuse_bad_outputs(bad, len(predictions), "predictions", lm.facts, share=0.5)
    return predictions


# ---------------------------------------------------------------------------------------- masked


def _masked(lm: Lm, parts: Sequence[tuple[str, str]], k: int) -> tuple[SlotPrediction, ...]:
    from unmask.models.states import distributions

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
        if not np.isfinite(probabilities).all():
            predictions[index] = SlotPrediction((), reason=NOT_FINITE)
            continue
        words = tuple(islice(_whole_words(lm, parts[index], slots[index], probabilities), k))
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
        named = {int(token): lm.text([int(token)]).strip() for token in order[begin : begin + TOKENS_PER_CHUNK]}
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


# ---------------------------------------------------------------------------------------- causal


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Token ids by their effect after a text; `open_ended` and `closed` by the leading spaces (0 or 1).

    Tokens with an incomplete UTF-8 character are in no group, because the word they begin is unknown. Nor are
    tokens with digits, which neither end a word nor form one.
    """

    heads: tuple[str, ...]  # by token: its leading letters and digits, without spaces
    open_ended: tuple[Ints, Ints]  # letters only: the word may continue
    closed: tuple[Ints, Ints]  # letters, then something else: a word ends inside the token
    ending: Ints  # starts with a space, punctuation or no text: the word before it has ended
    space: Ints  # a single space

    @classmethod
    def of_texts(cls, texts: Sequence[str]) -> Vocabulary:
        """Classify tokens by the text that each adds."""
        bodies = [text.lstrip(" ") for text in texts]
        heads = tuple(map(_leading_word_characters, bodies))
        leads = [len(text) - len(body) for text, body in zip(texts, bodies, strict=True)]
        complete = [BROKEN not in text for text in texts]
        letters = [is_word(f"a{head}") and bool(head) for head in heads]
        ids = range(len(texts))

        def word_tokens(spaces: int, *, closed: bool) -> Ints:
            kept = (i for i in ids if complete[i] and leads[i] == spaces and letters[i])
            return np.array([i for i in kept if (heads[i] != bodies[i]) is closed], dtype=np.int64)

        return cls(
            heads=heads,
            open_ended=(word_tokens(0, closed=False), word_tokens(1, closed=False)),
            closed=(word_tokens(0, closed=True), word_tokens(1, closed=True)),
            ending=np.array([i for i in ids if complete[i] and (leads[i] or not heads[i])], dtype=np.int64),
            space=np.array([i for i in ids if texts[i] == " "], dtype=np.int64),
        )


def _token_texts(lm: Lm) -> list[str]:
    """The text each token adds; empty for special tokens and unused vocabulary entries."""
    (anchor,) = lm.pieces("a")[-1:]
    decode, size = lm.tokenizer.batch_decode, len(lm.tokenizer)
    (before,) = decode([[anchor]], clean_up_tokenization_spaces=False)
    decoded = decode([[anchor, token] for token in range(size)], clean_up_tokenization_spaces=False)
    special = set(lm.tokenizer.all_special_ids)
    added = ["" if token in special else text[len(before) :] for token, text in enumerate(decoded)]
    return (added + [""] * lm.network.vocab_size)[: lm.network.vocab_size]


@dataclass(frozen=True, slots=True)
class LikeliestTokens:
    """The likeliest next tokens only, where a model does not tell the probabilities of all."""

    vocabulary: Vocabulary  # of these tokens
    ids: tuple[int, ...]
    unseen: float  # the probability of all other tokens


@dataclass(slots=True)
class WordSearch:
    """The search for one slot: `next_prefix` gives what to run, `update` takes the probabilities."""

    vocabulary: Vocabulary
    context: tuple[int, ...]
    spaces: int  # between the context and its next word: none or one
    max_rows: int  # forward passes allowed
    max_length: int  # tokens of a context
    rows: int = 0
    reason: str = ""  # why it was given up
    dropped: float = 0.0  # summed probability of prefixes that will never be extended
    max_dropped: float = 0.0  # the largest of them
    is_whole: bool = True  # probabilities of all tokens were given, at every step
    words: dict[str, float] = field(default_factory=dict)
    prefixes: list[Prefix] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.prefixes = [(-1.0, (), "", self.spaces)]

    def best(self, k: int) -> list[tuple[str, float]]:
        """The most probable words so far; ties in alphabetical order."""
        return sorted(self.words.items(), key=lambda item: (-item[1], item[0]))[:k]

    def prediction(self, k: int) -> SlotPrediction:
        """The most probable words so far, and whether any spelling not seen yet could be among them."""
        if self.reason:
            return SlotPrediction((), rows=self.rows, reason=self.reason)
        words = tuple(SlotWord(text, value) for text, value in self.best(k))
        unseen = max(self.max_dropped, -self.prefixes[0][0] if self.prefixes else 0.0)
        unexplored = self.dropped - sum(prefix[0] for prefix in self.prefixes)
        if not self.is_whole:  # a word that was found may gain too, by tokens that end it
            unseen = unexplored + max((value for _, value in self.best(k + 1)[k:]), default=0.0)
        sure = len(words) == k and unseen <= words[-1].probability
        return SlotPrediction(words, left=unexplored, sure=sure, rows=self.rows)

    def next_prefix(self, k: int) -> tuple[int, ...] | None:
        """The tokens to run after the context; None when the top k words are certain or `max_rows` is reached."""
        while self.prefixes and len(self.context) + len(self.prefixes[0][1]) > self.max_length:
            self._drop(np.array([-heapq.heappop(self.prefixes)[0]]))
        words = self.best(k)
        if not self.prefixes or self.rows >= self.max_rows:
            return None
        if len(words) == k and -self.prefixes[0][0] <= words[-1][1]:
            return None
        return self.prefixes[0][1]

    def update(self, probabilities: Floats, likeliest: LikeliestTokens | None = None) -> None:
        """Take the next-token probabilities after the prefix last returned by `next_prefix`.

        They are those of all tokens, or of the likeliest ones.
        """
        if not np.isfinite(probabilities).all():
            self.reason, self.prefixes = NOT_FINITE, []
            return
        negative, path, letters, spaces = heapq.heappop(self.prefixes)
        joint, table = -negative * probabilities, self.vocabulary if likeliest is None else likeliest.vocabulary
        self.rows += 1
        if letters:
            self._add(letters, float(joint[table.ending].sum()))
        for token in table.closed[spaces].tolist():
            self._add(letters + table.heads[token], float(joint[token]))
        open_ended = table.open_ended[spaces]
        order = np.argsort(-joint[open_ended], kind="stable")
        self._drop(joint[open_ended[order[self.max_rows :]]])
        names = range(len(joint)) if likeliest is None else likeliest.ids
        for token in open_ended[order[: self.max_rows]].tolist():
            if is_word(word := letters + table.heads[token]):
                heapq.heappush(self.prefixes, (-float(joint[token]), (*path, names[token]), word, 0))
        for token in table.space.tolist() if spaces else ():
            heapq.heappush(self.prefixes, (-float(joint[token]), (*path, names[token]), "", 0))
        if likeliest is not None:
            self.is_whole = False
            self._drop(np.array([-negative * likeliest.unseen]))

    def leave_out(self) -> None:
        """Never extend the prefix last returned by `next_prefix`: the model cannot be asked for it."""
        self.is_whole = False
        self._drop(np.array([-heapq.heappop(self.prefixes)[0]]))

    def _add(self, word: str, probability: float) -> None:
        if is_word(word):
            self.words[word] = self.words.get(word, 0.0) + probability

    def _drop(self, probabilities: Floats) -> None:
        """Prefixes beyond the forward passes allowed need not be kept."""
        self.dropped += float(probabilities.sum())
        self.max_dropped = max(self.max_dropped, float(probabilities.max(initial=0.0)))


def search_words(lm: Lm, befores: Sequence[str], k: int, max_rows: int) -> tuple[SlotPrediction, ...]:
    """The k likeliest words after every text: the searches are run as many at once as contexts are kept."""
    vocabulary = Vocabulary.of_texts(_token_texts(lm))
    searches = [_search(lm, before, vocabulary, max_rows) for before in befores]
    group: list[WordSearch] = []
    for search in searches:
        if not search.reason and sum(len(other.context) for other in (*group, search)) > CONTEXT_TOKENS:
            _run_searches(lm, group, k)
            group = []
        if not search.reason:
            group.append(search)
    _run_searches(lm, group, k)
    return tuple(search.prediction(k) for search in searches)


def _run_searches(lm: Lm, searches: Sequence[WordSearch], k: int) -> None:
    """Run searches in lockstep: each round batches the best open prefix of every search."""
    from unmask.models.states import Continuations

    continuations = Continuations(lm, [search.context for search in searches])
    active: Sequence[int] = range(len(searches))
    while asked := [(number, ids) for number in active if (ids := searches[number].next_prefix(k)) is not None]:
        for index, probabilities in continuations.distributions(asked):
            searches[asked[index][0]].update(probabilities)
        active = [number for number, _ in asked]


def _search(lm: Lm, before: str, vocabulary: Vocabulary, max_rows: int) -> WordSearch:
    text = before.rstrip(" ")
    search = WordSearch(vocabulary, (), int(text != before), max_rows, lm.facts.max_length)
    try:
        if text:
            search.context = lm.encode(text).ids
        else:
            search.reason = NO_TEXT
    except Unscorable as error:
        search.reason = error.reason
    return search


def is_word(text: str) -> bool:
    """Whether the text is a letter followed by letters and combining marks only."""
    return text[:1].isalpha() and all(character.isalpha() or _is_mark(character) for character in text)


def _leading_word_characters(text: str) -> str:
    """The leading letters, digits and marks of the text: they would continue a word before it."""
    ends = (i for i, character in enumerate(text) if not (character.isalnum() or _is_mark(character)))
    return text[: next(ends, len(text))]


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")
