"""What tasks are taught and tested with: one or two texts and their label, and the files they come from."""

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
    """One text, or two, and what a task is to say of it: the name of a class, or a number."""

    text: str
    second: str | None
    label: str | float
    groups: Mapping[str, str] = field(default_factory=dict)  # whom it speaks of: {"gender": "female"}


@dataclass(frozen=True, slots=True)
class Source:
    """A file that was read; `verified` is None where there is no published one to compare with."""

    name: str
    path: Path
    sha256: str
    verified: bool | None

    def facts(self) -> dict[str, Any]:
        """As a result records it: no path of the machine."""
        return {"name": self.name, "sha256": self.sha256, "verified": self.verified}


def published_sources(card: Card, *, data_dir: Path | None = None) -> tuple[Source, ...]:
    """The files of a card where they are on this machine, in its order; DataError says how to get them."""
    found = [(file, locate(card, file, data_dir=data_dir)) for file in card.files]
    return tuple(Source(f"{card.name}/{file.name}", at.path, at.sha256, at.verified) for file, at in found)


def user_source(path: Path | str) -> Source:
    """A file the user named."""
    where = Path(path).expanduser()
    if not where.is_file():
        raise DataError(f"no file {where}: expected one of {', '.join(SUFFIXES)}; check the name")
    return Source(where.name, where, sha256_of(where), None)


def find_local(relative: str, *, data_dir: Path | None = None) -> Path | None:
    """A file or folder that cannot be fetched, in the data directories and the cache; None: nowhere."""
    variable = os.environ.get("UNMASK_DATA_DIR")
    folders = [data_dir, Path(variable).expanduser() if variable else None, cache_dir()]
    places = [folder.expanduser() / relative for folder in folders if folder is not None]
    return next((place for place in places if place.exists()), None)


def rows_of(source: Source) -> list[dict[str, Any]]:
    """The records of a file by column; in a TSV a quote is a plain character, as GLUE writes them."""
    path = source.path
    if path.suffix.lower() != ".tsv":
        return list(records(path.read_bytes(), path.suffix, source.name))
    lines = decode(path.read_bytes(), source.name).splitlines()
    header = lines[0].split("\t") if lines else []
    found = []
    for number, line in enumerate(lines[1:], start=2):
        cells = line.split("\t")
        if len(cells) != len(header):
            raise DataError(
                f"{source.name}, line {number}: {len(cells)} fields, expected {len(header)} as in the header"
            )
        found.append(dict(zip(header, cells, strict=True)))
    return found


def column(rows: Sequence[Mapping[str, Any]], names: Iterable[str], source: Source) -> str:
    """The first of these columns that the rows have; DataError lists what was found."""
    wanted = tuple(names)
    found = list(rows[0]) if rows else []
    name = next((one for one in wanted if one in found), None)
    if name is None:
        raise DataError(
            f"{source.name}: no column {' or '.join(wanted)}; found {', '.join(map(str, found)) or 'nothing'}"
        )
    return name
