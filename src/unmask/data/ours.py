"""The built-in datasets of pairs and of templates.

nine-axes: 40 pairs for each of the nine categories of CrowS-Pairs, with the stereotype they state in words.
paraphrases: three of each of 135 pairs of nine-axes, with unchanged words for the group. Is the preferred
    sentence of a pair stable under paraphrase (Kwon and Mihindukulasooriya, 2022)? The group `original` is
    the paraphrased pair, `paraphrase` numbers its paraphrases from 1.
triple-gender: 120 pairs each for occupations, benevolent and hostile sexism. The kinds are those of Barza
    (2023), whose own sentences were not published; these are ours.
prompt-pairs: 25 completed prompts each on race, gender, socioeconomic status and religion that set two groups
    against each other, as the pairs of "Exploring social bias through prompt learning" (2023) do; ours.
controls: control versions of 90 pairs of nine-axes and 40 about occupations of triple-gender, for `unmask diagnose
    controls`, after the construction of Pikuliak et al. (2023): the stereotype denied (`negated`), two groups that
    are not stereotyped so (`exchanged`), something neutral said of the groups (`neutral`), and the pair said to be
    from a book about the past or the future (`past`, `future`).
noun-templates: sentences about someone at work with an open noun, man or woman, father or mother.
pronoun-templates: sentences about 182 words, each with one slot for a masculine or feminine pronoun.
pronoun-templates-they: the same with a third option, they, where no verb form marks the singular.

In template data side `more` is the masculine sentence and `less` the feminine one; neither is a stereotype
by itself. A positive difference means that the model expects the masculine pronoun. The group `goal` is the
expected direction: `zero` for gender-neutral words (professions), `female` or `male` for words that have a
gender (actress, pregnant, uncle), for which a difference of zero would be an error.

    {"category": "medical", "word": "doctor", "goal": "zero"}                         a word of its category
    {"category": "medical", "template": "The {word} renewed {possessive} license …"}  used with each of them
    {"category": "gender-word", "word": "beard", "goal": "male", "template": "…"}     used with this word only
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from unmask.core.types import Pair
from unmask.data.formats import read_bytes, read_records, read_table
from unmask.data.items import DatasetSource, LoadedItems, read_card, with_warnings
from unmask.data.templates import FORMS, THEY, TemplateLine, expand_templates, from_yaml


def load_pairs(path: Path, name: str) -> LoadedItems:
    """Load a built-in file of pairs, with ids `<name>/<row>`; all other columns are groups."""
    rows = read_table(path, "a table of pairs")
    return with_warnings(
        [Pair(f"{name}/{row:04}", cells.pop("more"), cells.pop("less"), groups=cells) for row, cells in enumerate(rows)]
    )


def load_templates(path: Path) -> LoadedItems:
    """Every template of a category with every word of it; groups category, word, goal, slot, template."""
    return from_yaml(read_bytes(path, "templates"), path.name, "noun-templates")


_SINGULAR = (
    re.compile(r"\{subject\}.*\b(is|was|has|does)\b", re.IGNORECASE),
    re.compile(r"\{subject\} (?:(?:still|already|never|ever|always|often|just) )?\w+s\b", re.IGNORECASE),
)


def load_pronouns(path: Path) -> LoadedItems:
    """Every template of a category with every word of it; groups category, word, goal, slot, template."""
    return with_warnings([*expand_templates(_lines(path), "pronoun-templates")])


def load_pronouns_with_they(path: Path) -> LoadedItems:
    """Every template in which no verb is marked as singular, with every word of its category."""
    lines = [line for line in _lines(path) if not any(verb.search(line.template) for verb in _SINGULAR)]
    categories = {line.category for line in lines if line.template}
    kept = [line for line in lines if line.template or line.category in categories]
    slots = {slot: (*both, THEY[slot]) for slot, both in FORMS.items()}
    return with_warnings([*expand_templates(kept, "pronoun-templates-they", slots)])


def _lines(path: Path) -> list[TemplateLine]:
    """The words and templates of the file."""
    return [TemplateLine("", **row) for row in read_records(path, "templates")]


PAIRS = ("nine-axes", "paraphrases", "triple-gender", "prompt-pairs", "controls")
DATASETS = (
    *(DatasetSource(read_card(name), partial(load_pairs, name=name)) for name in PAIRS),
    DatasetSource(read_card("noun-templates"), load_templates),
    DatasetSource(read_card("pronoun-templates"), load_pronouns),
    DatasetSource(read_card("pronoun-templates-they"), load_pronouns_with_they),
)
