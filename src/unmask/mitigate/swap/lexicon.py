"""Word replacements: the package's pairs and names, or pairs from a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from unmask import data
from unmask.core.boundary import Rows
from unmask.core.errors import DataError, quote
from unmask.data.formats import check_words, read_cells, read_records, user_path
from unmask.data.word_pairs import NamePair, WordPair, WordTables

_HEADERS = {"masculine", "male", "first", "a"}  # names by which a header is recognised


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


def read_lexicon(path: str | Path, *, names: bool = False) -> Lexicon:
    """A lexicon of the pairs of a file; of several pairs with the same word the first counts."""
    return build_lexicon(read_pairs(path), package_words().names if names else ())


def read_pairs(path: str | Path) -> list[WordPair]:
    """Read pairs from the first two columns of a CSV or TSV file, or a JSON list of pairs, masculine words first.

    A header row is recognised by its names.
    """
    return pairs_of_rows(read_rows(user_path(path)))


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
