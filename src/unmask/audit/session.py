"""A model session for diagnoses and tasks, with the cache of model outputs shared with audits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from typing import Any

from unmask.audit.checks import Evidence
from unmask.audit.plan import measures_for
from unmask.audit.scoring import ScoredItem, score_items
from unmask.core.errors import ModelError
from unmask.core.progress import Progress, Step, steps_of
from unmask.core.types import Dataset, Measure, Probe
from unmask.measures import select_measures
from unmask.models import Answerer, TextModel
from unmask.models.batches import Readings
from unmask.models.lm import FP32

Reopen = Callable[[str], AbstractContextManager[Answerer]]  # the same model in another dtype


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
