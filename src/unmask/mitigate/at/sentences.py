"""Sentences that hold an attribute word or a target word, and where in them its tokens stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from unmask import data
from unmask.core.errors import DataError, Unscorable
from unmask.data.occupations import Occupation
from unmask.mitigate.swap import package_words
from unmask.mitigate.swap.patterns import any_of
from unmask.models import Lm

SHORTEST, LONGEST = 2, 128  # words of a sentence, as published
TOPICS = ("career", "family", "science", "arts", "math", "strength", "weakness", "intelligence", "appearance")


@dataclass(frozen=True, slots=True)
class WordOccurrence:
    """A sentence's tokens, the word looked for, its group, and the positions of its tokens."""

    ids: tuple[int, ...]
    word: str
    group: str
    positions: tuple[int, ...]


@cache
def attribute_words() -> dict[str, tuple[str, ...]]:
    """The package's masculine and feminine words, titles left out."""
    pairs = [
        one for one in package_words().pairs if one.swap and one.pos != "title" and "'" not in one.masculine
    ]
    return {
        "male": tuple(dict.fromkeys(one.masculine.lower() for one in pairs)),
        "female": tuple(dict.fromkeys(one.feminine.lower() for one in pairs)),
    }


@cache
def target_words() -> tuple[str, ...]:
    """Words that should not lean: the package's occupations, and its lists of stereotyped topics."""
    occupations: tuple[Occupation, ...] = data.read("occupations")
    gendered = {word for group in attribute_words().values() for word in group}
    topics = (word.lower() for topic in TOPICS for word in package_words().lists[topic])
    each = dict.fromkeys([*(one.name.lower() for one in occupations), *topics])
    return tuple(word for word in each if word not in gendered)


def find_occurrences(
    lm: Lm, sentences: Iterable[str], length: int
) -> tuple[list[WordOccurrence], list[WordOccurrence]]:
    """Attribute sentences (words of one gender only) and target sentences (no gendered word), word by word.

    A sentence stands once for every different word of its kind that it holds.
    """
    group_of = {word: group for group, some in attribute_words().items() for word in some}
    gendered, neutral = _finder(group_of), _finder(target_words())
    attributes: list[WordOccurrence] = []
    targets: list[WordOccurrence] = []
    for sentence in sentences:
        if not SHORTEST <= len(sentence.split()) <= LONGEST:
            continue
        spans = _spans(gendered, sentence)
        groups = {group_of[word] for word in spans}
        if len(groups) == 1:
            attributes += _placed(lm, sentence, spans, groups.pop(), length)
        elif not groups:
            targets += _placed(lm, sentence, _spans(neutral, sentence), "target", length)
    return attributes, targets


def check_occurrences(attributes: Sequence[WordOccurrence], targets: Sequence[WordOccurrence]) -> None:
    """Both kinds are needed, and both genders."""
    groups = {one.group for one in attributes}
    if groups != {"male", "female"} or not targets:
        raise DataError(
            f"{len(attributes):,} sentences with words of one gender and {len(targets):,} with a target word "
            "and no gendered one: at needs both kinds, and both genders; give more text"
        )


def _finder(listed: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"(?i)(?<![\w-])(?:{any_of(listed)})(?![\w-])")


def _spans(finder: re.Pattern[str], sentence: str) -> dict[str, tuple[int, int]]:
    """Where each different word stands for the first time."""
    spans: dict[str, tuple[int, int]] = {}
    for match in finder.finditer(sentence):
        spans.setdefault(match[0].lower(), match.span())
    return spans


def _placed(
    lm: Lm, sentence: str, spans: dict[str, tuple[int, int]], group: str, length: int
) -> list[WordOccurrence]:
    try:
        ids = lm.encode(sentence).ids
        placed = [(word, lm.token_positions(sentence, *span)) for word, span in spans.items()]
    except Unscorable:
        return []
    if len(ids) > length:
        return []
    return [WordOccurrence(ids, word, group, places) for word, places in placed if places]
