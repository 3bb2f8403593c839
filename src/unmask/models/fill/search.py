"""The most probable next words of a causal model, by best-first search over word prefixes.

A word's probability is the product of its tokens' probabilities times the probability that the next token
does not continue it. Several token sequences may spell one word: those found are summed. A prefix is never
more probable than the prefixes it extends, so once no open prefix beats the k-th word, no other spelling can.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

import numpy as np

from unmask.core.types import Floats
from unmask.models.fill.letters import is_word
from unmask.models.fill.vocabulary import Vocabulary

Prefix = tuple[
    float, tuple[int, ...], str, int
]  # minus its probability, tokens, letters, spaces still expected


@dataclass(slots=True)
class WordSearch:
    """The search for one slot: `next_context` gives the input to run, `update` takes the probabilities."""

    vocabulary: Vocabulary
    context: tuple[int, ...]
    spaces: int  # between the context and its next word: none or one
    max_rows: int  # forward passes allowed
    max_length: int  # tokens of a context
    rows: int = 0
    dropped: float = 0.0  # summed probability of prefixes that will never be extended
    max_dropped: float = 0.0  # the largest of them
    words: dict[str, float] = field(default_factory=dict)
    prefixes: list[Prefix] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.prefixes = [(-1.0, (), "", self.spaces)]

    @property
    def unexplored_probability(self) -> float:
        """Total probability of all prefixes not extended to words."""
        return self.dropped - sum(prefix[0] for prefix in self.prefixes)

    @property
    def max_unseen(self) -> float:
        """Upper bound of the probability of any spelling not seen yet."""
        return max(self.max_dropped, -self.prefixes[0][0] if self.prefixes else 0.0)

    def best(self, k: int) -> list[tuple[str, float]]:
        """The most probable words so far; ties in alphabetical order."""
        return sorted(self.words.items(), key=lambda item: (-item[1], item[0]))[:k]

    def next_context(self, k: int) -> tuple[int, ...] | None:
        """The next context to run; None when the top k words are certain or `max_rows` is reached."""
        while self.prefixes and len(self.context) + len(self.prefixes[0][1]) > self.max_length:
            self._drop(np.array([-heapq.heappop(self.prefixes)[0]]))
        words = self.best(k)
        if not self.prefixes or self.rows >= self.max_rows:
            return None
        if len(words) == k and -self.prefixes[0][0] <= words[-1][1]:
            return None
        return (*self.context, *self.prefixes[0][1])

    def update(self, probabilities: Floats) -> None:
        """Take the next-token probabilities after the context last returned by `next_context`."""
        negative, path, letters, spaces = heapq.heappop(self.prefixes)
        joint, table = -negative * probabilities, self.vocabulary
        self.rows += 1
        if letters:
            self._add(letters, float(joint[table.ending].sum()))
        for token in table.closed[spaces].tolist():
            self._add(letters + table.heads[token], float(joint[token]))
        open_ended = table.open_ended[spaces]
        order = np.argsort(-joint[open_ended], kind="stable")
        self._drop(joint[open_ended[order[self.max_rows :]]])
        for token in open_ended[order[: self.max_rows]].tolist():
            self._push(float(joint[token]), (*path, token), letters + table.heads[token])
        for token in table.space.tolist() if spaces else ():
            heapq.heappush(self.prefixes, (-float(joint[token]), (*path, token), "", 0))

    def _add(self, word: str, probability: float) -> None:
        if is_word(word):
            self.words[word] = self.words.get(word, 0.0) + probability

    def _push(self, probability: float, path: tuple[int, ...], letters: str) -> None:
        if is_word(letters):
            heapq.heappush(self.prefixes, (-probability, path, letters, 0))

    def _drop(self, probabilities: Floats) -> None:
        """Prefixes beyond the forward passes allowed need not be kept."""
        self.dropped += float(probabilities.sum())
        self.max_dropped = max(self.max_dropped, float(probabilities.max(initial=0.0)))
