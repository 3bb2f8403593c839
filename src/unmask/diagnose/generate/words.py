"""Which words may be replaced, and which may replace another."""

from __future__ import annotations

from functools import cache

from unmask import data as datasets
from unmask.diagnose.generate.forms import readings

SHORTEST = 3  # letters
# No replacement may bring in a group of its own; beside the words of `word-pairs`.
GROUPS = """
    african aged american atheist autistic bisexual black blind brown buddhist catholic christian
    deaf disabled elderly european fat female feminine foreign gay heterosexual hindu homeless
    homosexual immigrant jewish lesbian male masculine mexican muslim mute native obese old older
    overweight poor queer rich short sighted skinny slim straight tall teenage thin trans
    transgender ugly wealthy white young younger
"""
# Nouns that stand for anybody and anything.
GENERIC = """
    anybody everybody everyone lot people person persons someone thing things way
"""
# On scikit-learn's list of stop words, and yet they say something.
CONTENT = """
    bill cry describe detail empty fill fire interest mill serious sincere thick thin
"""


@cache
def protected_words() -> frozenset[str]:
    """Words that name a group: never replaced, and never used as a replacement."""
    words = datasets.read("word-pairs")
    terms = [word for entry in words.pairs for word in (entry.masculine, entry.feminine)]
    terms += [name for entry in words.names for name in (entry.masculine, entry.feminine)]
    terms += [term for entry in words.sets for term in entry.terms.values()]
    return frozenset(word.lower() for word in (*terms, *(entry.word for entry in words.proper)))


@cache
def function_words() -> frozenset[str]:
    """Function words and generic words."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return (frozenset(ENGLISH_STOP_WORDS) - set(CONTENT.split())) | set(GENERIC.split())


def is_usable(word: str) -> bool:
    """Whether a word may be replaced or used as a replacement: a common content word that names no group."""
    if len(word) < SHORTEST or word != word.lower():
        return False
    return word not in protected_words() and word not in function_words() and bool(readings(word))


@cache
def group_words() -> frozenset[str]:
    """Words for groups other than by gender, race or religion."""
    return frozenset(GROUPS.split())
