"""Letter case and article of a replaced word, and where sentences start."""

from __future__ import annotations

import re

_VOWEL = re.compile(r"(?i)(?!eu|uni|use|one\b)[aeiou]")
SENTENCE_START = re.compile(
    r"(?:^|[.!?][\"'”’)]*\s+|\n\s*)[\"'“‘(]*$"
)  # what precedes the first word of a sentence


def match_case(word: str, model: str, *, opens: bool = False) -> str:
    """The word in the letter case of `model`: lower, Capitalised or UPPER."""
    letters = [letter for letter in model if letter.isalpha()]
    if len(letters) > 1 and all(letter.isupper() for letter in letters):
        return word.upper()
    if model[:1].isupper() or opens:
        return word[:1].upper() + word[1:]
    return word


def article(old: str, word: str) -> str:
    """`a` or `an` as the next word requires, in the letter case of the old article."""
    return match_case("an" if _VOWEL.match(word.lstrip("\"'“‘(")) else "a", old)


def starts_sentence(text: str, position: int) -> bool:
    """Whether a sentence starts at this position."""
    return SENTENCE_START.search(text, max(0, position - 12), position) is not None if position else True
