"""The types of a task: its data, its settings, what it observes of one model, and what it concludes.

TaskData ──► fine-tuned classifier ──► observe ──► TaskObservation ──► conclude ──► Finding
a language model, or a ready classifier ──┘
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from unmask.core.errors import DataError
from unmask.core.estimate import Estimate, Value
from unmask.core.options import MAX_SEED, check_values, option
from unmask.training.spec import BF16_DEFAULT, BF16_HELP

if TYPE_CHECKING:
    from unmask.data.examples import Example, Source
    from unmask.findings import Finding
    from unmask.tasks.finetune import FineTuned

Needs = Literal["lm", "classifier", "training"]  # scored zero-shot; has its head; is fine-tuned


@dataclass(frozen=True, slots=True)
class Grid:
    """Hyper-parameters to search; the defaults are those of Kaneko et al. (2022)."""

    batch: tuple[int, ...] = (16, 32, 64)
    rate: tuple[float, ...] = (1e-5, 3e-5, 5e-5)  # learning rate
    epochs: tuple[float, ...] = (1.0, 3.0, 5.0)

    @classmethod
    def parse(cls, given: str | Grid | None) -> Grid:
        """Parse `batch=16,32 rate=3e-5 epochs=3`; what is not named keeps its default."""
        if isinstance(given, Grid):
            return given
        lists: dict[str, tuple[Any, ...]] = {}
        kinds: dict[str, Callable[[str], Any]] = {"batch": int, "rate": float, "epochs": float}
        for word in (given or "").split():
            name, mark, values = word.partition("=")
            if name not in kinds or not mark:
                raise DataError(f"grid {word!r}: expected batch=, rate= or epochs= and values, such as batch=16,32")
            try:
                lists[name] = tuple(kinds[name](value) for value in values.split(","))
            except ValueError:
                raise DataError(f"grid {word!r}: {values!r} are not numbers") from None
        return cls(**lists)


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """The settings of all tasks; each task reads those that concern it."""

    train: Path | None = option(
        None, "Training file; sentiment, toxicity: texts with labels.", shown="the task's own data"
    )
    dev: Path | None = option(None, "With --train: validation file.", shown="its last tenth")
    grid: Grid = option(
        Grid(),
        "Hyper-parameter grid, such as 'batch=16,32 rate=3e-5 epochs=3'.",
        shown="as published: batch=16,32,64 rate=1e-5,3e-5,5e-5 epochs=1,3,5",
    )
    rows: int | None = option(
        None, "Maximum training and evaluation examples, sampled with --seed.", shown="all", least=1
    )
    steps: int | None = option(None, "Maximum training steps.", shown="by epochs", least=1)
    every: int | None = option(
        None, "Measure bias every N training steps (first values of --grid, no search).", least=1
    )
    save_every: int = option(500, "Steps between checkpoints to resume from.", least=1)
    bf16: bool | None = option(None, BF16_HELP, flag="--bf16/--no-bf16", shown=BF16_DEFAULT)
    length: int = option(128, "Maximum input tokens; longer inputs are truncated.", least=8)
    data: Path | None = option(
        None, "sentiment: pairs; toxicity: texts and labels; nlibias: triples; winogender: templates, or winopron."
    )
    added: Path | None = option(
        None, "toxicity with --train: also train with harmless text from this file that names identity terms."
    )
    label: str | None = option(None, "sentiment, toxicity: label whose score is used.")
    scrub: bool = option(False, "biasbios: replace gender words with _.")
    gaps: Literal["signed", "absolute"] = option(
        "signed", "biasbios: mean of signed or of absolute TPR gaps as the number that is tracked and compared."
    )
    lists: tuple[Path, Path] | None = option(
        None, "stsbias: two files of gendered words, one per line; templates as published.", shown="built-in words"
    )
    triples: int = option(10_000, "nlibias: number of sampled triples.", least=1)
    thresholds: tuple[float, ...] = (0.5, 0.7)  # nlibias: the τ of its T:τ scores
    limit: int | None = option(None, "Only the first N evaluation items.", least=1)
    seed: int = option(0, "Random seed (head initialisation, data order, samples, bootstrap).", least=0, most=MAX_SEED)
    data_dir: Path | None = option(None, "Folder of datasets.")
    allow_pickle: bool = option(False, "Load pickled weights (can run code).")

    def __post_init__(self) -> None:
        """Parse the grid of the command line, and refuse invalid values."""
        object.__setattr__(self, "grid", Grid.parse(self.grid))
        check_values(self)


@dataclass(frozen=True, slots=True)
class TaskData:
    """Training, validation and test examples; without `labels` the task is a regression."""

    labels: tuple[str, ...]
    train: Sequence[Example]
    dev: Sequence[Example]
    test: Sequence[Example]
    sources: tuple[Source, ...]
    notes: tuple[str, ...] = ()

    @property
    def metric(self) -> str:
        """The validation metric."""
        return "accuracy" if self.labels else "Pearson's r"


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One evaluation during fine-tuning: the bias with its interval, and the validation score."""

    step: int
    name: str  # what the bias is, such as "mean TPR gap, women − men"
    bias: Value
    n: int
    score: float


@dataclass(frozen=True, slots=True)
class TaskObservation:
    """What a task measured on one model, and how that model was fine-tuned."""

    model: Mapping[str, Any]  # facts about the model
    result: Any  # the task's own result type, such as WinoBiasResult
    fine_tuned: FineTuned | None = None
    points: tuple[CurvePoint, ...] = ()  # evaluations during fine-tuning, with `settings.every`

    @property
    def name(self) -> str:
        """The name of the model."""
        return str(self.model["id"])


@dataclass(frozen=True, slots=True)
class Task:
    """A downstream task in which bias does harm, and how to measure that bias."""

    name: str
    title: str
    question: str  # one plain sentence
    needs: Needs
    observe: Callable[[Any, TaskSettings], Any]  # of a Session or a Classifier
    conclude: Callable[[Sequence[TaskObservation], TaskSettings], Finding]
    estimates: Callable[[Any], Sequence[Estimate]]  # of a result; the first is tracked and compared
    citation: str  # BibTeX key in docs/references.bib
    load_data: Callable[[TaskSettings], TaskData] | None = None
    training: Callable[[TaskSettings], tuple[Source, ...]] = lambda _: ()  # files that `load_data` reads
    sources: Callable[[TaskSettings], tuple[Source, ...]] = lambda _: ()  # files read besides the task data
    # other training data to compare with, by name; the data itself is named ""
    variants: Callable[[TaskSettings, TaskData], Mapping[str, TaskData]] = lambda _, data: {"": data}
    languages: tuple[str, ...] = ("en",)  # of its sentences and words

    def __post_init__(self) -> None:
        """Refuse a task that cannot be fine-tuned."""
        if self.needs == "training" and self.load_data is None:
            raise DataError(f"{self.name} is to be fine-tuned but has no `load_data`: give it training data")

    def headline(self, result: Any) -> Estimate:
        """The one number of a result that is tracked, compared and correlated."""
        return self.estimates(result)[0]
