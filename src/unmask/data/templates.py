"""Sentences with one slot for a word that tells a gender, filled by a man's and a woman's.

A template marks the slot by the case its grammar asks for, `{subject}`, `{object}`, `{possessive}`,
`{independent}` (his, hers) or `{reflexive}`, or by a name of its own for other words, such as `{person}` for
man and woman; capitalised where a sentence begins with it. `{word}` is whom the sentence speaks of, `{a}` or
`{A}` the article it needs.

    "In {possessive} first year {a} {word} learns the most."  +  "actuary"
    ──►  "In his first year an actuary learns the most.",  "In her first year an actuary learns the most."
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from unmask.core.errors import DataError
from unmask.core.types import Pair
from unmask.data.pairs import slug

Slots = Mapping[str, tuple[str, ...]]  # by slot: the man's word, the woman's, perhaps a third
FORMS: Slots = {
    "subject": ("he", "she"),
    "object": ("him", "her"),
    "possessive": ("his", "her"),
    "independent": ("his", "hers"),
    "reflexive": ("himself", "herself"),
}
THEY = {
    "subject": "they",
    "object": "them",
    "possessive": "their",
    "independent": "theirs",
    "reflexive": "themselves",
}
GOALS = ("zero", "male", "female")
_MARK = re.compile(r"\{([^{}]*)\}")


class FilledTemplate(NamedTuple):
    """One template with its word: the sentences, the sentence with its slot open, and the slot's name."""

    masculine: str
    feminine: str
    open: str
    slot: str
    third: str | None = None


@dataclass(frozen=True, slots=True)
class TemplateLine:
    """One record of a template file: a word, a template, or a template for one word only."""

    at: str  # where it stands, for messages
    template: str = ""
    word: str = ""
    category: str = ""
    goal: str = "zero"
    article: str = ""  # where it is not the one the first letter asks for
    own: tuple[str, ...] = ()  # the words of this template's `{slot}`


def article(word: str) -> str:
    """`an` before a vowel letter, else `a`; words that sound otherwise say so in their record."""
    return "an" if word[:1].lower() in "aeiou" else "a"


def fill_template(
    template: str, word: str = "", indefinite: str = "", slots: Slots = FORMS
) -> FilledTemplate:
    """Fill one template; DataError when its marks are not one slot and what belongs to `word`."""
    found = [mark for mark in _MARK.findall(template) if mark.lower() in slots]
    if len(found) != 1:
        what = "pronoun slots" if slots is FORMS else "slots"
        raise DataError(f"template {template!r} has {len(found)} {what}, expected one of {', '.join(slots)}")
    (mark,) = found
    a = indefinite or article(word)
    about = {"word": word, "a": a, "A": a.capitalize()} if word else {}
    known = {**about, mark: f"{{{mark}}}"}
    strange = [one for one in _MARK.findall(template) if one not in known]
    if strange:
        raise DataError(f"template {template!r} has an unknown mark {{{strange[0]}}}{_hint(strange[0])}")
    sentence = _MARK.sub(lambda one: known[one[1]], template)
    he, she, *third = (sentence.replace(f"{{{mark}}}", _as_in(mark, form)) for form in slots[mark.lower()])
    return FilledTemplate(he, she, sentence, mark.lower(), third[0] if third else None)


def asks_for_a_word(template: str) -> bool:
    """Has the template a place for whom it speaks of?"""
    return bool({"word", "a", "A"} & set(_MARK.findall(template)))


def expand_templates(lines: Sequence[TemplateLine], name: str, slots: Slots = FORMS) -> Iterator[Pair]:
    """Word by word in the order of the file, each in the templates of its category, or in its own.

    A template without `{word}` is asked once, as it stands. Side `more` has the first word of the slot.
    """
    shared: defaultdict[str, list[TemplateLine]] = defaultdict(list)  # the templates of a category
    own: dict[
        tuple[str, str, str], tuple[TemplateLine, list[TemplateLine]]
    ] = {}  # words, with templates of their own
    alone = []
    for line in lines:
        if line.word:
            found = own.setdefault((line.category, line.word, line.goal), (line, []))
            found[1].extend([line] if line.template else [])
        elif asks_for_a_word(line.template):
            shared[line.category].append(line)
        else:
            alone.append(line)
    used = {word.category for word, templates in own.values() if not templates}
    _refuse_idle(shared, used)
    for word, templates in own.values():
        stem = "-".join(slug(part) for part in (word.category, word.word) if part)
        if not templates and not shared[word.category]:
            raise DataError(f"{word.at}: no template with {{word}} in category {word.category!r} for it")
        for number, line in enumerate(templates or shared[word.category]):
            asked = f"{stem if templates else slug(word.category)}-{number:02}"
            yield _item(f"{name}/{stem}-{number:02}", line, word, asked, slots)
    for number, line in enumerate(alone):
        stem = f"{slug(line.category)}-alone" if line.category else "alone"
        yield _item(f"{name}/{stem}-{number:02}", line, line, f"{stem}-{number:02}", slots)


def _item(name: str, line: TemplateLine, word: TemplateLine, asked: str, slots: Slots) -> Pair:
    """All sentences of one template; `asked` names the template itself."""
    known = {**slots, "slot": line.own} if line.own else slots
    try:
        made = fill_template(line.template, word.word, word.article, known)
    except DataError as error:
        raise DataError(f"{line.at}: {error}" if line.at else str(error)) from None
    groups = {"category": word.category, "word": word.word, "goal": word.goal}
    kept = {key: value for key, value in groups.items() if value}
    return Pair(
        name,
        made.masculine,
        made.feminine,
        unrelated=made.third,
        context=made.open,
        groups={**kept, "slot": made.slot, "template": asked},
    )


def _refuse_idle(shared: Mapping[str, Sequence[TemplateLine]], used: set[str]) -> None:
    idle = [lines[0] for category, lines in shared.items() if category not in used]
    if idle:
        raise DataError(
            f"{idle[0].at}: no word of category {idle[0].category!r} for this template; "
            "add words to the category, or name a word beside the template"
        )


def _hint(mark: str) -> str:
    return ": no word was given to fill it" if mark in ("word", "a", "A") else ""


def _as_in(slot: str, form: str) -> str:
    return form[:1].upper() + form[1:] if slot[0].isupper() else form
