"""Answers of an endpoint in the store of readings, by text: a text that was answered is never asked again.

A row of the store holds numbers, so an answer is stored by characters: the number of the token (as its position), the
character (as its token), the token's log-probability, and as its rank what is known of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from unmask.models.store import READ, Store, StoredReadings

FIRST, OTHER, UNKNOWN = 0, 1, 2  # the likeliest token at its place; another one; without a log-probability
_START = 0  # precedes the characters of a token, which may have none


class ScoredToken(NamedTuple):
    """A token as text, its log-probability (None: not given), and whether it is the likeliest at its place."""

    text: str
    logprob: float | None
    is_first: bool = False


Answer = tuple[ScoredToken, ...]


class AnswerStore:
    """The answers to one kind of question."""

    def __init__(self, store: Store, question: str) -> None:
        self.store, self.question = store, question

    def fetch(self, texts: Sequence[str]) -> dict[str, Answer]:
        """The stored answers to some texts."""
        keys = {self._key(text): text for text in texts} if self.store.is_open else {}
        found = {keys[key]: unpack(stored) for key, stored in self.store.fetch(list(keys)).items()}
        return {text: answer for text, answer in found.items() if answer is not None}

    def save(self, answers: Mapping[str, Answer]) -> None:
        """Add answers, of texts that have none yet."""
        if self.store.is_open:
            self.store.save({self._key(text): pack(answer) for text, answer in answers.items() if answer})

    def _key(self, text: str) -> bytes:
        content = f"{self.question}\0{text}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(content, digest_size=16, person=b"endpoint").digest()


def pack(answer: Answer) -> StoredReadings:
    """An answer as rows of numbers."""
    rows = []
    for number, (text, logprob, is_first) in enumerate(answer):
        known = UNKNOWN if logprob is None else FIRST if is_first else OTHER
        rows += [(number, character, logprob or 0.0, known) for character in (_START, *map(ord, text))]
    return StoredReadings(np.array(rows, dtype=READ))


def unpack(stored: StoredReadings) -> Answer | None:
    """Inverse of `pack`; None for rows that are no answer."""
    tokens: list[ScoredToken] = []
    for number, character, logprob, known in stored.reads.tolist():
        if character == _START and number == len(tokens):
            tokens.append(ScoredToken("", None if known == UNKNOWN else logprob, known == FIRST))
        elif character == _START or number != len(tokens) - 1 or character > 0x10FFFF:
            return None
        else:
            tokens[-1] = tokens[-1]._replace(text=tokens[-1].text + chr(character))
    return tuple(tokens)
