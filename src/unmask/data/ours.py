"""The built-in datasets of pairs, and what all built-in data share: their cards and tables of pairs.

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
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from unmask.core.types import Card, DataFile, Pair
from unmask.data.formats import read_bytes, read_table
from unmask.data.items import DatasetSource, LoadedItems, with_warnings
from unmask.data.templates import from_yaml

FOLDER = "builtin"
WRITERS = "Few writers, one second reader of every line, no annotators; English of the US only."
CITATION = """\
@misc{{unmask-{name},
  title = {{{title}}},
  author = {{{{The unmask developers}}}},
  year = {{2026}},
  note = {{Dataset {name} of unmask, CC BY 4.0}},
}}"""


def card(name: str, title: str, *, file: str, sha256: str, size: int, problems: str) -> Card:
    """The card of a built-in file; `WRITERS` comes before its own known problems."""
    return Card(
        name=name,
        title=title,
        folder=FOLDER,
        files=(DataFile(file, url="", sha256=sha256),),
        licence="CC BY 4.0",
        languages=("en",),
        citation=CITATION.format(name=name, title=title),
        source=f"unmask:data/{FOLDER}/{file}",
        size=size,
        problems=f"{WRITERS} {problems}",
    )


def load_pairs(path: Path, name: str) -> LoadedItems:
    """Load a built-in file of pairs, with ids `<name>/<row>`; all other columns are groups."""
    rows = read_table(path, "a table of pairs")
    return with_warnings(
        [Pair(f"{name}/{row:04}", cells.pop("more"), cells.pop("less"), groups=cells) for row, cells in enumerate(rows)]
    )


def load_templates(path: Path) -> LoadedItems:
    """Every template of a category with every word of it; groups category, word, goal, slot, template."""
    return from_yaml(read_bytes(path, "templates"), path.name, "noun-templates")


NINE_AXES = card(
    "nine-axes",
    "Nine axes of stereotype",
    file="nine-axes.csv",
    sha256="d8b5327996958e58c801a62616cbd4ca7a7e4102f86106d914928198be8fac0e",
    size=360,
    problems=(
        "Stereotypes are those of the US and Europe, and whether a sentence states one was decided by its "
        "writers alone. 40 pairs a category, 20 in each direction, make wide intervals. "
        "The word for the advantaged group is often the rarer one: nobody writes able-bodied, sighted or "
        "neurotypical without need, so in disability, and less so in sexual orientation, a model may prefer "
        "the other sentence for the word's frequency alone. "
        "In age the disadvantaged are mostly old people, in five pairs teenagers. "
        "In one pair (0036) the sentences differ in length. No published numbers to compare with."
    ),
)
PARAPHRASES = card(
    "paraphrases",
    "Paraphrases of nine-axes",
    file="paraphrases.csv",
    sha256="42f43679c2bfd8f01a058216ecb985e4ca5a1f46f1300316b4435d5c57dde73b",
    size=405,
    problems=(
        "Not 405 independent pairs but 135 with three rewordings each: an interval over all of them is too "
        "narrow, and a bias score of its own says little. For agreement with nine-axes, not in its place. "
        "That the meaning was kept is the writers' judgement. Only originals that could be reworded "
        "naturally were taken, 15 of each category. Stereotypes are those of the US and Europe."
    ),
)
TRIPLE_GENDER = card(
    "triple-gender",
    "Three kinds of gender bias",
    file="triple-gender.csv",
    sha256="c8b33e839ad1583c2c8a385b2540729e37775c1018e26fd9c1ffa6a8d007d82c",
    size=360,
    problems=(
        "Stereotypes are those of the US and Europe. Two genders only. "
        "Occupations are balanced (60 in each direction), sexism is not: of either kind 94 pairs speak of "
        "women and 26 of men, so a plain preference for feminine words looks like sexism in the score over all "
        "pairs; the headline counts both directions alike. The 52 pairs about men measure something else "
        "than sexism as the literature defines it. Many sentences of sexism are general claims about women or men "
        "that few people would write of the other group, so likelihood mixes prejudice with what is usually said. "
        "No published numbers to compare with: the thesis used other sentences."
    ),
)
PROMPT_PAIRS = card(
    "prompt-pairs",
    "Completed prompts about two groups",
    file="prompt-pairs.csv",
    sha256="e539b7a1de1d67217230e3d29a5f9a1fda78ef748fa5b3f509e8f043d549249d",
    size=100,
    problems=(
        "25 pairs a category, 15 that state a stereotype of the disadvantaged group and 10 of the advantaged one, make "
        "wide intervals. Questions with their answer are rare in the texts that most models were trained on. "
        "Stereotypes are those of the US and Europe; whether a sentence states one was decided by its writers alone. "
        "Words for status differ in frequency and often name occupations. No published numbers to compare with."
    ),
)
CONTROLS = replace(
    card(
        "controls",
        "Control versions of pairs",
        file="controls.csv",
        sha256="aaef80e209618aee51c0adae59993cf46a8e6a414c4e80746565d43fb8d38e83",
        size=650,
        problems="",
    ),
    problems=(
        "For `unmask diagnose controls`, together with the originals; a bias score over all of them says nothing. "
        "No second reader and no annotators; English of the US only. That a group is not stereotyped so (left-handed "
        "and right-handed, brown-eyed and blue-eyed, Norwegian and Finnish …) is the writers' judgement, and so is "
        "what counts as neutral. Neutral versions are other sentences, often shorter. In the exchanged versions about "
        "occupations the pronoun is gone, so that another word than in the original differs. Ten originals a category, "
        "40 about occupations, half of them in each direction: single categories show large reactions only."
    ),
)
NOUN_TEMPLATES = card(
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
DATASETS = (
    *(
        DatasetSource(each, partial(load_pairs, name=each.name))
        for each in (NINE_AXES, PARAPHRASES, TRIPLE_GENDER, PROMPT_PAIRS, CONTROLS)
    ),
    DatasetSource(NOUN_TEMPLATES, load_templates),
)
