"""Word pairs: masculine and feminine words, names, gendered words, terms for other groups.

For counterfactual augmentation and substitution, for counting words in a corpus, and as word sets of
association tests. The file has records of five kinds; `load` sorts them into one `WordTables`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmask.data.formats import read_records
from unmask.data.items import TableSource
from unmask.data.ours import card

CARD = card(
    "word-pairs",
    "Word pairs, names, gendered words and term sets",
    file="word-pairs.jsonl",
    sha256="7d9af4542db0a1c445298f79d7419a41dcdc2c2457ccf35c1e4dd1c9fc5a0bc6",
    size=734,
    problems=(
        "330 pairs, 241 pairs of names, 104 words that have a gender, 46 sets of terms, 13 lists of words. "
        "A word may stand in several pairs (his: her and hers; Mr.: Ms., Mrs. and Miss): the first pair is "
        "the usual choice, case and note say when another is meant. "
        "48 pairs are marked as not to be exchanged (`swap` false): the words are not each other's mirror. "
        "Ranks of names are approximate, and neither the names nor their order come from one table: "
        "mostly those frequent in the US in the twentieth century; 73 pairs hold a name that is also a word "
        "or part of a place's name (`ambiguous`). "
        "Terms of races and religions are rough counterparts: the notes say where a set limps. "
        "Two genders, four races, five religions; the words of the lists were chosen by the writers and are "
        "not those of the published association tests."
    ),
)


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


def load(path: Path) -> WordTables:
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


TABLE = TableSource(CARD, load)
