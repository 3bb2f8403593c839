"""What all ways of asking a model share: options, data, measures, an engine, facts to record."""

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

Progress = Callable[[str, float, int], None]  # dataset, share done, items in all
Data = str | Path | Dataset
PACKAGES = ("unmask", "torch", "transformers", "tokenizers", "numpy", "scipy", "statsmodels")


@dataclass(frozen=True, slots=True)
class Options:
    """Everything about a run that is neither the model, the data nor the measures."""

    limit: int | None = None  # only the first items of every dataset
    seed: int = 0  # of everything drawn at random
    tokens: int | None = None  # padded tokens in a batch; None: what suits the device
    store: bool = True  # remember readings on disk
    data_dir: Path | None = None
    offline: bool = False
    progress: Progress | None = None


def load_datasets(data: Data | Sequence[Data], options: Options) -> list[Dataset]:
    """The datasets, each under a name of its own and with no more items than asked for."""
    wanted = [data] if isinstance(data, str | Path | Dataset) else list(data)
    if not wanted:
        raise DataError(f"no data named: give one of {', '.join(datasets.names())}, or a file of pairs")
    loaded = [
        dataset
        if isinstance(dataset, Dataset)
        else datasets.load(dataset, data_dir=options.data_dir, offline=options.offline)
        for dataset in wanted
    ]
    names = [dataset.card.name for dataset in loaded]
    if len(set(names)) < len(names):
        raise DataError(f"two of the datasets have one name ({', '.join(names)}): rename a file")
    return [_limited(dataset, options.limit) for dataset in loaded]


def measures_for(data: Dataset, named: Sequence[Measure], kind: Kind) -> tuple[Measure, ...]:
    """The named measures that this data can bear; none named: the usual ones for it.

    Of a template neither sentence is the stereotyping one, so only measures made for templates read it.
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
    """Has any item what a measure needs: a field, or a group of that name?"""
    return any(getattr(item, need, None) or item.groups.get(need) for item in data.items)


@contextmanager
def engine_for(lm: Lm, options: Options) -> Iterator[Engine]:
    """An engine that remembers, unless it was told not to."""
    store = Store.of(lm.namespace) if options.store else Store(None)
    try:
        yield Engine(lm, store, tokens=options.tokens)
    finally:
        store.close()


def opening_for(opening: Opening | None, options: Options) -> Opening:
    """How to open the model: as told, else only not through the network where that is not wanted."""
    return opening or Opening(offline=options.offline)


def refuse_foreign(folder: Path, ours: Sequence[str]) -> None:
    """A folder with files that are not of an earlier result is never written to."""
    if folder.exists() and not folder.is_dir():
        raise ResultError(f"{folder} is a file: give a new folder for the result")
    known = {name for file in ours for name in (file, f"{file}.partial")}
    if folder.is_dir() and any(folder.iterdir()) and not any((folder / name).exists() for name in known):
        raise ResultError(f"{folder} holds other files: give a new or empty folder for the result")


def versions() -> dict[str, str]:
    """Of everything that numbers depend on."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}


def data_facts(data: Dataset) -> dict[str, Any]:
    """A dataset as a result records it."""
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
        "verified": data.verified
        if card.folder
        else None,  # your own pairs: there is nothing to verify against
        "warnings": list(data.warnings),
    }


def write_json(path: Path, meta: Mapping[str, Any]) -> dict[str, Any]:
    """Write the result object, whole or not at all, and give it back as it will be read."""
    text = json.dumps(meta, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
    return dict(json.loads(text))


def _limited(data: Dataset, limit: int | None) -> Dataset:
    if limit is None:
        return data
    if limit < 1:
        raise DataError(f"--limit {limit}: give a number of items of at least 1")
    return Dataset(data.card, data.items[:limit], data.sha256, data.verified, data.warnings)
