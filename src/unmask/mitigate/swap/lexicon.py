"""Word replacements: the package's pairs and names, or those of a user's files.

Names of a user's table are given as pairs, or matched by popularity and gender: Hall Maudslay et al. (2019) match names
so that the two of a pair are about equally frequent and about equally specific to their gender, by minimum-weight
bipartite matching.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from unmask import data
from unmask.core.boundary import Rows
from unmask.core.errors import DataError, quote
from unmask.data.builtin_tables import NamePair, WordPair, WordTables
from unmask.data.formats import check_words, read_cells, read_records, user_path

_HEADERS = {"masculine", "male", "first", "a"}  # names by which a header is recognised
MOST = 1_000  # names of either gender that are matched, the most frequent, as published
GENDERS = {"m": "m", "male": "m", "f": "f", "female": "f"}
ALSO_A_WORD = 0.1  # of its uses in the text that are in lower case, from which a name counts as a word, too
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Replacements of words. `words` are lower case and match any case; `exact` matches as written."""

    words: Mapping[str, str]
    exact: Mapping[str, str]
    titles: Mapping[str, str]  # before a capital letter only
    names: Mapping[str, str]
    ambiguous: frozenset[str]  # names that are also words or place names
    plurals: frozenset[str] = frozenset()  # plurals in -s, whose possessive is an apostrophe alone
    possessives: bool = True  # her, his and hers are disambiguated by grammar


@cache
def package_words() -> WordTables:
    """The package's word pairs, names, gendered words and term sets."""
    return data.read("word-pairs")


@cache
def default_lexicon(*, names: bool = False) -> Lexicon:
    """The package's swappable pairs; for a word in several pairs the first applies."""
    return build_lexicon(swappable_pairs(), package_words().names if names else ())


def swappable_pairs() -> list[WordPair]:
    """The package's pairs whose words can replace each other in text."""
    return [pair for pair in package_words().pairs if pair.swap]


def read_pairs(path: str | Path) -> list[WordPair]:
    """Read pairs from the first two columns of a CSV or TSV file, or a JSON list of pairs, masculine words first.

    A header row is recognised by its names.
    """
    return pairs_of_rows(read_rows(user_path(path)))


def read_word_pairs(path: str | Path) -> list[tuple[str, str]]:
    """The words of the pairs of a file, masculine first."""
    return [(pair.masculine, pair.feminine) for pair in read_pairs(path)]


def pairs_of_rows(rows: Rows) -> list[WordPair]:
    """The pairs in the first two cells of rows."""
    headed = bool(rows) and bool({cell.strip().lower() for cell in rows[0][:2]} & _HEADERS)
    pairs = []
    for number, row in enumerate(rows):
        if (number or not headed) and any(row):
            if len([cell for cell in row[:2] if cell.strip()]) < 2:
                raise DataError(f"{rows.at(number)}: found {quote(row)}, expected two words per line")
            masculine, feminine = check_words(row[:2], rows.at(number))
            pairs.append(WordPair(masculine, feminine, pos=""))
    if not pairs:
        raise DataError(f"{rows.where}: no pairs; expected two words per line")
    return pairs


def read_rows(path: Path) -> Rows:
    """The rows of a table, or the entries of a JSON list, each a list of strings."""
    if path.suffix.lower() != ".json":
        return read_cells(path, "a CSV of word pairs, two words per line")
    rows = read_records(path, "a JSON list of pairs of words")
    for row in rows:
        if not isinstance(row, list) or not all(isinstance(cell, str) for cell in row):
            raise DataError(f"{rows.where}: found {quote(row)}, expected pairs of words")
    return rows


def build_lexicon(pairs: Sequence[WordPair], names: Iterable[NamePair] = ()) -> Lexicon:
    """Build a lexicon of pairs and names, swapped in both directions."""
    words: dict[str, str] = {}
    exact: dict[str, str] = {}
    titles: dict[str, str] = {}
    for pair in pairs:
        cased = any(letter.isupper() for letter in pair.masculine + pair.feminine)
        target = titles if pair.pos == "title" else exact if cased else words
        target.setdefault(pair.masculine, pair.feminine)
        target.setdefault(pair.feminine, pair.masculine)
    plurals = [pair for pair in pairs if pair.pos == "plural-noun"]
    named = [(name.masculine, name.feminine, name.ambiguous) for name in names]
    return Lexicon(
        words,
        exact,
        titles,
        dict(pair for a, b, _ in named for pair in ((a, b), (b, a))),
        frozenset(word for *both, ambiguous in named if ambiguous for word in both),
        frozenset(word for pair in plurals for word in (pair.masculine, pair.feminine) if word[-1:] == "s"),
        possessives={"her", "his"} <= words.keys(),
    )


def read_names(path: str | Path) -> list[NamePair]:
    """Pairs of names from a CSV, TSV or JSON file: two names per line, or a name, its gender (M, F) and its count."""
    rows = read_rows(user_path(path))
    counted = [number for number, row in enumerate(rows) if _gender(row) is not None]
    if counted:
        return match_names(_counts(rows, counted))
    pairs = pairs_of_rows(rows)
    return [
        NamePair(_capitalise(pair.masculine), _capitalise(pair.feminine), rank) for rank, pair in enumerate(pairs, 1)
    ]


def match_names(counts: dict[str, tuple[float, float]]) -> list[NamePair]:
    """Pair names by how often they are given and how often to their gender; counts are of boys and of girls.

    Both are scaled to unit variance, the counts in logarithms; the sum of distances within pairs is the smallest.
    """
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    sides: list[list[str]] = []
    for side in (0, 1):
        own = [name for name, both in counts.items() if both[side] > both[1 - side]]
        sides.append(sorted(own, key=lambda name: (-sum(counts[name]), name))[:MOST])
    if not all(sides):
        raise DataError(f"{len(sides[0])} names of men and {len(sides[1])} of women: expected at least one of each")
    numbers = [counts[name] for side in sides for name in side]
    points = np.array([(np.log10(sum(both)), max(both) / sum(both)) for both in numbers])
    points = points / np.where(points.std(0) > 0, points.std(0), 1.0)
    first, second = linear_sum_assignment(cdist(points[: len(sides[0])], points[len(sides[0]) :]))
    matched = sorted(zip(first.tolist(), second.tolist(), strict=True))
    return [
        NamePair(_capitalise(sides[0][a]), _capitalise(sides[1][b]), rank) for rank, (a, b) in enumerate(matched, 1)
    ]


def mark_words(names: Iterable[NamePair], texts: Sequence[str]) -> list[NamePair]:
    """The names, those marked as ambiguous that are words in the package's list, or in the text by their lower case."""
    notes = (pair.note.partition(":")[0] for pair in package_words().names if pair.ambiguous)  # "Mark: also a word"
    listed = {name for note in notes for name in _WORD.findall(note)}
    uses = Counter(word for text in texts for word in _WORD.findall(text))

    def is_word(name: str) -> bool:
        lower = uses[name.lower()]
        return name in listed or lower > ALSO_A_WORD * (lower + uses[name])

    return [replace(pair, ambiguous=is_word(pair.masculine) or is_word(pair.feminine)) for pair in names]


def _counts(rows: Rows, numbers: Sequence[int]) -> dict[str, tuple[float, float]]:
    """The counts of boys and girls of every name; the first row may be a header."""
    if (other := next((number for number in range(1, len(rows)) if number not in {*numbers}), None)) is not None:
        raise DataError(f"{rows.at(other)}: found {quote(rows[other])}, expected a name, M or F, and a count")
    counts: dict[str, tuple[float, float]] = {}
    for number in numbers:
        (name,) = check_words(rows[number][:1], rows.at(number))
        boys, girls = counts.get(name.lower(), (0.0, 0.0))
        given = float(rows[number][2])
        counts[name.lower()] = (boys + given, girls) if _gender(rows[number]) == "m" else (boys, girls + given)
    return counts


def _gender(row: Sequence[str]) -> str | None:
    """The gender of a row with a name, a gender and a count; None if it is no such row."""
    is_count = len(row) >= 3 and row[2].strip().isdecimal() and len(row[2]) < 16
    return GENDERS.get(row[1].strip().lower()) if is_count else None


def _capitalise(name: str) -> str:
    """A name as it is written in text; tables often have lower or upper case."""
    if name not in (name.lower(), name.upper()):
        return name
    return "-".join(part[:1].upper() + part[1:].lower() for part in name.split("-"))
