"""Reminders: sentences in which a gendered word refers to a person of that gender.

Mitigation can make a model forget that `pregnant` refers to women; Barza (2023) adds such sentences to the
training text.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from unmask.data.formats import read_records
from unmask.data.items import TableSource
from unmask.data.ours import card

CARD = card(
    "reminders",
    "Reminders of words that have a gender",
    file="reminders.jsonl",
    sha256="c007cfbd7a5b206b278abf121b12a0d13564d0c9d5f7584640808d5f95c0c3b0",
    size=417,
    problems=(
        "Training data, not a test: a model trained on them must not be judged by them. "
        "Eight words only, five of women and three of men, 52 or 53 sentences each; most use another form "
        "of the word now and then (pregnancy, breastfed, period, ovary). "
        "They follow common usage and leave out trans and intersex people. "
        "Some sentences put the other gender into a profession on purpose (a plumber who is breastfeeding, "
        "a nurse with a beard)."
    ),
)


@dataclass(frozen=True, slots=True)
class Reminder:
    """A sentence, its gendered word, and the gender of that word."""

    word: str
    gender: str  # female, male
    sentence: str


def load(path: Path) -> tuple[Reminder, ...]:
    """The sentences in the order of the file, word after word."""
    rows = read_records(path, "reminders")
    return tuple(Reminder(**row) for row in rows)


TABLE = TableSource(CARD, load)
