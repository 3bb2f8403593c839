"""Training and test examples of tasks: one or two texts with a label, and the files they come from."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unmask.core.errors import DataError
from unmask.core.types import Card
from unmask.data.files import cache_dir, locate, sha256_of
from unmask.data.formats import SUFFIXES, decode, records


@dataclass(frozen=True, slots=True)
class Example:
    """One or two texts with their label: a class name or a number."""

    text: str
    second: str | None
    label: str | float
    groups: Mapping[str, str] = field(default_factory=dict)  # {"gender": "female"}


@dataclass(frozen=True, slots=True)
class Source:
    """A file that was read; `verified` is None if there is no published checksum."""

    name: str
    path: Path
    sha256: str
    verified: bool | None

    def facts(self) -> dict[str, Any]:
        """The facts a result records, without local paths."""
        return {"name": self.name, "sha256": self.sha256, "verified": self.verified}


def published_sources(card: Card, *, data_dir: Path | None = None) -> tuple[Source, ...]:
    """The local files of a card, in its order; DataError says how to get missing ones."""
    located = [(file, locate(card, file, data_dir=data_dir)) for file in card.files]
    return tuple(Source(f"{card.name}/{file.name}", at.path, at.sha256, at.verified) for file, at in located)


def user_source(path: Path | str) -> Source:
    """A file given by the user."""
    where = Path(path).expanduser()
    if not where.is_file():
        raise DataError(f"no file {where}: expected one of {', '.join(SUFFIXES)}; check the name")
    return Source(where.name, where, sha256_of(where), None)


def find_local(relative: str, *, data_dir: Path | None = None) -> Path | None:
    """Find a file or folder in the data directories and the cache; None if it is in none of them."""
    variable = os.environ.get("UNMASK_DATA_DIR")
    folders = [data_dir, Path(variable).expanduser() if variable else None, cache_dir()]
    paths = [folder.expanduser() / relative for folder in folders if folder is not None]
    return next((path for path in paths if path.exists()), None)


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
    wanted = tuple(names)
    present = list(rows[0]) if rows else []
    name = next((candidate for candidate in wanted if candidate in present), None)
    if name is None:
        raise DataError(
            f"{source.name}: no column {' or '.join(wanted)}; "
            f"found {', '.join(map(str, present)) or 'nothing'}"
        )
    return name
