"""Reminders: sentences in which a word that has a gender stands beside a person of that gender.

Mitigation can make a model forget that `pregnant` is said of women; training on these sentences as well is
the remedy of Barza (2023).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from unmask.data.formats import records
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
    """One sentence, the word it reminds of, and the gender that word has."""

    word: str
    gender: str  # female, male
    sentence: str


def load(path: Path) -> tuple[Reminder, ...]:
    """The sentences in the order of the file, word after word."""
    rows = records(path.read_bytes(), path.suffix, path.name)
    return tuple(Reminder(row["word"], row["gender"], row["sentence"]) for row in rows)
