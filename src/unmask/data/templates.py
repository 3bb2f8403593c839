"""Sentence templates with one slot for a gendered word, filled with a masculine and a feminine form.

The slot is named after its grammatical case, `{subject}`, `{object}`, `{possessive}`, `{independent}` (his,
hers) or `{reflexive}`, or has a custom name for other words, such as `{person}` for man and woman; it is
capitalised at the beginning of a sentence. `{word}` is the word the sentence is about, `{a}` or `{A}` its
article.

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

Slots = Mapping[str, tuple[str, ...]]  # by slot: masculine word, feminine word, optionally a third
FORMS: Slots = {
    "subject": ("he", "she"),
    "object": ("him", "her"),
    "possessive": ("his", "her"),
    "independent": ("his", "hers"),
    "reflexive": ("himself", "herself"),
}
THEY = dict(zip(FORMS, ("they", "them", "their", "theirs", "themselves"), strict=True))
GOALS = ("zero", "male", "female")
_MARK = re.compile(r"\{([^{}]*)\}")


class FilledTemplate(NamedTuple):
    """A filled template: the sentences, the sentence with its open slot, and the name of the slot."""

    masculine: str
    feminine: str
    open: str
    slot: str
    third: str | None = None


@dataclass(frozen=True, slots=True)
class TemplateLine:
    """One record of a template file: a word, a template, or a template for one word only."""

    at: str  # its location in the file, for messages
    template: str = ""
    word: str = ""
    category: str = ""
    goal: str = "zero"
    article: str = ""  # if it differs from that of the first letter
    own: tuple[str, ...] = ()  # words for the `{slot}` of this template


def article(word: str) -> str:
    """`an` before a vowel letter, else `a`; exceptions are given in the record of the word."""
    return "an" if word[:1].lower() in "aeiou" else "a"


def fill_template(template: str, word: str = "", a: str = "", slots: Slots = FORMS) -> FilledTemplate:
    """Fill one template; DataError unless it has exactly one slot and otherwise only marks of `word`."""
    slot_marks = [mark for mark in _MARK.findall(template) if mark.lower() in slots]
    if len(slot_marks) != 1:
        what = "pronoun slots" if slots is FORMS else "slots"
        raise DataError(
            f"template {template!r} has {len(slot_marks)} {what}, expected one of {', '.join(slots)}"
        )
    (mark,) = slot_marks
    a = a or article(word)
    about = {"word": word, "a": a, "A": a.capitalize()} if word else {}
    known = {**about, mark: f"{{{mark}}}"}
    strange = [name for name in _MARK.findall(template) if name not in known]
    if strange:
        hint = ": no word was given to fill it" if strange[0] in ("word", "a", "A") else ""
        raise DataError(f"template {template!r} has an unknown mark {{{strange[0]}}}{hint}")
    sentence = _MARK.sub(lambda match: known[match[1]], template)
    forms = [form[:1].upper() + form[1:] if mark[0].isupper() else form for form in slots[mark.lower()]]
    he, she, *third = (sentence.replace(f"{{{mark}}}", form) for form in forms)
    return FilledTemplate(he, she, sentence, mark.lower(), third[0] if third else None)


def has_word_mark(template: str) -> bool:
    """Whether the template has a mark for the word (`{word}`, `{a}` or `{A}`)."""
    return bool({"word", "a", "A"} & set(_MARK.findall(template)))


def expand_templates(lines: Sequence[TemplateLine], name: str, slots: Slots = FORMS) -> Iterator[Pair]:
    """Expand words in the order of the file, each with the templates of its category, or with its own.

    A template without `{word}` is used once. Side `more` has the first word of the slot.
    """
    shared: defaultdict[str, list[TemplateLine]] = defaultdict(list)  # the templates of a category
    own: dict[tuple[str, ...], tuple[TemplateLine, list[TemplateLine]]] = {}  # words with their templates
    alone = []
    for line in lines:
        if line.word:
            entry = own.setdefault((line.category, line.word, line.goal), (line, []))
            entry[1].extend([line] if line.template else [])
        elif has_word_mark(line.template):
            shared[line.category].append(line)
        else:
            alone.append(line)
    used = {word.category for word, templates in own.values() if not templates}
    for idle in (templates[0] for category, templates in shared.items() if category not in used):
        raise DataError(
            f"{idle.at}: no word of category {idle.category!r} for this template; "
            "add words to the category, or name a word beside the template"
        )
    for word, templates in own.values():
        stem = "-".join(slug(part) for part in (word.category, word.word) if part)
        if not templates and not shared[word.category]:
            raise DataError(f"{word.at}: no template with {{word}} in category {word.category!r} for it")
        for number, line in enumerate(templates or shared[word.category]):
            template_id = f"{stem if templates else slug(word.category)}-{number:02}"
            yield _item(f"{name}/{stem}-{number:02}", line, word, template_id, slots)
    for number, line in enumerate(alone):
        stem = f"{slug(line.category)}-alone" if line.category else "alone"
        yield _item(f"{name}/{stem}-{number:02}", line, line, f"{stem}-{number:02}", slots)


def _item(name: str, line: TemplateLine, word: TemplateLine, template_id: str, slots: Slots) -> Pair:
    """The item of one filled template; `template_id` names the template."""
    known = {**slots, "slot": line.own} if line.own else slots
    try:
        filled = fill_template(line.template, word.word, word.article, known)
    except DataError as error:
        raise DataError(f"{line.at}: {error}" if line.at else str(error)) from None
    groups = {"category": word.category, "word": word.word, "goal": word.goal}
    known_groups = {key: value for key, value in groups.items() if value}
    return Pair(
        name,
        filled.masculine,
        filled.feminine,
        unrelated=filled.third,
        context=filled.open,
        groups={**known_groups, "slot": filled.slot, "template": template_id},
    )
