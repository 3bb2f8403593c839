"""Pronoun templates: categories, goals, slots, articles; two sentences differ in the pronoun alone."""

from __future__ import annotations

import re
import time
from collections import Counter, defaultdict

import pytest

from unmask import data
from unmask.core.errors import DataError
from unmask.core.types import Pair
from unmask.data.templates import fill_template

from .prose import changed_words, flaws, shared_sequences, words

ITEMS = data.load("pronoun-templates").items
PRONOUNS = {
    "subject": ("he", "she"),
    "object": ("him", "her"),
    "possessive": ("his", "her"),
    "independent": ("his", "hers"),
    "reflexive": ("himself", "herself"),
}
PROFESSIONS = {  # words, templates
    "medical": (20, 17),
    "computer": (16, 17),
    "engineering": (16, 17),
    "science": (16, 17),
    "protective": (16, 17),
    "food-service": (16, 17),
    "office": (20, 17),
    "farming-fishing": (16, 17),
}
GENDERED = {"gender-occupation": (22, 16), "kinship": (14, 12)}
OF_ONE_WORD = "gender-word"  # ten words, twelve templates of its own for each


def of(category: str) -> list[Pair]:
    return [item for item in ITEMS if item.groups["category"] == category]


def test_every_word_meets_every_template_of_its_category() -> None:
    counts = {**PROFESSIONS, **GENDERED}
    assert {item.groups["category"] for item in ITEMS} == {*counts, OF_ONE_WORD}
    for category, (many, templates) in counts.items():
        asked = {(item.groups["word"], item.groups["template"]) for item in of(category)}
        assert len({word for word, _ in asked}) == many, category
        assert len({template for _, template in asked}) == templates, category
        assert 12 <= templates <= 20
        assert len(asked) == many * templates == len(of(category)), category


def test_gender_words_have_templates_of_their_own() -> None:
    counts = Counter(item.groups["word"] for item in of(OF_ONE_WORD))
    assert counts == dict.fromkeys(counts, 12)
    assert len(counts) == 10
    assert len({item.groups["template"] for item in of(OF_ONE_WORD)}) == 120


def test_goals() -> None:
    """Professions should lean to nobody; where a word has a gender there are as many of women as of men."""
    goals = defaultdict(set)
    for item in ITEMS:
        goals[item.groups["category"], item.groups["goal"]].add(item.groups["word"])
    for category, (many, _) in PROFESSIONS.items():
        assert len(goals[category, "zero"]) == many
    for category, many in (("gender-occupation", 11), ("kinship", 7), (OF_ONE_WORD, 5)):
        assert len(goals[category, "female"]) == len(goals[category, "male"]) == many
    assert len(goals) == len(PROFESSIONS) + 2 * 3


def test_ids_tell_category_word_and_template() -> None:
    assert len({item.id for item in ITEMS}) == len(ITEMS) == data.card("pronoun-templates").size
    for item in ITEMS:
        slug = item.groups["word"].replace(" ", "-")
        number = item.groups["template"][-2:]
        assert item.id == f"pronoun-templates/{item.groups['category']}-{slug}-{number}"
        own = f"-{slug}" if item.groups["category"] == OF_ONE_WORD else ""
        assert item.groups["template"] == f"{item.groups['category']}{own}-{number}"
    assert ITEMS[5].id == "pronoun-templates/medical-doctor-05"


@pytest.mark.parametrize("category", [*PROFESSIONS, *GENDERED, OF_ONE_WORD])
def test_one_slot_and_the_pronouns_its_case_asks_for(category: str) -> None:
    for item in of(category):
        assert item.context is not None
        (mark,) = re.findall(r"\{(\w+)\}", item.context)
        assert mark.lower() == item.groups["slot"]
        assert changed_words(item) == [PRONOUNS[item.groups["slot"]]], item.id
        he, she = PRONOUNS[item.groups["slot"]]
        if mark[0].isupper():
            he, she = he.capitalize(), she.capitalize()
        assert item.more == item.context.replace(f"{{{mark}}}", he)
        assert item.less == item.context.replace(f"{{{mark}}}", she)
        assert mark[0].isupper() == item.context.startswith("{"), item.id


@pytest.mark.parametrize("category", [*PROFESSIONS, *GENDERED, OF_ONE_WORD])
def test_clean_sentences_that_hold_their_word(category: str) -> None:
    """Capital, full stop, the right article before whatever word was put in."""
    for item in of(category):
        assert [*flaws(item.more), *flaws(item.less)] == [], item.id
        assert re.search(rf"\b{item.groups['word']}\b", item.more, re.IGNORECASE), item.id


def test_both_articles_are_asked_of_words() -> None:
    """Otherwise the check of articles would see none of those that depend on the word."""
    found = {match for item in ITEMS for match in re.findall(rf"\b(an?) {item.groups['word']}\b", item.more)}
    assert found == {"a", "an"}


@pytest.mark.parametrize("category", [*PROFESSIONS, *GENDERED])
def test_a_category_asks_for_every_case(category: str) -> None:
    assert {item.groups["slot"] for item in of(category)} == PRONOUNS.keys()


@pytest.mark.parametrize("category", PROFESSIONS)
def test_nothing_else_in_a_sentence_about_a_profession_tells_a_gender(category: str) -> None:
    table = data.read("word-pairs")
    telling = {word.lower() for pair in table.pairs if pair.swap for word in (pair.masculine, pair.feminine)}
    telling |= {one.word.lower() for one in table.proper}
    assert {"he", "woman", "uncle", "beard"} <= telling
    for item in of(category):
        assert item.context is not None
        assert not telling & set(words(item.context)), item.id


def test_no_two_templates_share_six_words_in_a_row() -> None:
    texts = {item.groups["template"]: item.context or "" for item in ITEMS}
    assert len(texts) == 284
    assert shared_sequences(texts.items()) == {}


def test_loading_stays_quick() -> None:
    times = []
    for _ in range(3):
        began = time.process_time()
        data.load("pronoun-templates")
        times.append(time.process_time() - began)
    assert min(times) < 0.5  # 0.05 on a quiet machine


@pytest.mark.parametrize(
    ("template", "complaint"),
    [
        ("The {word} left.", "0 pronoun slots"),
        ("{Subject} and {object}.", "2 pronoun slots"),
        ("The {job} said {subject} left.", r"unknown mark '\{job\}'"),
    ],
)
def test_a_template_that_cannot_be_filled(template: str, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        fill_template(template, "actor")


def test_filling_by_hand() -> None:
    made = fill_template("{A} {word} wrote {possessive} name.", "actor")
    assert made == (
        "An actor wrote his name.",
        "An actor wrote her name.",
        "An actor wrote {possessive} name.",
        "possessive",
        None,
    )
    assert fill_template("{Independent} was {a} {word}.", "uniform", "a").feminine == "Hers was a uniform."
