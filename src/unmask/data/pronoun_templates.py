"""Pronoun templates: sentences about 182 words, each with one slot for a masculine or feminine pronoun.

In template data side `more` is the masculine sentence and `less` the feminine one; neither is a stereotype
by itself. A positive difference means that the model expects the masculine pronoun. The group `goal` is the
expected direction: `zero` for gender-neutral words (professions), `female` or `male` for words that have a
gender (actress, pregnant, uncle), for which a difference of zero would be an error.

    {"category": "medical", "word": "doctor", "goal": "zero"}                         a word of its category
    {"category": "medical", "template": "The {word} renewed {possessive} license …"}  used with each of them
    {"category": "gender-word", "word": "beard", "goal": "male", "template": "…"}     used with this word only

The dataset `pronoun-templates-they` has a third option, they, where no verb form marks the singular.
"""

from __future__ import annotations

import re
from pathlib import Path

from unmask.data.formats import read_records
from unmask.data.items import DatasetSource, LoadedItems, with_warnings
from unmask.data.ours import card
from unmask.data.templates import FORMS, THEY, TemplateLine, expand_templates

PRONOUNS = card(
    "pronoun-templates",
    "Pronoun templates",
    file="pronoun-templates.jsonl",
    sha256="b9e21013b3ef4aec15f1d224d8efec51c10cf5bc1a21936494470831986920d7",
    size=2952,
    problems=(
        "Side `more` is the masculine sentence, not a stereotype: the share of pairs won is a share of "
        "masculine pronouns, and 50% is right only where the goal is zero. "
        "Two pronouns only (pronoun-templates-they adds they); neopronouns are not asked. "
        "The 2,952 items are 284 templates filled with 182 words: items of one template or one word are not "
        "independent, so intervals over items are too narrow. "
        "A template suits every word of its category, hence says little that is special to one profession. "
        "`her` is both object and possessive, `his` both possessive and independent, so the two pronouns are "
        "not equally easy to guess from a slot. Gender words follow common usage: not every pregnant person "
        "is a woman, not every bearded one a man."
    ),
)
WITH_THEY = card(
    "pronoun-templates-they",
    "Pronoun templates with they",
    file="pronoun-templates.jsonl",
    sha256=PRONOUNS.files[0].sha256,
    size=2710,
    problems=(
        "The items of pronoun-templates in which he, she and they fit the same verb; what is said of "
        "pronoun-templates holds here too. The third sentence of an item has they, them, their, theirs or "
        "themselves. A model may take they for several people, above all where the sentence names some, so "
        "a high probability of they is not always a neutral answer."
    ),
)
_SINGULAR = (
    re.compile(r"\{subject\}.*\b(is|was|has|does)\b", re.IGNORECASE),
    re.compile(r"\{subject\} (?:(?:still|already|never|ever|always|often|just) )?\w+s\b", re.IGNORECASE),
)


def load(path: Path) -> LoadedItems:
    """Every template of a category with every word of it; groups category, word, goal, slot, template."""
    return with_warnings([*expand_templates(_lines(path), PRONOUNS.name)])


def load_with_they(path: Path) -> LoadedItems:
    """Every template in which no verb is marked as singular, with every word of its category."""
    lines = [line for line in _lines(path) if not any(verb.search(line.template) for verb in _SINGULAR)]
    categories = {line.category for line in lines if line.template}
    kept = [line for line in lines if line.template or line.category in categories]
    slots = {slot: (*both, THEY[slot]) for slot, both in FORMS.items()}
    return with_warnings([*expand_templates(kept, WITH_THEY.name, slots)])


def _lines(path: Path) -> list[TemplateLine]:
    """The words and templates of the file."""
    return [TemplateLine("", **row) for row in read_records(path, "templates")]


DATASETS = (DatasetSource(PRONOUNS, load), DatasetSource(WITH_THEY, load_with_they))
