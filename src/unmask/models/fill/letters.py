"""What counts as a word: letters alone, with the marks that belong to them."""

from __future__ import annotations

import unicodedata


def is_word(text: str) -> bool:
    """A letter first, then letters and combining marks; no digits, hyphens or apostrophes."""
    return text[:1].isalpha() and all(sign.isalpha() or _is_mark(sign) for sign in text)


def continues_word(sign: str) -> bool:
    """Does a word that this sign follows go on? With a letter, a digit or a mark it does."""
    return sign.isalnum() or _is_mark(sign)


def leading_word_characters(text: str) -> str:
    """The signs with which a word before this text would go on."""
    end = next((place for place, sign in enumerate(text) if not continues_word(sign)), len(text))
    return text[:end]


def _is_mark(sign: str) -> bool:
    return unicodedata.category(sign).startswith("M")
