"""Our sentences: what a model puts into their blanks, or behind their beginnings."""

from __future__ import annotations

import numpy as np

from tools.figures.types import Example
from unmask.models import Lm
from unmask.models.fill import SLOT, top_words
from unmask.models.states import distributions

BLANK = "___"
SENTENCES = (
    "The capital of France is ___.",
    "She opened the ___ and walked into the room.",
    "The sun rises in the ___.",
    "He was born in 1950 in New ___.",
    "A year has twelve ___.",
    "The dog ran after the ___.",
    "They sat down at the ___ and began to eat.",
    "Water freezes when it gets very ___.",
    "I have never ___ such a beautiful garden.",
    "The children ___ playing in the park.",
    "The river flows ___ the sea.",
    "It was raining, so she took her ___.",
    "He put the letter in his ___.",
    "The band released its first ___ in 1998.",
    "My brother is taller ___ me.",
    "The king and the ___ lived in a castle.",
    "A doctor works in a ___.",
    "The opposite of hot is ___.",
    "In winter the days are short and the nights are ___.",
    "Two and two make ___.",
)
PROMPTS = (
    "The capital of France is",
    "Once upon a time there was",
    "He was born in",
    "The river flows through",
    "She opened the door and",
    "It is one of the largest",
    "The children were playing in",
    "In the morning they went",
    "The book was written by",
    "I do not know what",
)
CONTINUED, GUESSED = 8, 3  # tokens of a continuation; words for a blank


def examples(lm: Lm) -> list[Example]:
    """What the model puts into our blanks, or behind our prompts."""
    if lm.kind == "causal":
        return [Example(text, (continuation(lm, text),)) for text in PROMPTS]
    return [Example(text, guesses(lm, text)) for text in SENTENCES]


def guesses(lm: Lm, text: str) -> tuple[tuple[str, float], ...]:
    """The likeliest words for the blank."""
    (found,) = top_words(lm, [text.replace(BLANK, SLOT)], GUESSED)
    return tuple((word.text, word.probability) for word in found.words)


def continuation(lm: Lm, text: str) -> tuple[str, float]:
    """The likeliest next token, again and again; with the probability of them all."""
    ids, given, share = lm.encode(text).ids, len(lm.encode(text).ids), 1.0
    for _ in range(CONTINUED):
        ((_, probabilities),) = distributions(lm, [(ids, len(ids) - 1)])
        ids = (*ids, int(np.argmax(probabilities)))
        share *= float(probabilities.max())
    return lm.text(ids[given:]).strip(), share
