"""The nouns of a task: what is taught, who judges, what was seen of one model, and what follows.

lesson ──► fine-tuned judge ──► observe ──► Seen ──► conclude ──► Finding
a language model, or a classifier as it is ──┘
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from unmask.core.errors import DataError
from unmask.data.examples import Example, Source
from unmask.findings import Finding, Value
from unmask.models.classifier import MAX_LENGTH

Needs = Literal["lm", "classifier", "training"]  # asked as it is; has its head; gets a head and is taught


@dataclass(frozen=True, slots=True)
class Grid:
    """What is tried in fine-tuning; the defaults are those of Kaneko et al. (2022)."""

    batch: tuple[int, ...] = (16, 32, 64)
    rate: tuple[float, ...] = (1e-5, 3e-5, 5e-5)
    epochs: tuple[float, ...] = (1.0, 3.0, 5.0)

    @classmethod
    def parse(cls, text: str) -> Grid:
        """`batch=16,32 rate=3e-5 epochs=3`; what is not named is as published."""
        found: dict[str, tuple[Any, ...]] = {}
        kinds: dict[str, Callable[[str], Any]] = {"batch": int, "rate": float, "epochs": float}
        for word in text.split():
            name, mark, values = word.partition("=")
            if name not in kinds or not mark:
                raise DataError(f"--grid {word!r}: give batch=, rate= or epochs= and values, as batch=16,32")
            try:
                found[name] = tuple(kinds[name](value) for value in values.split(","))
            except ValueError:
                raise DataError(f"--grid {word!r}: {values!r} are no numbers") from None
        return cls(**found)


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """What a user can tell a task; each reads what concerns it."""

    seed: int = 0
    limit: int | None = None  # items asked, or biographies read
    data_dir: Path | None = None
    data: Path | None = None  # a file to be judged, in the place of the task's own
    train: Path | None = None  # files to be taught with
    dev: Path | None = None
    rows: int | None = None  # taught, and judged at a look, at most; drawn by the seed. None: all
    grid: Grid = field(default_factory=Grid)
    length: int = MAX_LENGTH
    every: int | None = None  # re-learning: steps between two looks
    steps: int | None = None  # of a fine-tuning at most
    save_every: int = 500  # steps between checkpoints to go on from
    scrub: bool = False  # gender words taken out of biographies
    triples: int = 10_000  # of NLI-bias, drawn by the seed
    thresholds: tuple[float, ...] = (0.5, 0.7)  # of NLI-bias
    label: str | None = None  # the class a classifier's score is of
    allow_pickle: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        counts = {"seed": 0, "limit": 1, "rows": 1, "length": 8, "every": 1, "steps": 1, "triples": 1}
        for name, fewest in counts.items():
            value = getattr(self, name)
            if value is not None and value < fewest:
                raise DataError(f"--{name} {value}: give a number of at least {fewest}")


@dataclass(frozen=True, slots=True)
class TaskData:
    """What a model is taught and tested with; no labels: the label is a number."""

    labels: tuple[str, ...]
    train: tuple[Example, ...]
    dev: tuple[Example, ...]
    test: tuple[Example, ...]
    sources: tuple[Source, ...]
    notes: tuple[str, ...] = ()

    @property
    def metric(self) -> str:
        """What development data is judged by."""
        return "accuracy" if self.labels else "Pearson's r"


@dataclass(frozen=True, slots=True)
class Headline:
    """The one number of a task that is followed, compared and correlated."""

    name: str
    number: Value
    n: int


@dataclass(frozen=True, slots=True)
class TaskObservation:
    """What a task saw of one model, and what it took to teach it."""

    model: Mapping[str, Any]  # the model's facts
    result: Any
    fine_tuned: Any = None  # finetune.FineTuned, where the model was fine-tuned


@dataclass(frozen=True, slots=True)
class Task:
    """A use of a language model in which bias does harm, and how to measure it there."""

    name: str
    title: str
    question: str  # one plain sentence
    needs: Needs
    observe: Callable[[Any, TaskSettings], Any]  # an Asking or a Judge
    conclude: Callable[[Sequence[TaskObservation], TaskSettings], Finding]
    headline: Callable[[Any], Headline]
    citation: str  # BibTeX key in docs/references.bib
    load_data: Callable[[TaskSettings], TaskData] | None = None
    sources: Callable[[TaskSettings], tuple[Source, ...]] = lambda _: ()  # what is read besides the lesson
