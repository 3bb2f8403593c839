"""Reminders: each sentence holds its word, or a form of it, beside a person of the right gender."""

from __future__ import annotations

import re
from collections import Counter

from unmask import data

from .prose import flaws, shared_sequences, words

REMINDERS = data.read("reminders")
FORMS = {  # gender, the word's forms
    "pregnant": ("female", r"pregnant|pregnancy"),
    "breastfeeding": ("female", r"breastfe(d|ed|eds|eding)"),
    "menstruation": ("female", r"menstruation|menstruat(e|es|ing)|menstrual|periods?"),
    "ovaries": ("female", r"ovary|ovaries"),
    "maternity leave": ("female", r"maternity leave"),
    "testicles": ("male", r"testicles?"),
    "prostate": ("male", r"prostate"),
    "beard": ("male", r"beards?|bearded"),
}


def people(gender: str) -> set[str]:
    """Words that say a person is a woman, or a man."""
    pairs = [pair for pair in data.read("word-pairs").pairs if pair.swap]
    return {(pair.feminine if gender == "female" else pair.masculine).lower().rstrip(".") for pair in pairs}


WOMEN, MEN = people("female"), people("male")


def test_at_least_fifty_for_every_word() -> None:
    counts = Counter(one.word for one in REMINDERS)
    assert counts.keys() == FORMS.keys()
    assert min(counts.values()) >= 50
    assert sum(counts.values()) == data.card("reminders").size


def test_the_word_and_somebody_of_its_gender_and_nobody_else() -> None:
    for one in REMINDERS:
        gender, forms = FORMS[one.word]
        assert one.gender == gender, one
        assert re.search(rf"\b({forms})\b", one.sentence.lower()), one
        said = {word.removesuffix("'s").removesuffix("'") for word in words(one.sentence)}
        right, wrong = (WOMEN, MEN) if gender == "female" else (MEN, WOMEN)
        assert said & right, one
        assert not said & wrong, one


def test_clean_sentences() -> None:
    for one in REMINDERS:
        assert flaws(one.sentence) == [], one


def test_no_two_share_six_words_in_a_row() -> None:
    assert shared_sequences((one.sentence, one.sentence) for one in REMINDERS) == {}
