"""Inflection by lemminflect: readings of a word such as `stole`, and another lemma in the same form."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from unmask.core.errors import DataError

PARTS = ("NOUN", "VERB", "ADJ")
PLAIN = "JJ"  # adjectives are compared only in forms the dictionary knows: no "intelligenter"


@dataclass(frozen=True, slots=True)
class Form:
    """One reading of a word: its lemma, part of speech, and Penn tag."""

    lemma: str
    part: str
    tag: str


@cache
def lemminflect() -> Any:
    """The lemminflect module; DataError if it is not installed."""
    try:
        return import_module("lemminflect")
    except ModuleNotFoundError:
        raise DataError(
            "generating paraphrases needs lemminflect, which is not installed; "
            "run `pip install 'unmask[words]'`"
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
    forms = known.get(form.tag) or (() if known or form.part == "ADJ" else _by_rule(words[head], form.tag))
    if not forms:
        return words[head] if form.tag == PLAIN and len(words) == 1 else ""
    words[head] = forms[0]
    return " ".join(words)


def _by_rule(lemma: str, tag: str) -> tuple[str, ...]:
    return tuple(lemminflect().getInflection(lemma, tag, inflect_oov=True))
