"""Pairs of first names from a user's table: given as pairs, or matched by popularity and gender.

Hall Maudslay et al. (2019) match names so that the two of a pair are about equally frequent and about equally
specific to their gender, by minimum-weight bipartite matching.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from unmask.core.boundary import Rows
from unmask.core.errors import DataError, quote
from unmask.data.formats import check_words, user_path
from unmask.data.word_pairs import NamePair
from unmask.mitigate.swap.lexicon import package_words, pairs_of_rows, read_rows

MOST = 1_000  # names of either gender that are matched, the most frequent, as published
GENDERS = {"m": "m", "male": "m", "f": "f", "female": "f"}
ALSO_A_WORD = 0.1  # of its uses in the text that are in lower case, from which a name counts as a word, too
_WORD = re.compile(r"[^\W\d_]+")


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
    sides: list[list[str]] = []
    for side in (0, 1):
        own = [name for name, both in counts.items() if both[side] > both[1 - side]]
        sides.append(sorted(own, key=lambda name: (-sum(counts[name]), name))[:MOST])
    if not all(sides):
        raise DataError(f"{len(sides[0])} names of men and {len(sides[1])} of women: expected at least one of each")
    points = np.array([_point(counts[name]) for side in sides for name in side])
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


def _point(counts: tuple[float, float]) -> tuple[float, float]:
    """The logarithm of a name's count, and the share of its main gender."""
    return float(np.log10(sum(counts))), max(counts) / sum(counts)


def _capitalise(name: str) -> str:
    """A name as it is written in text; tables often have lower or upper case."""
    return "-".join(part[:1].upper() + part[1:].lower() for part in name.split("-")) if _is_one_case(name) else name


def _is_one_case(name: str) -> bool:
    return name in (name.lower(), name.upper())
