"""What counts as a word: letters and their combining marks."""

from __future__ import annotations

import unicodedata


def is_word(text: str) -> bool:
    """Whether the text is a letter followed by letters and combining marks only."""
    return text[:1].isalpha() and all(character.isalpha() or _is_mark(character) for character in text)


def continues_word(character: str) -> bool:
    """Whether a word continues with this character: a letter, a digit or a combining mark."""
    return character.isalnum() or _is_mark(character)


def leading_word_characters(text: str) -> str:
    """The leading characters of the text that would continue a word before it."""
    end = next((index for index, character in enumerate(text) if not continues_word(character)), len(text))
    return text[:end]


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")
