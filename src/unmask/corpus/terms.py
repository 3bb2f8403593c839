"""The words that are counted: two contrasting sets, and professions they may occur with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from unmask import data
from unmask.core.errors import DataError
from unmask.data.formats import decode, table

FEMININE, MASCULINE = "feminine", "masculine"


@dataclass(frozen=True, slots=True)
class TermSets:
    """Two named sets of words, and professions with the forms of their names."""

    names: tuple[str, str]
    sets: tuple[tuple[str, ...], tuple[str, ...]]
    professions: Mapping[str, tuple[str, ...]]  # "nurse": ("nurse", "nurses")
    source: str
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse two sets of the same name."""
        if self.names[0] == self.names[1]:
            raise DataError(f"{self.source}: both sets are called {self.names[0]!r}; give them two names")


def builtin_terms(*, professions: bool = True) -> TermSets:
    """Feminine and masculine words of the built-in word pairs, without ambiguous ones.

    A pair whose words may not be swapped (`god`, `count`, `bull`) counts for neither gender.
    """
    pairs = [pair for pair in data.read("word-pairs").pairs if pair.swap]
    sides = ([pair.feminine for pair in pairs], [pair.masculine for pair in pairs])
    return make_term_sets((FEMININE, MASCULINE), sides, source="built-in word pairs", professions=professions)


def make_term_sets(
    names: tuple[str, str], sets: Sequence[Iterable[str]], *, source: str, professions: bool = True
) -> TermSets:
    """Clean two sets: no duplicates, no word in both, no contraction of another word of its set."""
    first, second = ({_clean(word): None for word in words if _clean(word)} for words in sets)
    both = [word for word in first if word in second]
    notes = (f"in both sets, so in neither: {', '.join(both)}",) if both else ()
    cleaned = [
        tuple(word for word in words if word not in both and not ("'" in word and word.partition("'")[0] in words))
        for words in (first, second)
    ]
    for name, words in zip(names, cleaned, strict=True):
        if not words:
            raise DataError(f"{source}: no words of {name!r}; expected at least one in each of two sets")
    jobs = [occupation.name for occupation in data.read("occupations")] if professions else []
    forms = {name: (name, plural(name)) for name in jobs}
    return TermSets(names, (cleaned[0], cleaned[1]), forms, source, notes)


def read_terms(path: Path, *, professions: bool = True) -> TermSets:
    """Read two sets from the first two columns of a CSV or TSV file; the header names them."""
    if not path.is_file():
        raise DataError(f"no file {str(path)!r}: give a CSV file with two columns of words")
    rows = table(decode(path.read_bytes(), path.name), path.name, "\t" if path.suffix == ".tsv" else ",")
    names = list(rows[0])[:2] if rows else []
    if len(names) < 2:
        raise DataError(f"{path.name}: expected two columns of words with a header, such as feminine,masculine")
    sides = [[row[name] for row in rows] for name in names]
    return make_term_sets((names[0], names[1]), sides, source=path.name, professions=professions)


def read_lists(first: Path, second: Path, *, professions: bool = True) -> TermSets:
    """Read two sets from two files with one word per line; the file names name them."""
    for path in (first, second):
        if not path.is_file():
            raise DataError(f"no file {str(path)!r}: give two text files with one word per line")
    sides = [decode(path.read_bytes(), path.name).splitlines() for path in (first, second)]
    source = f"{first.name} and {second.name}"
    return make_term_sets((first.stem, second.stem), sides, source=source, professions=professions)


def term_pattern(term: str) -> str:
    """A term as a regular expression: its spaces may be hyphens, its apostrophes curly."""
    loose = re.escape(term).replace(r"\ ", r"[ \t-]").replace("'", "['\u2019]")
    return rf"(?<![^\W_]){loose}(?![^\W_])"


def plural(name: str) -> str:
    """The regular plural of a profession."""
    if name.endswith("person"):
        return f"{name.removesuffix('person')}people"
    if name.endswith("y") and name[-2:-1] not in "aeiou":
        return f"{name[:-1]}ies"
    return f"{name}es" if name.endswith(("s", "x", "ch", "sh")) else f"{name}s"


def _clean(word: str) -> str:
    """Strip white space and the full stop of a title; underscores become spaces."""
    return word.strip().rstrip(".").replace("_", " ").strip()
