"""Shared by all commands that run a model: options, data, measures, engine, metadata."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from unmask import data as datasets
from unmask.core.errors import DataError, ResultError
from unmask.core.types import Dataset, Kind, Measure
from unmask.measures import DEFAULTS, TEMPLATE_DEFAULTS, TRIPLE_DEFAULTS, find
from unmask.measures.stereoset import BLANK
from unmask.models import Engine, Lm, Store
from unmask.models.loading import Opening

Progress = Callable[[str, float, int], None]  # dataset, share done, total items
Data = str | Path | Dataset
PACKAGES = ("unmask", "torch", "transformers", "tokenizers", "numpy", "scipy", "statsmodels")


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a run besides model, data and measures."""

    limit: int | None = None  # only the first N items of every dataset
    seed: int = 0  # random seed
    tokens: int | None = None  # padded tokens per batch; None: by device
    store: bool = True  # cache model outputs on disk
    data_dir: Path | None = None
    offline: bool = False
    progress: Progress | None = None


def load_datasets(data: Data | Sequence[Data], options: Options) -> list[Dataset]:
    """Load the datasets, limited to `options.limit` items; their names must differ."""
    wanted = [data] if isinstance(data, str | Path | Dataset) else list(data)
    if not wanted:
        raise DataError(f"no data given: name one of {', '.join(datasets.names())}, or a file of pairs")
    loaded = [
        dataset
        if isinstance(dataset, Dataset)
        else datasets.load(dataset, data_dir=options.data_dir, offline=options.offline)
        for dataset in wanted
    ]
    names = [dataset.card.name for dataset in loaded]
    if len(set(names)) < len(names):
        raise DataError(f"two datasets have the same name ({', '.join(names)}): rename a file")
    return [_limit_items(dataset, options.limit) for dataset in loaded]


def measures_for(data: Dataset, named: Sequence[Measure], kind: Kind) -> tuple[Measure, ...]:
    """The named measures that can be computed on this data; if none is named, its default measures.

    Neither sentence of a template is the stereotyping one, so only template measures are computed on it.
    """
    if named:
        fit = [measure for measure in named if all(has_field(data, need) for need in measure.needs)]
        return tuple(measure for measure in fit if ("slot" in measure.needs) == has_field(data, "slot"))
    if has_field(data, "slot"):
        return tuple(find(name) for name in TEMPLATE_DEFAULTS)
    usual = DEFAULTS[kind]
    if has_field(data, "unrelated"):
        filled = BLANK in (data.items[0].context or "")
        usual = (*TRIPLE_DEFAULTS, *usual) if filled else TRIPLE_DEFAULTS
    return tuple(find(name) for name in usual)


def has_field(data: Dataset, need: str) -> bool:
    """Whether any item has this field, or a group of this name."""
    return any(getattr(item, need, None) or item.groups.get(need) for item in data.items)


@contextmanager
def engine_for(lm: Lm, options: Options) -> Iterator[Engine]:
    """An engine with the cache of model outputs, unless `options.store` is False."""
    store = Store.of(lm.namespace) if options.store else Store(None)
    try:
        yield Engine(lm, store, tokens=options.tokens)
    finally:
        store.close()


def opening_for(opening: Opening | None, options: Options) -> Opening:
    """The given `Opening`, or a default one with `options.offline`."""
    return opening or Opening(offline=options.offline)


def refuse_foreign(folder: Path, ours: Sequence[str]) -> None:
    """Raise if the folder holds files that do not belong to an earlier result."""
    if folder.exists() and not folder.is_dir():
        raise ResultError(f"{folder} is a file: give a new folder for the result")
    known = {name for file in ours for name in (file, f"{file}.partial")}
    if folder.is_dir() and any(folder.iterdir()) and not any((folder / name).exists() for name in known):
        raise ResultError(f"{folder} holds other files: give a new or empty folder for the result")


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that results depend on."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}


def data_facts(data: Dataset) -> dict[str, Any]:
    """The facts about a dataset that a result records."""
    card = data.card
    return {
        "name": card.name,
        "title": card.title,
        "licence": card.licence,
        "languages": list(card.languages),
        "citation": card.citation,
        "source": card.source,
        "problems": card.problems,
        "n": len(data.items),
        "size": card.size,
        "sha256": data.sha256,
        "verified": data.verified if card.folder else None,  # user data: there is no checksum to verify
        "warnings": list(data.warnings),
    }


def write_json(path: Path, meta: Mapping[str, Any]) -> dict[str, Any]:
    """Write an object as JSON atomically and return it as it will be read back."""
    text = json.dumps(meta, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
    return dict(json.loads(text))


def _limit_items(data: Dataset, limit: int | None) -> Dataset:
    if limit is None:
        return data
    if limit < 1:
        raise DataError(f"limit is {limit}, expected a number of at least 1")
    return Dataset(data.card, data.items[:limit], data.sha256, data.verified, data.warnings)
