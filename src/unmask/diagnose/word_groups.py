"""The words in which two sentences differ, by the group they are about (Kaneko & Bollegala 2022, Table 2)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from difflib import SequenceMatcher

import numpy as np
import regex
from scipy.stats import rankdata

from unmask.core.types import Pair
from unmask.data import language as any_language

TOP = 4  # ranked words of each group
ADVANTAGED, DISADVANTAGED = "advantaged", "disadvantaged"
WORD = regex.compile(rf"{any_language.WORD}(?:'{any_language.WORD})*")
# Names of two words, counted as their first: an African American is not also an American of the other group.
_AMERICANS = (
    "african afro anglo arab asian black chinese hispanic italian japanese jewish korean latin mexican native white"
)
TWO_WORDS = re.compile(rf"\b({_AMERICANS.replace(' ', '|')})[\s-]+americans?\b")

# The paper leaves out words that have a non-social sense too, and names white and black. The list is ours:
# colours and directions, sizes, words for anybody, names that are also nouns.
_AMBIGUOUS = """
black blacks brown dark light red white whites yellow straight straights left right
big high large little low small able fit
man people person persons guy guys
bill grace grant hope jack mark rose
"""
# Words of grammar speak of no group; he, she, him, her, his and hers do, and stay.
_GRAMMAR = """
a an the this that these those and or but nor so as if because than then
in on at of to from for with without by over under against up down out off about into
not no never always yes very too more most less much many few all both some any other another such same
is are was were be been being am do does did done have has had having
can could will would shall should may might must cannot
don't doesn't didn't isn't aren't wasn't weren't can't couldn't won't wouldn't shouldn't
haven't hasn't hadn't
i me my you your we us our they them their it its who whom whose which what when where why how
one two there here just only still yet
"""
AMBIGUOUS, GRAMMAR = frozenset(_AMBIGUOUS.split()), frozenset(_GRAMMAR.split())


@dataclass(frozen=True, slots=True)
class GroupWord:
    """A word that stands in one sentence of a pair and not in the other."""

    text: str
    count: int  # times it is changed in the dataset
    log10: float  # of its frequency in the corpus


@dataclass(frozen=True, slots=True)
class WordGroups:
    """The changed words of one bias type, each in one place; the most often changed come first."""

    advantaged: tuple[GroupWord, ...]
    disadvantaged: tuple[GroupWord, ...]
    ambiguous: tuple[GroupWord, ...]  # with another, non-social sense
    tied: tuple[GroupWord, ...]  # equally often in both groups


def words(text: str) -> list[str]:
    """Lower-case words without punctuation and possessive 's, split at hyphens; *African American* is *african*."""
    matches = WORD.findall(TWO_WORDS.sub(r"\1", text.lower().replace("’", "'")))
    return [word.removesuffix("'s") for word in matches]


def changed_words(first: str, second: str) -> tuple[list[str], list[str]]:
    """The words of each sentence that are not shared, by difflib."""
    a, b = words(first), words(second)
    codes = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    parts = [(a[i:j], b[k:m]) for tag, i, j, k, m in codes if tag != "equal"]
    return [word for part, _ in parts for word in part], [word for _, part in parts for word in part]


def words_by_group(pairs: Iterable[Pair], log10: Callable[[str], float], *, language: str = "en") -> WordGroups:
    """The changed words of the pairs by group; a word in both goes to the one where it is more frequent.

    Ambiguous and function words are listed for English only.
    """
    ambiguous, grammar = (AMBIGUOUS, GRAMMAR) if language == "en" else (frozenset(), frozenset())
    counts: dict[str, Counter[str]] = {ADVANTAGED: Counter(), DISADVANTAGED: Counter()}
    for pair in pairs:
        in_more, in_less = changed_words(pair.more, pair.less)
        disadvantaged_in_more = pair.groups.get("direction") == "stereo"
        counts[DISADVANTAGED].update(in_more if disadvantaged_in_more else in_less)
        counts[ADVANTAGED].update(in_less if disadvantaged_in_more else in_more)
    members: dict[str, list[GroupWord]] = {field.name: [] for field in fields(WordGroups)}
    for text in set().union(*counts.values()) - grammar:
        here, there = counts[ADVANTAGED][text], counts[DISADVANTAGED][text]
        group = ADVANTAGED if here > there else DISADVANTAGED
        if text in ambiguous or here == there:
            group = "ambiguous" if text in ambiguous else "tied"
        members[group].append(GroupWord(text, here + there, log10(text)))
    return WordGroups(*(tuple(sorted(own, key=_most_changed)) for own in members.values()))


def _most_changed(word: GroupWord) -> tuple[int, float, str]:
    return -word.count, -word.log10, word.text


def top_words(groups: WordGroups, *, ties: bool = True) -> tuple[tuple[GroupWord, str], ...]:
    """The four most frequent words of each group in the dataset, sorted by corpus frequency.

    With `ties`, words equally often in both groups are advantaged ones, as *doctor*, *wife* and *husband* in the paper.
    """
    advantaged = sorted((*groups.advantaged, *(groups.tied if ties else ())), key=_most_changed)
    chosen = [(word, ADVANTAGED) for word in advantaged[:TOP]]
    chosen += [(word, DISADVANTAGED) for word in groups.disadvantaged[:TOP]]
    return tuple(sorted(chosen, key=lambda entry: (-entry[0].log10, entry[0].text)))


def mean_ranks(chosen: Iterable[tuple[GroupWord, str]]) -> dict[str, float]:
    """Mean rank of each group among the top words, 1 = most frequent; empty if a group has no word."""
    listed = list(chosen)
    ranks = rankdata([-word.log10 for word, _ in listed])
    own: dict[str, list[float]] = {}
    for rank, (_, group) in zip(ranks.tolist(), listed, strict=True):
        own.setdefault(group, []).append(rank)
    return {group: float(np.mean(values)) for group, values in own.items()} if len(own) == 2 else {}
