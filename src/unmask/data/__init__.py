"""Datasets of sentence pairs and tables of words: list, download and load them, or use your own.

    data.names()                            names of the datasets of pairs, for audits
    data.card("crows-pairs")                origin, licence, citation, known problems
    data.get("crows-pairs")                 download and verify; only this and hf: names use the network
    data.load("crows-pairs")                the items, from local files
    data.load("my-pairs.csv")               your own pairs
    data.load("my-templates.yaml")          your own templates
    data.load("hf:owner/name@commit")       Parquet files of a dataset of the hub
    data.from_records([("He …", "She …")])  the same, from Python
    data.tables()                           names of the tables: prompts, words, training sentences, …
    data.read("prompts")                    the records of a table
    data.facts("crows-pairs")               what was measured about it: reliability, smallest visible difference, …
    data.scores("gest-masked-scores")       published scores of models, item by item; or your own table of them

To add a dataset, write its card (cards/NAME.toml) and its module: the `DatasetSource`, `TableSource`, `ScoreSource` or
`DataSource` of data/items.py in it is found by being there. Data of other packages are found through the entry point
group `unmask.data`.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable
from dataclasses import replace
from difflib import get_close_matches
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from unmask.core.errors import DataError, UnknownName
from unmask.core.registry import Registry
from unmask.core.types import Card, CardFact, Dataset
from unmask.data import files, hub, matrices, pairs, templates
from unmask.data.formats import read_mapping, user_path
from unmask.data.items import DatasetSource, DataSource, ScoreSource, TableSource
from unmask.data.matrices import ScoreMatrix

if TYPE_CHECKING:
    import pandas as pd

    from unmask.data.builtin_tables import Occupation, Prompt, Reminder, WordTables

__all__ = ["SOURCES", "card", "check_names", "facts", "from_records", "get", "is_scores", "labels", "load", "names"]
__all__ += ["read", "score_names", "scores", "tables"]

SOURCES = Registry(
    "dataset",
    DataSource,
    home="unmask.data",
    group="unmask.data",
    order=lambda source: bool(source.card.files[0].url),  # data that ship with the package come first
)


def names() -> tuple[str, ...]:
    """The names of the datasets of pairs: those that ship with the package first."""
    return tuple(name for name, source in SOURCES.items() if isinstance(source, DatasetSource))


def tables() -> tuple[str, ...]:
    """The names of the tables (data other than pairs), for `read`."""
    return tuple(name for name, source in SOURCES.items() if isinstance(source, TableSource))


def score_names() -> tuple[str, ...]:
    """The names of published scores of models, for `scores`."""
    return tuple(name for name, source in SOURCES.items() if isinstance(source, ScoreSource))


def card(name: str) -> Card:
    """The data card of a dataset, a table, published scores, or the data of a task."""
    return SOURCES.find(name).card


def facts(name: str) -> tuple[CardFact, ...]:
    """What was measured about a dataset, each with the command that printed it."""
    card(name)  # an unknown name is an error
    text = (resources.files("unmask.data") / "card_facts.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    return tuple(
        CardFact(row["about"], row["value"], row["command"], row["date"])
        for row in rows
        if name in row["data"].split(" ")
    )


def labels(name: str, *, data_dir: Path | str | None = None) -> list[tuple[str, ...]]:
    """The labels that the annotators of each item of a dataset gave; empty if its file has none."""
    source = SOURCES.find(name)
    if not isinstance(source, DatasetSource) or source.labels is None:
        return []
    return source.labels(_locate_all(source, data_dir, offline=True)[0])


def load(
    name_or_path: str | Path,
    *,
    data_dir: Path | str | None = None,
    offline: bool = False,
    mapping: Path | str | None = None,
) -> Dataset:
    """Load a dataset by name, your own file of pairs or templates, or data of the hub.

    Only data of the hub that is not in its cache uses the network.

    Args:
        name_or_path: a name of `names()`, a CSV, TSV, JSON, JSONL, Parquet or YAML file, or
            `hf:owner/name@revision:config/split`.
        data_dir: a folder of datasets, searched before `$UNMASK_DATA_DIR` and the cache.
        offline: never use the network; of other data than the hub's, it only changes the advice in an error.
        mapping: a YAML file that says which column of hub data, or of your own file, is which field.
    """
    columns = None if mapping is None else read_mapping(user_path(mapping))
    if hub.is_hub_name(name_or_path):
        reference = hub.HubData.parse(str(name_or_path))
        return hub.load(reference, name=_own_name(reference.title), columns=columns, offline=offline)
    if _is_path(name_or_path):
        path = user_path(name_or_path)
        if not templates.is_template_file(path):
            return pairs.load(path, name=_own_name(path.stem), columns=columns)
        if columns is None:
            return templates.load(path, name=_own_name(path.stem))
    if columns is not None:
        raise DataError(
            f"a mapping names columns of hub data or your own pairs, {name_or_path} is neither: leave it out"
        )
    source = _find_dataset(str(name_or_path))
    first, known = _locate_all(source, data_dir, offline=offline)
    items, warnings = source.load(first)
    if not items:
        raise DataError(f"{first.name}: no pairs in it; is it the published file of {source.name}?")
    return replace(known, items=items, warnings=(*known.warnings, *warnings))


def scores(name_or_path: str | Path, *, data_dir: Path | str | None = None, offline: bool = False) -> ScoreMatrix:
    """Load the published scores of models by name, or your own table of scores. Never uses the network.

    Args:
        name_or_path: a name of `score_names()`, or a table with columns model, item and score.
        data_dir: a folder of datasets, searched before `$UNMASK_DATA_DIR` and the cache.
        offline: only changes the advice in the error if the scores are not on this machine.
    """
    if _is_path(name_or_path):
        path = user_path(name_or_path)
        return matrices.load(path, name=_own_name(path.stem))
    source = SOURCES.get(str(name_or_path))
    if not isinstance(source, ScoreSource):
        raise UnknownName("published scores", str(name_or_path), score_names())
    return source.load(*_locate_all(source, data_dir, offline=offline))


def is_scores(name_or_path: str | Path) -> bool:
    """Whether it names published scores, or a table with columns model, item and score."""
    if hub.is_hub_name(name_or_path):
        return False
    if _is_path(name_or_path):
        return matrices.is_score_file(user_path(name_or_path))
    return isinstance(SOURCES.get(str(name_or_path)), ScoreSource)


def check_names(given: Iterable[str | Path]) -> None:
    """Refuse names that are no datasets of pairs, before something slow begins; files are not read."""
    for name_or_path in given:
        if hub.is_hub_name(name_or_path):
            hub.HubData.parse(str(name_or_path))
        elif not _is_path(name_or_path):
            _find_dataset(str(name_or_path))
        elif near := _like_hub_name(str(name_or_path)):
            raise DataError(f"{name_or_path} is no file: did you mean the dataset {near}?")


def _like_hub_name(name: str) -> str:
    """The dataset that a name of the hub, such as `nyu-mll/crows_pairs`, may mean; empty if it is a file or none."""
    owner, _, last = name.partition("/")
    if not owner.strip(".~") or not last or "/" in last or Path(name).suffix or Path(name).exists():
        return ""
    return next(iter(get_close_matches(last.lower().replace("_", "-"), names(), n=1)), "")


@overload
def read(name: Literal["prompts"]) -> tuple[Prompt, ...]: ...
@overload
def read(name: Literal["word-pairs"]) -> WordTables: ...
@overload
def read(name: Literal["reminders"]) -> tuple[Reminder, ...]: ...
@overload
def read(name: Literal["occupations"]) -> tuple[Occupation, ...]: ...
@overload
def read(name: str) -> Any: ...
def read(name: str) -> Any:
    """Read the records of a table from the built-in file; its sha256 is checked."""
    source = SOURCES.get(name)
    if isinstance(source, DatasetSource):
        raise DataError(f"{name} is a dataset of pairs, not a table: use unmask.data.load({name!r})")
    if not isinstance(source, TableSource):
        raise UnknownName("table", name, tables())
    return source.load(files.locate(source.card, source.card.files[0]).path)


def get(
    name: str, *, data_dir: Path | str | None = None, force: bool = False, offline: bool = False
) -> tuple[Path, ...]:
    """Return the verified files of a dataset; downloads missing ones to `data_dir` or the cache.

    Args:
        name: a name of `names()` or `tables()`, or data of the hub (`hf:…`), which go to the hub's own cache.
        data_dir: where to put the files; default: the cache.
        force: replace a file in `data_dir` that differs from the published one.
        offline: raise DataError instead of downloading.
    """
    if hub.is_hub_name(name):
        return hub.fetch(hub.HubData.parse(name), offline=offline).files
    chosen, folder = card(name), _folder(data_dir)
    if not offline:
        return tuple(files.fetch(chosen, file, data_dir=folder, force=force) for file in chosen.files)
    located = [files.locate(chosen, file, data_dir=folder, offline=True) for file in chosen.files]
    for path in (location.path for location in located if location.verified is False):
        raise DataError(f"{path} is not the published file of {chosen.name}, and it cannot be downloaded offline")
    return tuple(location.path for location in located)


def from_records(records: pairs.Records | pd.DataFrame, *, name: str = "pairs") -> Dataset:
    """A dataset of your own pairs: mappings with `more` and `less`, `(more, less)` tuples or a data frame."""
    return pairs.from_records(records, name=_own_name(name))


def _locate_all(source: DataSource, data_dir: Path | str | None, *, offline: bool) -> tuple[Path, Dataset]:
    """The path of the first file, and the dataset as far as it is known without reading its items."""
    given = source.card.files
    located = [files.locate(source.card, file, data_dir=_folder(data_dir), offline=offline) for file in given]
    warnings = []
    for file, location in zip(given, located, strict=True):
        if location.verified is None:
            warnings.append(f"the checksum of the published {file.name} is not known: numbers on it are unverified")
        elif not location.verified:
            sums = f"sha256 {location.sha256[:12]}…, expected {file.sha256[:12]}…"
            warnings.append(f"{file.name} is not the published file ({sums}): numbers on it are unverified")
    verified = all(location.verified for location in located)
    return located[0].path, Dataset(source.card, (), files.digest(located), verified, tuple(warnings))


def _find_dataset(name: str) -> DatasetSource:
    """The dataset of pairs of this name."""
    if (source := SOURCES.get(name)) is None:
        raise UnknownName("dataset", name, names())
    if not isinstance(source, DatasetSource):
        raise DataError(f"{name} ({source.card.title}) is {source.what.format(name=name)}")
    return source


def _is_path(name_or_path: str | Path) -> bool:
    """Whether it is a path: it exists, or has a suffix or a separator. Dataset names take precedence."""
    if isinstance(name_or_path, Path):
        return True
    if name_or_path in SOURCES or not name_or_path:
        return False
    separators = {os.sep, os.altsep or os.sep}
    named = bool(Path(name_or_path).suffix) or any(mark in name_or_path for mark in separators)
    return named or os.path.exists(name_or_path)  # noqa: PTH110 - that of Path fails for a name that is too long


def _own_name(text: str) -> str:
    """A name for user data that differs from those of all known data."""
    slug = pairs.slug(text)
    return f"own-{slug}" if slug in SOURCES else slug


def _folder(data_dir: Path | str | None) -> Path | None:
    """A data directory as a path."""
    return user_path(data_dir) if data_dir else None
