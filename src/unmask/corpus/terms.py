"""The words that are counted: two sets that stand against each other, and things they are found beside."""

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
    """Two named sets of words, and what they are looked for beside: each thing with the forms of its name."""

    names: tuple[str, str]
    sets: tuple[tuple[str, ...], tuple[str, ...]]
    professions: Mapping[str, tuple[str, ...]]  # "nurse": ("nurse", "nurses")
    source: str
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse sets that cannot be told apart."""
        if self.names[0] == self.names[1]:
            raise DataError(f"{self.source}: both sets are called {self.names[0]!r}; give them two names")


def builtin_terms(*, professions: bool = True) -> TermSets:
    """Feminine and masculine words of our word pairs, those left out that are also said of others.

    A pair whose words may not be exchanged (`god`, `count`, `bull`) counts for neither gender.
    """
    pairs = [one for one in data.read("word-pairs").pairs if one.swap]
    sides = ([one.feminine for one in pairs], [one.masculine for one in pairs])
    return make_term_sets((FEMININE, MASCULINE), sides, source="built-in word pairs", professions=professions)


def make_term_sets(
    names: tuple[str, str], sets: Sequence[Iterable[str]], *, source: str, professions: bool = True
) -> TermSets:
    """Two sets of words, cleaned: each once, none in both, none that only adds to another of its set."""
    first, second = ({_clean(word): None for word in words if _clean(word)} for words in sets)
    both = [word for word in first if word in second]
    notes = (f"in both sets, so in neither: {', '.join(both)}",) if both else ()
    kept = tuple(
        tuple(w for w in words if w not in both and not _adds(w, words)) for words in (first, second)
    )
    for name, words in zip(names, kept, strict=True):
        if not words:
            raise DataError(f"{source}: no words of {name!r}; expected at least one in each of two sets")
    return TermSets(names, (kept[0], kept[1]), _professions() if professions else {}, source, notes)


def read_terms(path: Path, *, professions: bool = True) -> TermSets:
    """Two sets from the first two columns of a CSV or TSV file: the header names them, cells may be empty."""
    if not path.is_file():
        raise DataError(f"no file {str(path)!r}: give a CSV file with two columns of words")
    rows = table(decode(path.read_bytes(), path.name), path.name, "\t" if path.suffix == ".tsv" else ",")
    names = list(rows[0])[:2] if rows else []
    if len(names) < 2:
        raise DataError(
            f"{path.name}: expected two columns of words with a header, such as feminine,masculine"
        )
    sides = [[row[name] for row in rows] for name in names]
    return make_term_sets((names[0], names[1]), sides, source=path.name, professions=professions)


def read_lists(first: Path, second: Path, *, professions: bool = True) -> TermSets:
    """Two sets from two files of one word a line, named after the files."""
    for path in (first, second):
        if not path.is_file():
            raise DataError(f"no file {str(path)!r}: give two text files of one word a line")
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


def _professions() -> dict[str, tuple[str, ...]]:
    return {one.name: (one.name, plural(one.name)) for one in data.read("occupations")}


def _clean(word: str) -> str:
    """Without white space around, the full stop of a title, or underscores for spaces."""
    return word.strip().rstrip(".").replace("_", " ").strip()


def _adds(word: str, others: Iterable[str]) -> bool:
    """Is it another word of the set with something behind an apostrophe (he's, of he)?"""
    stem, apostrophe, _ = word.partition("'")
    return bool(apostrophe) and stem in others
