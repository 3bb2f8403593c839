"""The built-in tables: prompts, reminders, occupations, and pairs and sets of words.

prompts: 100 sentences with one open word, to be filled by a model and annotated by people, for the human-level
    diagnosis of prompt learning (see `docs/data.md`): 25 each on race, gender, socioeconomic status and religion; half
    are texts to complete, half questions to answer.
reminders: sentences in which a gendered word refers to a person of that gender. Mitigation can make a model forget that
    `pregnant` refers to women; Barza (2023) adds such sentences to the training text.
occupations: the share of women in each profession we ask about, in the US of 2020, from table 11 of the Current
    Population Survey (US Bureau of Labor Statistics); the choice of the row for each of our words is ours.
word-pairs: masculine and feminine words, names, gendered words, terms for other groups: for counterfactual augmentation
    and substitution, for counting words in a corpus, and as word sets of association tests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from unmask.core.types import USUAL, Row
from unmask.data.formats import read_records, read_table
from unmask.data.items import TableSource, read_card

STEREO, ANTISTEREO = "stereo", "antistereo"  # directions: `more` has the masculine word
MAJORITY = 0.7  # share of women from which an occupation is said of women; of men likewise


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


def load_prompts(path: Path) -> tuple[Prompt, ...]:
    """The 100 prompts in the order of the file."""
    rows = read_records(path, "prompts")
    return tuple(
        Prompt(f"prompts/{number:04}", **{**row, "biased": tuple(row["biased"]), "fair": tuple(row["fair"])})
        for number, row in enumerate(rows)
    )


@dataclass(frozen=True, slots=True)
class Reminder:
    """A sentence, its gendered word, and the gender of that word."""

    word: str
    gender: str  # female, male
    sentence: str


def load_reminders(path: Path) -> tuple[Reminder, ...]:
    """The sentences in the order of the file, word after word."""
    rows = read_records(path, "reminders")
    return tuple(Reminder(**row) for row in rows)


@dataclass(frozen=True, slots=True)
class Occupation:
    """A profession, and the share of women in the row of the table that fits it best."""

    name: str
    women: float  # from 0 to 1
    bls: str  # the row's title


def load_occupations(path: Path) -> tuple[Occupation, ...]:
    """The occupations in the order of the file."""
    rows = read_table(path, "the occupations")
    return tuple(Occupation(row["occupation"], float(row["women"]), row["bls"]) for row in rows)


def with_usual_gender(rows: Sequence[Row]) -> list[Row]:
    """The rows; those whose word is a profession of mostly men or mostly women with the group `usual_gender`."""
    from unmask import data

    usual = {}
    for occupation in data.read("occupations"):
        if occupation.women <= 1 - MAJORITY:
            usual[occupation.name] = STEREO
        elif occupation.women >= MAJORITY:
            usual[occupation.name] = ANTISTEREO
    return [
        replace(row, groups={**row.groups, USUAL: usual[word]}) if (word := row.groups.get("word")) in usual else row
        for row in rows
    ]


@dataclass(frozen=True, slots=True)
class WordPair:
    """A masculine and a feminine word with the same grammatical function."""

    masculine: str
    feminine: str
    pos: str  # pronoun, title, noun, plural-noun, adjective, adverb, verb
    case: str | None = None  # of a pronoun: subject, object, possessive, independent, reflexive
    swap: bool = True  # whether one can replace the other in running text
    note: str = ""


@dataclass(frozen=True, slots=True)
class NamePair:
    """Two first names of about the same popularity."""

    masculine: str
    feminine: str
    rank: int  # 1 is the most frequent; approximate
    ambiguous: bool = False  # one of them is also a word, or part of a place's name
    note: str = ""


@dataclass(frozen=True, slots=True)
class GenderedWord:
    """A word that applies to one gender only, so that swapping the people around it would be wrong."""

    word: str
    gender: str  # female, male
    pos: str


@dataclass(frozen=True, slots=True)
class TermSet:
    """Equivalent terms (mosque, church, synagogue, …) for several groups of one axis."""

    axis: str  # race, religion
    id: str  # unique within its axis
    terms: Mapping[str, str]  # by group
    note: str = ""


@dataclass(frozen=True, slots=True)
class WordTables:
    """The content of the file, each kind in its order."""

    pairs: tuple[WordPair, ...]
    names: tuple[NamePair, ...]
    proper: tuple[GenderedWord, ...]
    sets: tuple[TermSet, ...]
    lists: Mapping[str, tuple[str, ...]]  # words of one topic, by its id: "career", "pleasant", …


def load_word_pairs(path: Path) -> WordTables:
    """The records of the file, sorted by kind."""
    kinds: dict[str, list[Any]] = {"pair": [], "name": [], "proper": [], "set": [], "list": []}
    for row in read_records(path, "words"):
        kinds[row.pop("kind")].append(row)
    return WordTables(
        pairs=tuple(WordPair(**row) for row in kinds["pair"]),
        names=tuple(NamePair(**row) for row in kinds["name"]),
        proper=tuple(GenderedWord(**row) for row in kinds["proper"]),
        sets=tuple(TermSet(**row) for row in kinds["set"]),
        lists={row["id"]: tuple(row["words"]) for row in kinds["list"]},
    )


TABLES = (
    TableSource(read_card("prompts"), load_prompts),
    TableSource(read_card("reminders"), load_reminders),
    TableSource(read_card("occupations"), load_occupations),
    TableSource(read_card("word-pairs"), load_word_pairs),
)
