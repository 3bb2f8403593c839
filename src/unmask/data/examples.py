"""Training and test examples of tasks: one or two texts with a label, and the files they come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from unmask.core.boundary import Rows
from unmask.core.errors import DataError, quote
from unmask.core.files import file_name
from unmask.core.types import Card
from unmask.data.files import Source, data_dirs, locate, sha256_of
from unmask.data.formats import SUFFIXES, decode, is_file, read_bytes, read_records, user_path

__all__ = ["Example", "Source", "column", "find_local", "published_sources", "rows_of", "text_column", "user_source"]


@dataclass(frozen=True, slots=True)
class Example:
    """One or two texts with their label: a class name or a number."""

    text: str
    second: str | None
    label: str | float
    groups: Mapping[str, str] = field(default_factory=dict)  # {"gender": "female"}


def published_sources(card: Card, *, data_dir: Path | None = None) -> tuple[Source, ...]:
    """The local files of a card, in its order; DataError says how to get missing ones."""
    return tuple(locate(card, file, data_dir=data_dir) for file in card.files)


def user_source(path: Path | str) -> Source:
    """A file given by the user."""
    where = user_path(path)
    if not is_file(where):
        raise DataError(f"no file {where}: expected one of {', '.join(SUFFIXES)}; check the name")
    return Source(file_name(where), where, sha256_of(where))


def find_local(relative: str, *, data_dir: Path | None = None) -> Path | None:
    """Find a file or folder in the data directories and the cache; None if it is in none of them."""
    folders = data_dirs(user_path(data_dir) if data_dir else None)
    return next((folder / relative for folder in folders if (folder / relative).exists()), None)


def rows_of(source: Source) -> Rows:
    """The records of a file by column; quotes in a TSV are literal characters, as in GLUE."""
    path = source.path
    if path.suffix.lower() == ".tsv":
        return _literal_rows(decode(read_bytes(path, "a table"), source.name).splitlines(), source.name)
    rows = read_records(path, "a table")
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            raise DataError(f"{rows.at(number)}: found {quote(row)}, expected an object with its columns")
    return rows


def column(rows: Rows, names: Iterable[str]) -> str:
    """The first of these columns that the rows have; DataError lists the existing columns."""
    wanted, present = tuple(names), list(rows[0]) if rows else []
    chosen = next((name for name in wanted if name in present), None)
    if chosen is None:
        raise DataError(f"{rows.where}: no column {' or '.join(wanted)}; found {quote(present) if rows else 'nothing'}")
    for number, row in enumerate(rows):
        if chosen not in row:
            raise DataError(f"{rows.at(number)}: no column {chosen}, which the rows before have")
    return chosen


def text_column(rows: Rows, names: Iterable[str]) -> str:
    """The same for a column of texts; DataError if one is none."""
    chosen = column(rows, names)
    for number, row in enumerate(rows):
        if not isinstance(row[chosen], str):
            raise DataError(f"{rows.at(number)}: {chosen} is {quote(row[chosen])}, expected text")
    return chosen


def _literal_rows(lines: Sequence[str], where: str) -> Rows:
    """The rows of tab-separated lines."""
    header = lines[0].split("\t") if lines else []
    if len(set(header)) < len(header):
        raise DataError(f"{where}, line 1: two columns have one name; found {quote(header)}, rename one")
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        cells = line.split("\t")
        if len(cells) != len(header):
            raise DataError(f"{where}, line {number}: {len(cells)} fields, expected {len(header)} as in the header")
        rows.append(dict(zip(header, cells, strict=True)))
    return Rows(rows, where, range(2, len(lines) + 1))
