"""Pronoun templates: sentences about 182 words, each with one slot for a masculine or feminine pronoun.

In template data side `more` is the masculine sentence and `less` the feminine one; neither is a stereotype
by itself. A positive difference means that the model expects the masculine pronoun. The group `goal` is the
expected direction: `zero` for gender-neutral words (professions), `female` or `male` for words that have a
gender (actress, pregnant, uncle), for which a difference of zero would be an error.

    {"category": "medical", "word": "doctor", "goal": "zero"}                         a word of its category
    {"category": "medical", "template": "The {word} renewed {possessive} license …"}  used with each of them
    {"category": "gender-word", "word": "beard", "goal": "male", "template": "…"}     used with this word only
"""

from __future__ import annotations

from pathlib import Path

from unmask.data.formats import records
from unmask.data.items import DatasetSource, LoadedItems, with_warnings
from unmask.data.ours import card
from unmask.data.templates import TemplateLine, expand_templates

CARD = card(
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


def load(path: Path) -> LoadedItems:
    """Every template of a category with every word of it; groups category, word, goal, slot, template."""
    return with_warnings([*expand_templates(lines(path), CARD.name)])


def lines(path: Path) -> list[TemplateLine]:
    """The words and templates of the file."""
    return [TemplateLine("", **row) for row in records(path.read_bytes(), path.suffix, path.name)]


DATASET = DatasetSource(CARD, load)
