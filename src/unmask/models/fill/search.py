"""The likeliest next words of a causal model, by following the likeliest beginning of a word first.

A word's probability is the product of its tokens' times the probability that the token behind them does not
go on with it. Different tokens may spell one word: those found are added up. A beginning is never likelier
than what it began as, so once no open beginning is likelier than the k-th word, no other spelling can be.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

import numpy as np

from unmask.core.types import Floats
from unmask.models.fill.letters import is_word
from unmask.models.fill.vocabulary import Vocabulary

Prefix = tuple[float, tuple[int, ...], str, int]  # minus its probability, tokens, letters, spaces to come


@dataclass(slots=True)
class WordSearch:
    """One search, to be asked which sentence it wants to see, and told the next token's probabilities."""

    vocabulary: Vocabulary
    context: tuple[int, ...]
    spaces: int  # between the context and its next word: none or one
    most: int  # sentences it may ask for
    longest: int  # tokens of a sentence
    rows: int = 0
    dropped: float = 0.0  # probability of beginnings that will never be followed
    highest: float = 0.0  # of one of them
    found: dict[str, float] = field(default_factory=dict)
    beginnings: list[Prefix] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.beginnings = [(-1.0, (), "", self.spaces)]

    @property
    def left(self) -> float:
        """Probability of all beginnings not followed to their end."""
        return self.dropped - sum(one[0] for one in self.beginnings)

    @property
    def bound(self) -> float:
        """What a spelling not yet seen can have at most."""
        return max(self.highest, -self.beginnings[0][0] if self.beginnings else 0.0)

    def best(self, k: int) -> list[tuple[str, float]]:
        """The likeliest words so far; words alike by the alphabet."""
        return sorted(self.found.items(), key=lambda item: (-item[1], item[0]))[:k]

    def asking(self, k: int) -> tuple[int, ...] | None:
        """The tokens whose successor it wants to know; None when k words are sure or its means are spent."""
        while self.beginnings and len(self.context) + len(self.beginnings[0][1]) > self.longest:
            self._drop(np.array([-heapq.heappop(self.beginnings)[0]]))
        words = self.best(k)
        if not self.beginnings or self.rows >= self.most:
            return None
        if len(words) == k and -self.beginnings[0][0] <= words[-1][1]:
            return None
        return (*self.context, *self.beginnings[0][1])

    def answer(self, probabilities: Floats) -> None:
        """Take in the next token's probabilities behind the sentence asked for."""
        minus, path, letters, spaces = heapq.heappop(self.beginnings)
        joint, table = -minus * probabilities, self.vocabulary
        self.rows += 1
        if letters:
            self._add(letters, float(joint[table.ending].sum()))
        for token in table.closing[spaces].tolist():
            self._add(letters + table.heads[token], float(joint[token]))
        going = table.going[spaces]
        order = np.argsort(-joint[going], kind="stable")
        self._drop(joint[going[order[self.most :]]])
        for token in going[order[: self.most]].tolist():
            self._follow(float(joint[token]), (*path, token), letters + table.heads[token])
        for token in table.space.tolist() if spaces else ():
            heapq.heappush(self.beginnings, (-float(joint[token]), (*path, token), "", 0))

    def _add(self, word: str, probability: float) -> None:
        if is_word(word):
            self.found[word] = self.found.get(word, 0.0) + probability

    def _follow(self, probability: float, path: tuple[int, ...], letters: str) -> None:
        if is_word(letters):
            heapq.heappush(self.beginnings, (-probability, path, letters, 0))

    def _drop(self, probabilities: Floats) -> None:
        """Beyond the sentences that may still be asked for, beginnings need not be kept."""
        self.dropped += float(probabilities.sum())
        self.highest = max(self.highest, float(probabilities.max(initial=0.0)))
