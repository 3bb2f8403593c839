"""Shared by all commands that run a model: options, data, measures, engine, metadata."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from unmask import data as datasets
from unmask.core.errors import DataError
from unmask.core.options import Options
from unmask.core.types import Dataset, Kind, Measure
from unmask.data.subset import sample_dataset
from unmask.measures import DEFAULTS, TEMPLATE_DEFAULTS, TRIPLE_DEFAULTS, find
from unmask.measures.stereoset import BLANK

if TYPE_CHECKING:
    from unmask.models import Answerer, Engine, Lm, TextModel

Data = str | Path | Dataset


def load_datasets(data: Data | Sequence[Data], options: Options) -> list[Dataset]:
    """Load the datasets, of each a sample of `options.limit` items; their names must differ."""
    wanted = [data] if isinstance(data, str | Path | Dataset) else list(data)
    if not wanted:
        raise DataError(f"no data given: name one of {', '.join(datasets.names())}, or a file of pairs")
    load = partial(datasets.load, data_dir=options.data_dir, offline=options.offline, mapping=options.mapping)
    loaded = [dataset if isinstance(dataset, Dataset) else load(dataset) for dataset in wanted]
    names = [dataset.card.name for dataset in loaded]
    if len(set(names)) < len(names):
        raise DataError(f"two datasets have the same name ({', '.join(names)}): rename a file")
    if options.limit is None:
        return loaded
    return [sample_dataset(dataset, options.limit, options.seed) for dataset in loaded]


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
        usual = (*TRIPLE_DEFAULTS, *usual) if BLANK in (data.items[0].context or "") else TRIPLE_DEFAULTS
    return tuple(find(name) for name in usual)


def has_field(data: Dataset, need: str) -> bool:
    """Whether any item has this field, or a group of this name."""
    return any(getattr(item, need, None) or item.groups.get(need) for item in data.items)


@overload
def engine_for(lm: Lm, options: Options) -> AbstractContextManager[Engine]: ...


@overload
def engine_for(lm: TextModel, options: Options) -> AbstractContextManager[Answerer]: ...


@contextmanager
def engine_for(lm: TextModel, options: Options) -> Iterator[Any]:
    """What answers probes, with the cache of model outputs (or one file of them), unless `options.store` is False."""
    from unmask.models import Store

    shared = options.store and options.store_file is None
    name = f"{lm.facts.id} {lm.facts.dtype}"
    store = Store.of(lm.namespace, name) if shared else Store(options.store_file, lm.namespace)
    try:
        yield lm.answerer(store, tokens=options.tokens)
    finally:
        store.close()
