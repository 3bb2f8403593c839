"""Sentences with one slot for a pronoun, filled by a man's and a woman's.

A template marks the slot by the case its grammar asks for, `{subject}`, `{object}`, `{possessive}`,
`{independent}` (his, hers) or `{reflexive}`, capitalised where a sentence begins with it. `{word}` is whom
the sentence speaks of, `{a}` or `{A}` the article it needs.

    "In {possessive} first year {a} {word} learns the most."  +  "actuary"
    ──►  "In his first year an actuary learns the most.",  "In her first year an actuary learns the most."
"""

from __future__ import annotations

import re
from typing import NamedTuple

from unmask.errors import DataError

FORMS = {
    "subject": ("he", "she"),
    "object": ("him", "her"),
    "possessive": ("his", "her"),
    "independent": ("his", "hers"),
    "reflexive": ("himself", "herself"),
}
_MARK = re.compile(r"\{([^{}]*)\}")


class Filled(NamedTuple):
    """One template with its word: both sentences, the sentence with its slot open, and the slot's case."""

    masculine: str
    feminine: str
    open: str
    slot: str


def article(word: str) -> str:
    """`an` before a vowel letter, else `a`; words that sound otherwise say so in their record."""
    return "an" if word[:1].lower() in "aeiou" else "a"


def filled(template: str, word: str = "", indefinite: str = "") -> Filled:
    """Fill one template; DataError when its marks are not one pronoun slot and what belongs to `word`."""
    slots = [mark for mark in _MARK.findall(template) if mark.lower() in FORMS]
    if len(slots) != 1:
        raise DataError(
            f"template {template!r} has {len(slots)} pronoun slots, expected one of {', '.join(FORMS)}"
        )
    a = indefinite or article(word)
    about = {"word": word, "a": a, "A": a.capitalize()} if word else {}
    known = {**about, slots[0]: f"{{{slots[0]}}}"}
    strange = [mark for mark in _MARK.findall(template) if mark not in known]
    if strange:
        raise DataError(f"template {template!r} has an unknown mark {{{strange[0]}}}")
    sentence = _MARK.sub(lambda mark: known[mark[1]], template)
    he, she = (_as_in(slots[0], form) for form in FORMS[slots[0].lower()])
    slot = f"{{{slots[0]}}}"
    return Filled(sentence.replace(slot, he), sentence.replace(slot, she), sentence, slots[0].lower())


def _as_in(slot: str, form: str) -> str:
    return form.capitalize() if slot[0].isupper() else form
