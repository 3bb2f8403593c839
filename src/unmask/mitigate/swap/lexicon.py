"""Word replacements: the package's pairs and names, or pairs from a file."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from unmask import data
from unmask.core.errors import DataError
from unmask.data.word_pairs import NamePair, WordPair, WordTables


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
    shipped = package_words()
    return build_lexicon([pair for pair in shipped.pairs if pair.swap], shipped.names if names else ())


def read_lexicon(path: str | Path, *, names: bool = False) -> Lexicon:
    """Read pairs from the first two columns of a CSV or TSV file; a header row is recognised by its names."""
    path = Path(path)
    if not path.is_file():
        raise DataError(f"no file {str(path)!r}: give a CSV of word pairs, two words per line")
    delimiter = "\t" if path.suffix == ".tsv" else ","
    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = [row for row in csv.reader(stream, delimiter=delimiter) if any(row)]
    if rows and {cell.strip().lower() for cell in rows[0][:2]} & {"masculine", "male", "first", "a"}:
        rows = rows[1:]
    bad = [number for number, row in enumerate(rows) if len([cell for cell in row[:2] if cell.strip()]) < 2]
    if bad or not rows:
        problem = f"pair {bad[0]} (from 0) has no second word" if bad else "no pairs"
        raise DataError(f"{path}: {problem}; expected two words per line")
    pairs = [WordPair(row[0].strip(), row[1].strip(), pos="") for row in rows]
    return build_lexicon(pairs, package_words().names if names else ())


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
