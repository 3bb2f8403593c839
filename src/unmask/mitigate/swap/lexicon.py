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
    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = [
            row for row in csv.reader(stream, delimiter="\t" if path.suffix == ".tsv" else ",") if any(row)
        ]
    if rows and {cell.strip().lower() for cell in rows[0][:2]} & {"masculine", "male", "first", "a"}:
        rows = rows[1:]
    bad = next(
        (
            number
            for number, row in enumerate(rows)
            if len(row) < 2 or not (row[0].strip() and row[1].strip())
        ),
        None,
    )
    if bad is not None or not rows:
        raise DataError(f"{path}: {'no pairs' if not rows else f'pair {bad} (from 0) has no second word'}; "
                        "expected two words per line")  # fmt: skip
    pairs = [WordPair(row[0].strip(), row[1].strip(), "", None, True, "") for row in rows]
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
    plurals = [
        word for pair in pairs if pair.pos == "plural-noun" for word in (pair.masculine, pair.feminine)
    ]
    both_ways = [
        pair for name in names for pair in ((name.masculine, name.feminine), (name.feminine, name.masculine))
    ]
    ambiguous = frozenset(
        word for name in names if name.ambiguous for word in (name.masculine, name.feminine)
    )
    return Lexicon(
        words,
        exact,
        titles,
        dict(both_ways),
        ambiguous,
        frozenset(word for word in plurals if word.endswith("s")),
        possessives={"her", "his"} <= words.keys(),
    )
