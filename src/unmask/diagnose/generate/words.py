"""Which words may be replaced or replace another, and their forms by lemminflect."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from unmask import data as datasets
from unmask.core.errors import DataError

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
PARTS = ("NOUN", "VERB", "ADJ")
PLAIN = "JJ"  # adjectives are compared only in forms the dictionary knows: no "intelligenter"


@dataclass(frozen=True, slots=True)
class Form:
    """One reading of a word: its lemma, part of speech, and Penn tag."""

    lemma: str
    part: str
    tag: str

    def is_like(self, other: Form) -> bool:
        """Whether another word's reading has the same part of speech and tag."""
        return (self.part, self.tag) == (other.part, other.tag) and self.lemma != other.lemma


@cache
def lemminflect() -> Any:
    """The lemminflect module; DataError if it is not installed."""
    try:
        return import_module("lemminflect")
    except ModuleNotFoundError:
        raise DataError(
            "generating paraphrases needs lemminflect, which is not installed; run `pip install 'unmask[words]'`"
        ) from None


@cache
def readings(word: str) -> tuple[Form, ...]:
    """Readings of a word as a noun, verb or adjective; empty for auxiliaries and unknown words."""
    library, lower = lemminflect(), word.lower()
    known = library.getAllLemmas(lower)
    if "AUX" in known:
        return ()
    return tuple(
        Form(lemma, part, tag)
        for part in PARTS
        for lemma in known.get(part, ())
        for tag, forms in library.getAllInflections(lemma, upos=part).items()
        if lower in forms
    )


@cache
def inflect(lemma: str, form: Form) -> str:
    """Inflect a lemma like `form`; of several words, the head is inflected. Empty if there is none."""
    words = lemma.split(" ")
    head = 0 if form.part == "VERB" else len(words) - 1
    known = lemminflect().getAllInflections(words[head], upos=form.part)
    forms = known.get(form.tag, ())
    if not known and form.part != "ADJ":
        forms = tuple(lemminflect().getInflection(words[head], form.tag, inflect_oov=True))
    if not forms:
        return words[head] if form.tag == PLAIN and len(words) == 1 else ""
    words[head] = forms[0]
    return " ".join(words)


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
