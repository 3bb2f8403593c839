"""The types of a task: its data, its settings, what it observes of one model, and what it concludes.

TaskData ──► fine-tuned classifier ──► observe ──► TaskObservation ──► conclude ──► Finding
a language model, or a ready classifier ──┘
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

Needs = Literal["lm", "classifier", "training"]  # scored zero-shot; has its head; is fine-tuned


@dataclass(frozen=True, slots=True)
class Grid:
    """Hyper-parameters to search; the defaults are those of Kaneko et al. (2022)."""

    batch: tuple[int, ...] = (16, 32, 64)
    rate: tuple[float, ...] = (1e-5, 3e-5, 5e-5)  # learning rate
    epochs: tuple[float, ...] = (1.0, 3.0, 5.0)

    @classmethod
    def parse(cls, text: str) -> Grid:
        """Parse `batch=16,32 rate=3e-5 epochs=3`; what is not named keeps its default."""
        lists: dict[str, tuple[Any, ...]] = {}
        kinds: dict[str, Callable[[str], Any]] = {"batch": int, "rate": float, "epochs": float}
        for word in text.split():
            name, mark, values = word.partition("=")
            if name not in kinds or not mark:
                raise DataError(
                    f"grid {word!r}: expected batch=, rate= or epochs= and values, such as batch=16,32"
                )
            try:
                lists[name] = tuple(kinds[name](value) for value in values.split(","))
            except ValueError:
                raise DataError(f"grid {word!r}: {values!r} are not numbers") from None
        return cls(**lists)


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """The settings of all tasks; each task reads those that concern it."""

    seed: int = 0
    limit: int | None = None  # items scored, or biographies read
    data_dir: Path | None = None
    data: Path | None = None  # a file to evaluate instead of the task's own data
    train: Path | None = None  # training file
    dev: Path | None = None  # validation file
    rows: int | None = None  # most training and validation examples, sampled with the seed; None: all
    grid: Grid = field(default_factory=Grid)
    length: int = MAX_LENGTH  # tokens per input
    every: int | None = None  # steps between evaluations, to follow the bias during fine-tuning
    steps: int | None = None  # most training steps
    save_every: int = 500  # steps between checkpoints
    scrub: bool = False  # remove gendered words from biographies
    triples: int = 10_000  # NLI-bias: how many to sample
    thresholds: tuple[float, ...] = (0.5, 0.7)  # NLI-bias: the τ of its T:τ scores
    label: str | None = None  # the label whose probability is the score
    allow_pickle: bool = False

    def __post_init__(self) -> None:
        """Check the smallest allowed values."""
        counts = {"seed": 0, "limit": 1, "rows": 1, "length": 8, "every": 1, "steps": 1, "triples": 1}
        for name, fewest in counts.items():
            value = getattr(self, name)
            if value is not None and value < fewest:
                raise DataError(f"{name} {value}: give a number of at least {fewest}")


@dataclass(frozen=True, slots=True)
class TaskData:
    """Training, validation and test examples; without `labels` the task is a regression."""

    labels: tuple[str, ...]
    train: tuple[Example, ...]
    dev: tuple[Example, ...]
    test: tuple[Example, ...]
    sources: tuple[Source, ...]
    notes: tuple[str, ...] = ()

    @property
    def metric(self) -> str:
        """The validation metric."""
        return "accuracy" if self.labels else "Pearson's r"


@dataclass(frozen=True, slots=True)
class Headline:
    """The one value of a task that is tracked, compared and correlated."""

    name: str
    number: Value
    n: int


@dataclass(frozen=True, slots=True)
class TaskObservation:
    """What a task measured on one model, and how that model was fine-tuned."""

    model: Mapping[str, Any]  # facts about the model
    result: Any  # the task's own result type, such as WinoBiasResult
    fine_tuned: Any = None  # finetune.FineTuned, where the model was fine-tuned


@dataclass(frozen=True, slots=True)
class Task:
    """A downstream task in which bias does harm, and how to measure that bias."""

    name: str
    title: str
    question: str  # one plain sentence
    needs: Needs
    observe: Callable[[Any, TaskSettings], Any]  # of a Session or a Classifier
    conclude: Callable[[Sequence[TaskObservation], TaskSettings], Finding]
    headline: Callable[[Any], Headline]
    citation: str  # BibTeX key in docs/references.bib
    load_data: Callable[[TaskSettings], TaskData] | None = None
    sources: Callable[[TaskSettings], tuple[Source, ...]] = lambda _: ()  # files read besides the task data
