"""A causal model's vocabulary as text: which tokens begin a word, go on with one, or end it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from unmask.core.types import Ints
from unmask.models.fill.letters import is_word, leading_word_characters
from unmask.models.lm import Lm

BROKEN = "\N{REPLACEMENT CHARACTER}"  # how part of a character decodes


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Token ids by what they do behind a text; `going` and `closing` by the spaces in front, none or one.

    Tokens that hold part of a character only are in none of the groups: what they begin cannot be told.
    Nor are those with digits, which neither end a word nor make one.
    """

    heads: tuple[str, ...]  # by token: the letters and digits it starts with, spaces left out
    going: tuple[Ints, Ints]  # letters to the end: a word is open behind it
    closing: tuple[Ints, Ints]  # letters, then something else: a word ends inside it
    ending: Ints  # a space, a sign or no text first: the word before it has ended
    space: Ints  # one space and nothing else

    @classmethod
    def of(cls, lm: Lm) -> Vocabulary:
        """Read off how every token decodes behind a letter."""
        texts = _texts(lm)
        bodies = [text.lstrip(" ") for text in texts]
        heads = tuple(map(leading_word_characters, bodies))
        leads = [len(text) - len(body) for text, body in zip(texts, bodies, strict=True)]
        whole = [BROKEN not in text for text in texts]
        letters = [is_word(f"a{one}") and bool(one) for one in heads]
        numbers = range(len(texts))

        def some(spaces: int, *, closed: bool) -> Ints:
            return _ids(
                n
                for n in numbers
                if whole[n] and leads[n] == spaces and letters[n] and (heads[n] != bodies[n]) is closed
            )

        return cls(
            heads=heads,
            going=(some(0, closed=False), some(1, closed=False)),
            closing=(some(0, closed=True), some(1, closed=True)),
            ending=_ids(n for n in numbers if whole[n] and (leads[n] or not heads[n])),
            space=_ids(n for n in numbers if texts[n] == " "),
        )


def _texts(lm: Lm) -> list[str]:
    """What each token adds to a text; nothing for special tokens and rows that are no token."""
    (anchor,) = lm.pieces("a")[-1:]
    decode, size = lm.tokenizer.batch_decode, len(lm.tokenizer)
    (before,) = decode([[anchor]], clean_up_tokenization_spaces=False)
    found = decode([[anchor, token] for token in range(size)], clean_up_tokenization_spaces=False)
    special = set(lm.tokenizer.all_special_ids)
    added = ["" if token in special else text[len(before) :] for token, text in enumerate(found)]
    return (added + [""] * lm.network.vocab_size)[: lm.network.vocab_size]


def _ids(numbers: Iterable[int]) -> Ints:
    return np.fromiter(numbers, dtype=np.int64)
