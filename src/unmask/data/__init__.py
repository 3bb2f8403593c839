"""Datasets of sentence pairs and tables of words: what there is, where it lies, how to bring your own.

    data.names()                            the datasets of pairs there are: what an audit can take
    data.card("crows-pairs")                origin, licence, citation, known problems
    data.get("crows-pairs")                 fetch and verify; the only function here that uses the network
    data.load("crows-pairs")                the items, from this machine
    data.load("my-pairs.csv")               your own pairs
    data.load("my-templates.yaml")          your own templates
    data.from_records([("He …", "She …")])  the same, from Python
    data.tables()                           what is not pairs: prompts, words, sentences to train on, facts
    data.read("prompts")                    the records of a table

A new dataset is one file with `CARD` and `load`, and its name in `_DATASETS` below; a new table the same,
and its name in `_TABLES`.
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
    """What the module of a dataset holds."""

    CARD: Card

    def load(self, path: Path) -> LoadedItems:
        """The items of its file."""


class _Table(Protocol):
    """What the module of a table holds."""

    CARD: Card

    def load(self, path: Path) -> Any:
        """The records of its file."""


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
_FOR_TASKS = {one.name: one for one in (stsb.CARD, nli.CARD, riddles.WINOBIAS, riddles.WINOGENDER)}


def names() -> tuple[str, ...]:
    """The datasets of pairs there are, those that ship with us first."""
    return tuple(_BY_NAME)


def tables() -> tuple[str, ...]:
    """The tables there are: data that is no pairs, for `read`."""
    return tuple(_TABLE_BY_NAME)


def card(name: str) -> Card:
    """What one must know of a dataset or table before believing a number computed with it."""
    if name in _FOR_TASKS:  # what `unmask task` reads: fetched by name, but nothing to audit with
        return _FOR_TASKS[name]
    if name not in _ALL:
        raise UnknownName("dataset", name, _ALL)
    return _ALL[name].CARD


def load(name_or_path: str | Path, *, data_dir: Path | str | None = None, offline: bool = False) -> Dataset:
    """The items of a dataset by name, or of your own file of pairs or templates. Never uses the network.

    Args:
        name_or_path: a name of `names()`, or a CSV, TSV, JSON, JSONL, Parquet or YAML file.
        data_dir: a folder of datasets, searched before `$UNMASK_DATA_DIR` and the cache.
        offline: changes only the advice given when the dataset is not on this machine.
    """
    if _is_path(name_or_path):
        path = Path(name_or_path).expanduser()
        own = template_files.load if template_files.is_template_file(path) else pairs.load
        return own(path, name=_own_name(path.stem))
    source = _source(str(name_or_path))
    given = source.CARD.files  # of several, `load` finds the others beside the first
    found = [files.locate(source.CARD, one, data_dir=_folder(data_dir), offline=offline) for one in given]
    items, warnings = source.load(found[0].path)
    for file, there in zip(given, found, strict=True):
        if not there.verified:
            sums = f"sha256 {there.sha256[:12]}…, expected {file.sha256[:12]}…"
            warnings = (
                f"{file.name} is not the published file ({sums}): numbers on it are unverified",
                *warnings,
            )
    verified = all(there.verified for there in found)
    return Dataset(source.CARD, items, files.digest(found), verified, warnings)


@overload
def read(name: Literal["prompts"]) -> tuple[prompts.Prompt, ...]: ...
@overload
def read(name: Literal["word-pairs"]) -> word_pairs.Words: ...
@overload
def read(name: Literal["reminders"]) -> tuple[reminders.Reminder, ...]: ...
@overload
def read(name: Literal["occupations"]) -> tuple[occupations.Occupation, ...]: ...
@overload
def read(name: str) -> Any: ...
def read(name: str) -> Any:
    """The records of a table, from the file that ships with us; its sha256 is checked."""
    if name in _BY_NAME:
        raise DataError(f"{name} is pairs, not a table: read it with unmask.data.load({name!r})")
    if name not in _TABLE_BY_NAME:
        raise UnknownName("table", name, tables())
    table = _TABLE_BY_NAME[name]
    return table.load(files.locate(table.CARD, table.CARD.files[0]).path)


def get(
    name: str, *, data_dir: Path | str | None = None, force: bool = False, offline: bool = False
) -> tuple[Path, ...]:
    """The verified files of a dataset, downloaded into `data_dir` or the cache unless they are there.

    Args:
        name: a name of `names()` or `tables()`.
        data_dir: where to put the files; the cache when not given.
        force: replace a file of `data_dir` that is not the published one.
        offline: DataError instead of a download.
    """
    chosen, folder = card(name), _folder(data_dir)
    if offline:
        return tuple(_verified(chosen, folder))
    return tuple(files.fetch(chosen, file, data_dir=folder, force=force) for file in chosen.files)


def from_records(records: pairs.Records | pd.DataFrame, *, name: str = "pairs") -> Dataset:
    """Your own pairs from Python: mappings with `more` and `less`, `(more, less)` tuples, or a data frame."""
    return pairs.from_records(records, name=_own_name(name))


def _source(name: str) -> _Source:
    """The module of a dataset of pairs; UnknownName lists those there are."""
    if name in _TABLE_BY_NAME:
        title = _TABLE_BY_NAME[name].CARD.title
        raise DataError(
            f"{name} ({title}) is a table, not pairs to score: read it with unmask.data.read({name!r}), "
            f"or look at it with `unmask data show {name}`"
        )
    if name not in _BY_NAME:
        raise UnknownName("dataset", name, names())
    return _BY_NAME[name]


def _is_path(name_or_path: str | Path) -> bool:
    """A file rather than a name: it exists, or has a suffix or a separator. Names of datasets come first."""
    if isinstance(name_or_path, Path):
        return True
    if name_or_path in _ALL or not name_or_path:
        return False
    path, separators = Path(name_or_path), {os.sep, os.altsep or os.sep}
    return bool(path.suffix) or any(mark in name_or_path for mark in separators) or path.exists()


def _own_name(text: str) -> str:
    """A name for the user's own pairs that none of our datasets and tables bears."""
    slug = pairs.slug(text)
    return f"own-{slug}" if slug in _ALL else slug


def _folder(data_dir: Path | str | None) -> Path | None:
    """A data directory as a path."""
    return Path(data_dir).expanduser() if data_dir else None


def _verified(chosen: Card, folder: Path | None) -> list[Path]:
    """The published files where they already are; no network."""
    found = [files.locate(chosen, file, data_dir=folder, offline=True) for file in chosen.files]
    for file in found:
        if not file.verified:
            raise DataError(
                f"{file.path} is not the published file of {chosen.name}, and offline no other can be fetched"
            )
    return [file.path for file in found]
