"""Occurrences of words in a sentence, by one regular expression for thousands of words."""

from __future__ import annotations

import re
from collections.abc import Iterable

Span = tuple[int, int]  # of characters


def word_spans(pattern: re.Pattern[str], sentence: str) -> dict[str, list[Span]]:
    """All occurrences in a sentence by word, words as they are written, in the order of the first ones."""
    spans: dict[str, list[Span]] = {}
    for match in pattern.finditer(sentence):
        spans.setdefault(match.group(), []).append(match.span())
    return spans


def word_pattern(words: Iterable[str], *, ignore_case: bool = False, in_compounds: bool = True) -> re.Pattern[str]:
    """Matches the longest of the words as a whole word; unless `in_compounds`, not beside a hyphen."""
    letter = r"\w" if in_compounds else r"[\w-]"
    flags = re.IGNORECASE if ignore_case else re.NOFLAG
    return re.compile(f"(?<!{letter})(?:{any_of(words)})(?!{letter})", flags)


def any_of(words: Iterable[str]) -> str:
    """A pattern that matches the longest of the words; shared prefixes are matched once (a trie)."""
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
    return f"(?:{inner})?" if "" in node else inner
