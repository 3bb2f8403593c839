"""The words that are counted: two contrasting sets, and professions they may occur with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from unmask import data
from unmask.core.errors import DataError, quote
from unmask.core.files import file_name
from unmask.corpus.spec import TermSettings
from unmask.data.builtin_tables import MAJORITY
from unmask.data.formats import MAX_WORD, check_words, read_lines, read_table, read_words

MAX_APOSTROPHES = 4  # of a word: each of them may be straight or curly in a text
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
        if self.names[0] == self.names[1] or not all(name.strip() for name in self.names):
            raise DataError(f"{self.source}: the sets are called {quote(self.names)}; give them two names")


def terms_of(settings: TermSettings, *, professions: bool = True) -> TermSets:
    """The two sets of words of some settings, under the names asked for."""
    if settings.terms is not None:
        terms = read_terms(Path(settings.terms), professions=professions)
    elif settings.lists is not None:
        terms = read_lists(*map(Path, settings.lists), professions=professions)
    else:
        terms = builtin_terms(professions=professions)
    return terms if settings.names is None else replace(terms, names=settings.names)


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
    for word in (*first, *second):
        if len(word) > MAX_WORD or word.count("'") > MAX_APOSTROPHES:
            raise DataError(f"{source}: found {quote(word)}, expected words of at most {MAX_WORD} characters")
    both = [word for word in first if word in second]
    notes = (f"in both sets, so in neither: {', '.join(both)}",) if both else ()
    cleaned = [
        tuple(word for word in words if word not in both and not ("'" in word and word.partition("'")[0] in words))
        for words in (first, second)
    ]
    for name, words in zip(names, cleaned, strict=True):
        if not words:
            raise DataError(f"{source}: no words of {quote(name)}; expected at least one in each of two sets")
    jobs = [occupation.name for occupation in data.read("occupations")] if professions else []
    forms = {name: (name, plural(name)) for name in jobs}
    return TermSets(names, (cleaned[0], cleaned[1]), forms, source, notes)


def read_terms(path: Path, *, professions: bool = True) -> TermSets:
    """Read two sets from the first two columns of a CSV or TSV file; the header names them."""
    rows = read_table(path, "a CSV file with two columns of words")
    names = list(rows[0])[:2] if rows else []
    if len(names) < 2:
        raise DataError(f"{rows.where}: expected two columns of words with a header, such as feminine,masculine")
    sides = [[row[name] for row in rows] for name in names]
    return make_term_sets((names[0], names[1]), sides, source=rows.where, professions=professions)


def read_lists(first: Path, second: Path, *, professions: bool = True) -> TermSets:
    """Read two sets from two files with one word per line; the file names name them."""
    sides = [read_lines(path, "two text files with one word per line") for path in (first, second)]
    source = f"{file_name(first)} and {file_name(second)}"
    names = (Path(file_name(first)).stem, Path(file_name(second)).stem)
    return make_term_sets(names, sides, source=source, professions=professions)


def with_lexicon(terms: TermSets, path: Path | None) -> tuple[TermSets, dict[str, int]]:
    """The sets with the attributes of a lexicon in place of professions, and the group (0, 1) each is said of.

    Without a lexicon: the built-in occupations; those of which most workers are women or men are said of them.
    """
    if path is None:
        shares = {each.name: each.women for each in data.read("occupations")}
        by_gender = {FEMININE: [name for name, women in shares.items() if women >= MAJORITY],
                     MASCULINE: [name for name, women in shares.items() if women <= 1 - MAJORITY]}  # fmt: skip
        return terms, {name: side for side, group in enumerate(terms.names) for name in by_gender.get(group, ())}
    attributes: dict[str, tuple[str, ...]] = {}
    expected: dict[str, int] = {}
    rows, notes = _lexicon_rows(path, terms.names), list(terms.notes)
    words = {*terms.sets[0], *terms.sets[1]}
    for word, side in rows:
        if word.count("'") > MAX_APOSTROPHES:
            raise DataError(f"{file_name(path)}: found {quote(word)}, expected at most {MAX_APOSTROPHES} apostrophes")
        if word in words:
            notes.append(f"{file_name(path)}: {word} is a word of the two sets, so no attribute")
            continue
        attributes[word] = (word,)
        if side is not None:
            expected[word] = side
    if not attributes:
        raise DataError(f"{file_name(path)}: no attributes; expected one word per line, or columns word and group")
    return replace(terms, professions=attributes, notes=tuple(notes)), expected


def _lexicon_rows(path: Path, names: tuple[str, str]) -> list[tuple[str, int | None]]:
    """The attributes of a file, cleaned, and the set each is said of; none in a file of one word per line."""
    if path.suffix.lower() not in (".csv", ".tsv"):
        return [(_clean(word), None) for word in read_words(path) if _clean(word)]
    table = read_table(path, "a CSV file with the columns word and group")
    if not table or "word" not in table[0]:
        raise DataError(f"{table.where}: expected a header with the columns word and, optionally, group")
    rows: list[tuple[str, int | None]] = []
    for number, row in enumerate(table):
        (word,) = check_words([row["word"]], table.at(number))
        group = row.get("group", "").strip()
        if group and group not in names:
            raise DataError(f"{table.at(number)}: found the group {quote(group)}, expected {names[0]} or {names[1]}")
        if _clean(word):
            rows.append((_clean(word), names.index(group) if group else None))
    return rows


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
