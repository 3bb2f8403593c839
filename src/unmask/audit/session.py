"""What all commands that run a model share: their data, measures and engine, and the session of a model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from unmask import data as datasets
from unmask.core.errors import DataError, ModelError
from unmask.core.options import Options
from unmask.core.progress import Progress, Step, steps_of
from unmask.core.types import Dataset, Kind, Measure, Probe
from unmask.data.items import sample_dataset
from unmask.measures import DEFAULTS, TEMPLATE_DEFAULTS, TRIPLE_DEFAULTS, find, select_measures
from unmask.measures.stereoset import BLANK

if TYPE_CHECKING:  # these import torch, which a plan of data does not need
    from unmask.audit.scoring import ScoredItem
    from unmask.models import Answerer, Engine, Lm, TextModel
    from unmask.models.batches import Readings

    Reopen = Callable[[str], AbstractContextManager[Answerer]]  # the same model in another dtype
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


class Session:
    """A loaded model, its engine, and the scores already computed."""

    def __init__(self, engine: Answerer, progress: Progress | None = None, reopen: Reopen | None = None) -> None:
        self.engine = engine
        self._progress = progress
        self._reopen = reopen
        self._scored: dict[tuple[int, str], list[ScoredItem]] = {}

    @property
    def lm(self) -> TextModel:
        """The model."""
        return self.engine.lm

    @property
    def facts(self) -> dict[str, Any]:
        """The facts about the model that a result records."""
        return asdict(self.lm.facts)

    def read(self, probes: Iterable[Probe], what: str) -> Readings:
        """Run probes through the model; `what` labels the progress bar."""
        listed = list(probes)
        return self.engine.read(listed, self._step(what, len(listed)))

    def pair_measures(self, data: Dataset, names: Sequence[str]) -> tuple[Measure, ...]:
        """The measures that score pairs: those named, or the defaults."""
        fit = measures_for(data, select_measures(names, self.lm.kind), self.lm.kind)
        return tuple(measure for measure in fit if measure.summary in ("share", "magnitude"))

    def scores(self, data: Dataset, measures: Sequence[Measure]) -> dict[str, list[ScoredItem]]:
        """Score every item with every measure as an audit does; results are cached."""
        name = data.card.name
        key = hash((name, *(item.id for item in data.items)))  # a diagnosis may score a part of the data
        lacking = [measure for measure in measures if (key, measure.name) not in self._scored]
        if lacking:
            from unmask.audit.checks import Evidence
            from unmask.audit.scoring import score_items

            scored: dict[str, list[ScoredItem]] = {measure.name: [] for measure in lacking}
            step = self._step(name, len(data.items))
            for chunk in score_items(name, data.items, lacking, self.engine, evidence=Evidence(), progress=step):
                for item in chunk:
                    scored[item.row.measure].append(item)
            self._scored |= {(key, measure): rows for measure, rows in scored.items()}
        return {measure.name: self._scored[key, measure.name] for measure in measures}

    @contextmanager
    def in_dtype(self, dtype: str) -> Iterator[Session]:
        """A session with the same model in this dtype; this one if it is in it. ModelError if it cannot be opened."""
        from unmask.models.lm import FP32

        if self.lm.facts.dtype in (FP32 if dtype in FP32 else (dtype,)):
            yield self
        elif self._reopen is None:
            raise ModelError(f"{self.lm.facts.id} was given opened: give its name or folder to open it in {dtype}")
        else:
            with self._reopen(dtype) as engine:
                yield Session(engine, self._progress)

    def _step(self, what: str, total: int) -> Step:
        return steps_of(self._progress, what, total)


def unique_name(name: str, taken: Collection[str]) -> str:
    """The name of a model, with a number if another folder of the same name was observed before."""
    names = (name, *(f"{name} ({number})" for number in range(2, len(taken) + 2)))
    return next(free for free in names if free not in taken)
