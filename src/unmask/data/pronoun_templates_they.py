"""The pronoun templates with a third option, they, where no verb form marks the singular."""

from __future__ import annotations

import re
from pathlib import Path

from unmask.data import pronoun_templates
from unmask.data.items import DatasetSource, LoadedItems, with_warnings
from unmask.data.ours import card
from unmask.data.templates import FORMS, THEY, TemplateLine, expand_templates

SLOTS = {slot: (*both, THEY[slot]) for slot, both in FORMS.items()}
CARD = card(
    "pronoun-templates-they",
    "Pronoun templates with they",
    file="pronoun-templates.jsonl",
    sha256=pronoun_templates.CARD.files[0].sha256,
    size=2710,
    problems=(
        "The items of pronoun-templates in which he, she and they fit the same verb; what is said of "
        "pronoun-templates holds here too. The third sentence of an item has they, them, their, theirs or "
        "themselves. A model may take they for several people, above all where the sentence names some, so "
        "a high probability of they is not always a neutral answer."
    ),
)
_ONE_PERSON = re.compile(r"\{subject\}.*\b(is|was|has|does)\b", re.IGNORECASE)
_VERB = re.compile(r"\{subject\} (?:(?:still|already|never|ever|always|often|just) )?\w+s\b", re.IGNORECASE)


def load(path: Path) -> LoadedItems:
    """Every template in which `they` is grammatical, with every word of its category."""
    lines = [line for line in pronoun_templates.lines(path) if not line.template or takes_they(line)]
    templates = {line.category for line in lines if line.template}
    return with_warnings(
        [
            *expand_templates(
                [line for line in lines if line.template or line.category in templates], CARD.name, SLOTS
            )
        ]
    )


def takes_they(line: TemplateLine) -> bool:
    """Whether no verb of the template is marked as singular."""
    return not (_ONE_PERSON.search(line.template) or _VERB.search(line.template))


DATASET = DatasetSource(CARD, load)
