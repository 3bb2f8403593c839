"""Which word becomes which: pairs and names of the package, or of your own file."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from unmask import data
from unmask.core.errors import DataError
from unmask.data.word_pairs import NamePair, WordPair, Words


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Words by what replaces them. `words` in small letters match any case, `exact` only as written."""

    words: Mapping[str, str]
    exact: Mapping[str, str]
    titles: Mapping[str, str]  # before a capital letter only
    names: Mapping[str, str]
    ambiguous: frozenset[str]  # names that are also words or places
    plurals: frozenset[str] = frozenset()  # in s, which own by an apostrophe alone
    possessives: bool = True  # her, his and hers are to be told apart by grammar

    @property
    def gendered_words(self) -> frozenset[str]:
        """Every word that is exchanged, names aside, in small letters."""
        return frozenset(word.lower() for part in (self.words, self.exact, self.titles) for word in part)


@cache
def package_words() -> Words:
    """The package's word pairs, names, gendered words and term sets."""
    return data.read("word-pairs")


@cache
def default_lexicon(*, names: bool = False) -> Lexicon:
    """The package's pairs that may be exchanged; of a word in several pairs the first counts."""
    known = package_words()
    return build_lexicon([one for one in known.pairs if one.swap], known.names if names else ())


def read_lexicon(path: str | Path, *, names: bool = False) -> Lexicon:
    """Pairs of a CSV or TSV file whose first two columns are the two words; a header is told by its names."""
    path = Path(path)
    if not path.is_file():
        raise DataError(f"no file {str(path)!r}: give a CSV of word pairs, two words a line")
    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = [
            row for row in csv.reader(stream, delimiter="\t" if path.suffix == ".tsv" else ",") if any(row)
        ]
    if rows and {one.strip().lower() for one in rows[0][:2]} & {"masculine", "male", "first", "a"}:
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
                        "expected two words a line")  # fmt: skip
    pairs = [WordPair(row[0].strip(), row[1].strip(), "", None, True, "") for row in rows]
    return build_lexicon(pairs, package_words().names if names else ())


def build_lexicon(pairs: Sequence[WordPair], names: Iterable[NamePair] = ()) -> Lexicon:
    """Pairs and names as one lexicon, exchanged in both directions."""
    small: dict[str, str] = {}
    exact: dict[str, str] = {}
    titles: dict[str, str] = {}
    for one in pairs:
        cased = any(letter.isupper() for letter in one.masculine + one.feminine)
        into = titles if one.pos == "title" else exact if cased else small
        into.setdefault(one.masculine, one.feminine)
        into.setdefault(one.feminine, one.masculine)
    plurals = [word for one in pairs if one.pos == "plural-noun" for word in (one.masculine, one.feminine)]
    each = [pair for one in names for pair in ((one.masculine, one.feminine), (one.feminine, one.masculine))]
    doubtful = frozenset(word for one in names if one.ambiguous for word in (one.masculine, one.feminine))
    return Lexicon(
        small,
        exact,
        titles,
        dict(each),
        doubtful,
        frozenset(word for word in plurals if word.endswith("s")),
        possessives={"her", "his"} <= small.keys(),
    )
