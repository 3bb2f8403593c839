"""Noun templates: sentences about someone at work with an open noun, man or woman, father or mother."""

from __future__ import annotations

from pathlib import Path

from unmask.data.items import DatasetSource, LoadedItems
from unmask.data.ours import card
from unmask.data.template_files import from_yaml

CARD = card(
    "noun-templates",
    "Noun templates",
    file="noun-templates.yaml",
    sha256="18ff2bed159ad05463d90ab64eb70ec3fe3b1f83888d34b318f2c223079ff7dd",
    size=192,
    problems=(
        "Side `more` has the man's noun, not a stereotype. 24 templates of four categories, 32 words, seven "
        "pairs of nouns: items of one template or one word are not independent. The nouns of a pair differ "
        "in more than gender, in how frequent they are for one. Two genders only; some suit married people "
        "or parents alone. Written also as an example of a template file (docs/templates.md)."
    ),
)


def load(path: Path) -> LoadedItems:
    """Every template of a category with every word of it; groups category, word, goal, slot, template."""
    return from_yaml(path.read_bytes(), path.name, CARD.name)


DATASET = DatasetSource(CARD, load)
