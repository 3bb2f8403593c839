"""One compiled pattern for thousands of words, and letters written as the words they replace were."""

from __future__ import annotations

import re
from collections.abc import Iterable

_VOWEL = re.compile(r"(?i)(?!eu|uni|use|one\b)[aeiou]")
SENTENCE_START = re.compile(
    r"(?:^|[.!?][\"'”’)]*\s+|\n\s*)[\"'“‘(]*$"
)  # what stands before the first word of a sentence


def any_of(words: Iterable[str]) -> str:
    """A pattern that matches any of the words, the longest that fits; shared beginnings are tried once."""
    tree: dict[str, dict[str, object]] = {}
    for word in words:
        node = tree
        for letter in word:
            node = node.setdefault(letter, {})  # type: ignore[assignment]
        node[""] = {}
    return _pattern(tree)


def _pattern(node: dict[str, dict[str, object]]) -> str:
    branches = [
        re.escape(letter) + _pattern(rest)  # type: ignore[arg-type]
        for letter, rest in sorted(node.items())
        if letter
    ]
    if not branches:
        return ""
    inner = branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"
    if "" not in node:
        return inner
    return f"(?:{inner})?"


def match_case(word: str, model: str, *, opens: bool = False) -> str:
    """The word in the letters of the one it repositions: small, Capital or ALL CAPITALS."""
    letters = [letter for letter in model if letter.isalpha()]
    if len(letters) > 1 and all(letter.isupper() for letter in letters):
        return word.upper()
    if model[:1].isupper() or opens:
        return word[:1].upper() + word[1:]
    return word


def article(old: str, word: str) -> str:
    """`a` or `an` as the word after it asks, in the letters of the old one."""
    return match_case("an" if _VOWEL.match(word.lstrip("\"'“‘(")) else "a", old)


def starts_sentence(text: str, place: int) -> bool:
    """Does a sentence begin at this place?"""
    return SENTENCE_START.search(text, max(0, place - 12), place) is not None if place else True
