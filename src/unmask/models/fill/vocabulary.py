"""A causal model's vocabulary as text: which tokens begin, continue or end a word."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from unmask.core.types import Ints
from unmask.models.fill.letters import is_word, leading_word_characters
from unmask.models.lm import Lm

BROKEN = "\N{REPLACEMENT CHARACTER}"  # what an incomplete UTF-8 sequence decodes to


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
    def of(cls, lm: Lm) -> Vocabulary:
        """Classify every token by how it decodes after a letter."""
        texts = _texts(lm)
        bodies = [text.lstrip(" ") for text in texts]
        heads = tuple(map(leading_word_characters, bodies))
        leads = [len(text) - len(body) for text, body in zip(texts, bodies, strict=True)]
        complete = [BROKEN not in text for text in texts]
        letters = [is_word(f"a{head}") and bool(head) for head in heads]
        ids = range(len(texts))

        def word_tokens(spaces: int, *, closed: bool) -> Ints:
            return _array(
                i
                for i in ids
                if complete[i] and leads[i] == spaces and letters[i] and (heads[i] != bodies[i]) is closed
            )

        return cls(
            heads=heads,
            open_ended=(word_tokens(0, closed=False), word_tokens(1, closed=False)),
            closed=(word_tokens(0, closed=True), word_tokens(1, closed=True)),
            ending=_array(i for i in ids if complete[i] and (leads[i] or not heads[i])),
            space=_array(i for i in ids if texts[i] == " "),
        )


def _texts(lm: Lm) -> list[str]:
    """The text each token adds; empty for special tokens and unused vocabulary entries."""
    (anchor,) = lm.pieces("a")[-1:]
    decode, size = lm.tokenizer.batch_decode, len(lm.tokenizer)
    (before,) = decode([[anchor]], clean_up_tokenization_spaces=False)
    decoded = decode([[anchor, token] for token in range(size)], clean_up_tokenization_spaces=False)
    special = set(lm.tokenizer.all_special_ids)
    added = ["" if token in special else text[len(before) :] for token, text in enumerate(decoded)]
    return (added + [""] * lm.network.vocab_size)[: lm.network.vocab_size]


def _array(ids: Iterable[int]) -> Ints:
    return np.fromiter(ids, dtype=np.int64)
