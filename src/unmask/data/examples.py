"""Training and test examples of tasks: one or two texts with a label, and the files they come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unmask.core.errors import DataError
from unmask.core.types import Card
from unmask.data.files import Source, data_dirs, locate, sha256_of
from unmask.data.formats import SUFFIXES, decode, records

__all__ = ["Example", "Source", "column", "find_local", "published_sources", "rows_of", "user_source"]


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
    where = Path(path).expanduser()
    if not where.is_file():
        raise DataError(f"no file {where}: expected one of {', '.join(SUFFIXES)}; check the name")
    return Source(where.name, where, sha256_of(where))


def find_local(relative: str, *, data_dir: Path | None = None) -> Path | None:
    """Find a file or folder in the data directories and the cache; None if it is in none of them."""
    folders = data_dirs(data_dir.expanduser() if data_dir else None)
    return next((folder / relative for folder in folders if (folder / relative).exists()), None)


def rows_of(source: Source) -> list[dict[str, Any]]:
    """The records of a file by column; quotes in a TSV are literal characters, as in GLUE."""
    path = source.path
    if path.suffix.lower() != ".tsv":
        return list(records(path.read_bytes(), path.suffix, source.name))
    lines = decode(path.read_bytes(), source.name).splitlines()
    header = lines[0].split("\t") if lines else []
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        cells = line.split("\t")
        if len(cells) != len(header):
            raise DataError(
                f"{source.name}, line {number}: {len(cells)} fields, expected {len(header)} as in the header"
            )
        rows.append(dict(zip(header, cells, strict=True)))
    return rows


def column(rows: Sequence[Mapping[str, Any]], names: Iterable[str], source: Source) -> str:
    """The first of these columns that the rows have; DataError lists the existing columns."""
    wanted, present = tuple(names), list(rows[0]) if rows else []
    for name in wanted:
        if name in present:
            return name
    found = ", ".join(map(str, present)) or "nothing"
    raise DataError(f"{source.name}: no column {' or '.join(wanted)}; found {found}")
