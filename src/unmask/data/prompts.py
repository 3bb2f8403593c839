"""Prompts: 100 sentences with one open word, to be filled by a model and annotated by people.

For the human-level diagnosis of prompt learning (see `docs/data.md`): 25 prompts each on race, gender,
socioeconomic status and religion; half are texts to complete, half questions to answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from unmask.data.formats import read_records
from unmask.data.items import TableSource
from unmask.data.ours import card

CARD = card(
    "prompts",
    "Prompts with one open word",
    file="prompts.jsonl",
    sha256="474c16b56fb20e4e49f61f280d28a7c4713615023f515cf961874c4a289ccea4",
    size=100,
    problems=(
        "The listed words judge the clear cases only: any other answer needs a person, and persons differ. "
        "Biased and fair words were chosen by the writers; one prompt (0060) lists no biased word, and some "
        "fair lists are short. A word's presence in a list says nothing of how likely it is in English. "
        "Prompts name a group and invite a judgement, so a biased answer shows what the model can be led to "
        "say, not what it says unasked. Stereotypes are those of the US and Europe."
    ),
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A text with one `{slot}`, and the words that are clearly biased or fair in it."""

    id: str  # "prompts/0017" is line 17 of the file, counted from 0
    category: str  # race, gender, socioeconomic, religion
    form: str  # completion, question
    text: str
    biased: tuple[str, ...]  # in lower case
    fair: tuple[str, ...]
    why: str  # what a biased answer assumes


def load(path: Path) -> tuple[Prompt, ...]:
    """The 100 prompts in the order of the file."""
    rows = read_records(path, "prompts")
    return tuple(
        Prompt(f"{CARD.name}/{number:04}", **{**row, "biased": tuple(row["biased"]), "fair": tuple(row["fair"])})
        for number, row in enumerate(rows)
    )


TABLE = TableSource(CARD, load)
