"""Sentences with an attribute word or a target word, and the positions of its tokens."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from unmask import data
from unmask.core.errors import DataError, Unscorable
from unmask.data.builtin_tables import Occupation
from unmask.data.language import Span, word_pattern, word_spans
from unmask.mitigate.swap import package_words
from unmask.models import Lm

SHORTEST, LONGEST = 2, 128  # sentence length in words, as published
TOPICS = ("career", "family", "science", "arts", "math", "strength", "weakness", "intelligence", "appearance")


@dataclass(frozen=True, slots=True)
class WordOccurrence:
    """A tokenized sentence, the word of interest, its group, and the positions of its tokens."""

    ids: tuple[int, ...]
    word: str
    group: str
    positions: tuple[int, ...]


@cache
def attribute_words() -> dict[str, tuple[str, ...]]:
    """The package's masculine and feminine words, without titles."""
    pairs = [pair for pair in package_words().pairs if pair.swap and pair.pos != "title" and "'" not in pair.masculine]
    return {
        "male": tuple(dict.fromkeys(pair.masculine.lower() for pair in pairs)),
        "female": tuple(dict.fromkeys(pair.feminine.lower() for pair in pairs)),
    }


@cache
def target_words() -> tuple[str, ...]:
    """Words that should be neutral: the package's occupations and its lists of stereotyped topics."""
    occupations: tuple[Occupation, ...] = data.read("occupations")
    gendered = {word for group in attribute_words().values() for word in group}
    topics = (word.lower() for topic in TOPICS for word in package_words().lists[topic])
    candidates = dict.fromkeys([*(occupation.name.lower() for occupation in occupations), *topics])
    return tuple(word for word in candidates if word not in gendered)


def find_occurrences(
    lm: Lm, sentences: Iterable[str], length: int
) -> tuple[list[WordOccurrence], list[WordOccurrence]]:
    """Occurrences in attribute sentences (words of one gender only) and target sentences (no gendered word).

    A sentence occurs once for each distinct word of its kind.
    """
    group_of = {word: group for group, words in attribute_words().items() for word in words}
    gendered, neutral = (
        word_pattern(words, ignore_case=True, in_compounds=False) for words in (group_of, target_words())
    )
    attributes: list[WordOccurrence] = []
    targets: list[WordOccurrence] = []
    for sentence in sentences:
        if not SHORTEST <= len(sentence.split()) <= LONGEST:
            continue
        spans = _first_spans(gendered, sentence)
        groups = {group_of[word] for word in spans}
        if len(groups) == 1:
            attributes += _occurrences(lm, sentence, spans, groups.pop(), length)
        elif not groups:
            targets += _occurrences(lm, sentence, _first_spans(neutral, sentence), "target", length)
    return attributes, targets


def check_occurrences(attributes: Sequence[WordOccurrence], targets: Sequence[WordOccurrence]) -> None:
    """Raise DataError unless both kinds and both genders occur."""
    if {occurrence.group for occurrence in attributes} != {"male", "female"} or not targets:
        raise DataError(
            f"{len(attributes):,} sentences with words of one gender and {len(targets):,} with a target word "
            "and no gendered word: at needs both kinds of sentences and both genders; give more text"
        )


def _first_spans(pattern: re.Pattern[str], sentence: str) -> dict[str, Span]:
    """The span of the first occurrence of each distinct word."""
    first: dict[str, Span] = {}
    for word, (span, *_) in word_spans(pattern, sentence).items():
        first.setdefault(word.lower(), span)
    return first


def _occurrences(lm: Lm, sentence: str, spans: dict[str, Span], group: str, length: int) -> list[WordOccurrence]:
    try:
        ids = lm.encode(sentence).ids
        located = [(word, lm.token_positions(sentence, *span)) for word, span in spans.items()]
    except Unscorable:
        return []
    if len(ids) > length:
        return []
    return [WordOccurrence(ids, word, group, positions) for word, positions in located if positions]
