"""Datasets of sentence pairs and tables of words: list, download and load them, or use your own.

    data.names()                            names of the datasets of pairs, for audits
    data.card("crows-pairs")                origin, licence, citation, known problems
    data.get("crows-pairs")                 download and verify; the only function here that uses the network
    data.load("crows-pairs")                the items, from local files
    data.load("my-pairs.csv")               your own pairs
    data.load("my-templates.yaml")          your own templates
    data.from_records([("He …", "She …")])  the same, from Python
    data.tables()                           names of the tables: prompts, words, training sentences, …
    data.read("prompts")                    the records of a table

To add a dataset, write a module with `CARD` and `load` and list it in `_DATASETS` below; a table likewise
in `_TABLES`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, overload

from unmask.core.errors import DataError, UnknownName
from unmask.core.types import Card, Dataset
from unmask.data import (
    bec_pro,
    crows_pairs,
    crows_pairs_fr,
    crows_pairs_nl,
    crows_pairs_revised,
    files,
    nine_axes,
    nli,
    noun_templates,
    occupations,
    pairs,
    paraphrases,
    prompts,
    pronoun_templates,
    pronoun_templates_they,
    reminders,
    riddles,
    stereoset,
    stereoset_intersentence,
    stsb,
    template_files,
    triple_gender,
    winobias,
    winogender,
    word_pairs,
)
from unmask.data.items import LoadedItems

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["card", "from_records", "get", "load", "names", "read", "tables"]


class _Source(Protocol):
    """The interface of a dataset module."""

    CARD: Card

    def load(self, path: Path) -> LoadedItems:
        """Load the items of its file."""


class _Table(Protocol):
    """The interface of a table module."""

    CARD: Card

    def load(self, path: Path) -> Any:
        """Load the records of its file."""


_DATASETS: tuple[_Source, ...] = (
    nine_axes,
    triple_gender,
    pronoun_templates,
    pronoun_templates_they,
    noun_templates,
    paraphrases,
    crows_pairs,
    crows_pairs_revised,
    crows_pairs_fr,
    crows_pairs_nl,
    stereoset,
    stereoset_intersentence,
    bec_pro,
    winogender,
    winobias,
)
_TABLES: tuple[_Table, ...] = (prompts, word_pairs, reminders, occupations)
_BY_NAME = {source.CARD.name: source for source in _DATASETS}
_TABLE_BY_NAME = {table.CARD.name: table for table in _TABLES}
_ALL: dict[str, _Source | _Table] = {**_BY_NAME, **_TABLE_BY_NAME}
_FOR_TASKS = {
    task_card.name: task_card for task_card in (stsb.CARD, nli.CARD, riddles.WINOBIAS, riddles.WINOGENDER)
}


def names() -> tuple[str, ...]:
    """The names of the datasets of pairs, built-in ones first."""
    return tuple(_BY_NAME)


def tables() -> tuple[str, ...]:
    """The names of the tables (data other than pairs), for `read`."""
    return tuple(_TABLE_BY_NAME)


def card(name: str) -> Card:
    """The data card of a dataset or table."""
    if name in _FOR_TASKS:  # data of tasks: can be downloaded by name, but not audited
        return _FOR_TASKS[name]
    if name not in _ALL:
        raise UnknownName("dataset", name, _ALL)
    return _ALL[name].CARD


def load(name_or_path: str | Path, *, data_dir: Path | str | None = None, offline: bool = False) -> Dataset:
    """Load a dataset by name, or your own file of pairs or templates. Never uses the network.

    Args:
        name_or_path: a name of `names()`, or a CSV, TSV, JSON, JSONL, Parquet or YAML file.
        data_dir: a folder of datasets, searched before `$UNMASK_DATA_DIR` and the cache.
        offline: only changes the advice in the error if the dataset is not on this machine.
    """
    if _is_path(name_or_path):
        path = Path(name_or_path).expanduser()
        own = template_files.load if template_files.is_template_file(path) else pairs.load
        return own(path, name=_own_name(path.stem))
    source = _source(str(name_or_path))
    given = source.CARD.files  # if there are several, `load` finds the others beside the first
    located = [files.locate(source.CARD, file, data_dir=_folder(data_dir), offline=offline) for file in given]
    items, warnings = source.load(located[0].path)
    for file, location in zip(given, located, strict=True):
        if not location.verified:
            sums = f"sha256 {location.sha256[:12]}…, expected {file.sha256[:12]}…"
            warnings = (
                f"{file.name} is not the published file ({sums}): numbers on it are unverified",
                *warnings,
            )
    verified = all(location.verified for location in located)
    return Dataset(source.CARD, items, files.digest(located), verified, warnings)


@overload
def read(name: Literal["prompts"]) -> tuple[prompts.Prompt, ...]: ...
@overload
def read(name: Literal["word-pairs"]) -> word_pairs.WordTables: ...
@overload
def read(name: Literal["reminders"]) -> tuple[reminders.Reminder, ...]: ...
@overload
def read(name: Literal["occupations"]) -> tuple[occupations.Occupation, ...]: ...
@overload
def read(name: str) -> Any: ...
def read(name: str) -> Any:
    """Read the records of a table from the built-in file; its sha256 is checked."""
    if name in _BY_NAME:
        raise DataError(f"{name} is a dataset of pairs, not a table: use unmask.data.load({name!r})")
    if name not in _TABLE_BY_NAME:
        raise UnknownName("table", name, tables())
    table = _TABLE_BY_NAME[name]
    return table.load(files.locate(table.CARD, table.CARD.files[0]).path)


def get(
    name: str, *, data_dir: Path | str | None = None, force: bool = False, offline: bool = False
) -> tuple[Path, ...]:
    """Return the verified files of a dataset; downloads missing ones to `data_dir` or the cache.

    Args:
        name: a name of `names()` or `tables()`.
        data_dir: where to put the files; default: the cache.
        force: replace a file in `data_dir` that differs from the published one.
        offline: raise DataError instead of downloading.
    """
    chosen, folder = card(name), _folder(data_dir)
    if offline:
        return tuple(_verified_paths(chosen, folder))
    return tuple(files.fetch(chosen, file, data_dir=folder, force=force) for file in chosen.files)


def from_records(records: pairs.Records | pd.DataFrame, *, name: str = "pairs") -> Dataset:
    """A dataset of your own pairs: mappings with `more` and `less`, `(more, less)` tuples or a data frame."""
    return pairs.from_records(records, name=_own_name(name))


def _source(name: str) -> _Source:
    """The module of a dataset of pairs; UnknownName lists the known names."""
    if name in _TABLE_BY_NAME:
        title = _TABLE_BY_NAME[name].CARD.title
        raise DataError(
            f"{name} ({title}) is a table, not a dataset of pairs: use unmask.data.read({name!r}), "
            f"or show it with `unmask data show {name}`"
        )
    if name not in _BY_NAME:
        raise UnknownName("dataset", name, names())
    return _BY_NAME[name]


def _is_path(name_or_path: str | Path) -> bool:
    """Whether it is a path: it exists, or has a suffix or a separator. Dataset names take precedence."""
    if isinstance(name_or_path, Path):
        return True
    if name_or_path in _ALL or not name_or_path:
        return False
    path, separators = Path(name_or_path), {os.sep, os.altsep or os.sep}
    return bool(path.suffix) or any(mark in name_or_path for mark in separators) or path.exists()


def _own_name(text: str) -> str:
    """A name for user data that differs from all datasets and tables."""
    slug = pairs.slug(text)
    return f"own-{slug}" if slug in _ALL else slug


def _folder(data_dir: Path | str | None) -> Path | None:
    """A data directory as a path."""
    return Path(data_dir).expanduser() if data_dir else None


def _verified_paths(chosen: Card, folder: Path | None) -> list[Path]:
    """The published files on this machine, without using the network."""
    located = [files.locate(chosen, file, data_dir=folder, offline=True) for file in chosen.files]
    for file in located:
        if not file.verified:
            raise DataError(
                f"{file.path} is not the published file of {chosen.name}, and it cannot be downloaded offline"
            )
    return [file.path for file in located]
