"""The types of a task: its options, its data, what it observes of one model, and the task itself.

TaskData ──► fine-tuned classifier ──► observe ──► TaskObservation ──► conclude ──► Conclusion
a language model, or a ready classifier ──┘
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from unmask.core.errors import DataError
from unmask.core.estimate import Estimate, Value
from unmask.core.options import MAX_SEED, OptionGroup, common, option
from unmask.data.examples import Example, Source, user_source
from unmask.training.spec import BF16_DEFAULT, BF16_HELP

if TYPE_CHECKING:
    from unmask.findings import Conclusion
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


@dataclass(frozen=True)
class TaskOptions(OptionGroup):
    """The options of every task."""

    limit: int | None = option(None, "Only the first N evaluation items.", least=1)
    seed: int = option(0, "Random seed (head initialisation, data order, samples, bootstrap).", least=0, most=MAX_SEED)
    data_dir: Path | None = common(None, "Folder of datasets.")


@dataclass(frozen=True)
class FineTuningOptions(TaskOptions):
    """The options of tasks that fine-tune a language model."""

    train: Path | None = option(None, "Training file.", shown="the task's own data, if it has any")
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

    def __post_init__(self) -> None:
        """Parse the grid of the command line, and refuse invalid values."""
        object.__setattr__(self, "grid", Grid.parse(self.grid))
        super().__post_init__()

    def user_files(self) -> tuple[Source, ...]:
        """The user's training file and, with it, the validation file."""
        paths = (self.train, self.dev) if self.train is not None else ()
        return tuple(user_source(path) for path in paths if path is not None)


@dataclass(frozen=True, slots=True)
class TaskData:
    """Training, validation and test examples; without `labels` the task is a regression."""

    labels: tuple[str, ...]
    train: Sequence[Example]
    dev: Sequence[Example]
    test: Sequence[Example]
    sources: tuple[Source, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def of_files(
        cls, labels: tuple[str, ...], load: Callable[[Source], Sequence[Example]], files: tuple[Source, ...]
    ) -> Self:
        """Load training, validation and test data; of a single file the last tenth is the validation data."""
        if not files:
            raise DataError("there is no training data: give `train`, a table of texts and labels")
        first, *others = [load(file) for file in files]
        if not others:
            first, others = first[: -len(first) // 10], [first[-len(first) // 10 :]]
        return cls(labels, first, others[0], others[1] if others[1:] else (), files)

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


class Measurement(Protocol):
    """What a task measured on one model: at least its numbers, the one that is tracked and compared first."""

    @property
    def estimates(self) -> Sequence[Estimate]:
        """The numbers."""


@dataclass(frozen=True, slots=True)
class TaskObservation:
    """What a task measured on one model, and how that model was fine-tuned."""

    model: Mapping[str, Any]  # facts about the model
    result: Any  # the task's own `Measurement`
    fine_tuned: FineTuned | None = None
    points: tuple[CurvePoint, ...] = ()  # evaluations during fine-tuning, with the option `every`

    @property
    def name(self) -> str:
        """The name of the model."""
        return str(self.model["id"])

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """The numbers of the task under the name of the model."""
        return tuple(replace(estimate, model=self.name) for estimate in self.result.estimates)


@dataclass(frozen=True, slots=True)
class Task:
    """A downstream task in which bias does harm, and how to measure that bias."""

    name: str
    title: str
    question: str  # one plain sentence
    needs: Needs
    observe: Callable[[Any, Any], Measurement]  # of a Session or a Classifier, with the options
    conclude: Callable[[Sequence[TaskObservation], Any], Conclusion]
    citation: str  # BibTeX key in docs/references.bib
    options: type[TaskOptions] = TaskOptions
    load_data: Callable[[Any], TaskData] | None = None
    training: Callable[[Any], tuple[Source, ...]] = lambda _: ()  # files that `load_data` reads
    sources: Callable[[Any], tuple[Source, ...]] = lambda _: ()  # files read besides the task data
    # other training data to compare with, by name; the data itself is named ""
    variants: Callable[[Any, TaskData], Mapping[str, TaskData]] = lambda _, data: {"": data}
    languages: tuple[str, ...] = ("en",)  # of its sentences and words

    def __post_init__(self) -> None:
        """Refuse a task that cannot be fine-tuned, or not evaluated as a classifier."""
        if self.needs == "training" and self.load_data is None:
            raise DataError(f"{self.name} is to be fine-tuned but has no `load_data`: give it training data")
        if self.needs != "lm" and not issubclass(self.options, FineTuningOptions):
            raise DataError(f"{self.name} is evaluated with a classifier: its options must be `FineTuningOptions`")

    def pick_options(self, settings: Mapping[str, Any]) -> TaskOptions:
        """The options of this task: of settings for several tasks, those that it has."""
        names = [field.name for field in fields(self.options)]
        return self.options(**{name: settings[name] for name in names if name in settings})

    def headline(self, result: Measurement) -> Estimate:
        """The one number of a result that is tracked, compared and correlated."""
        return result.estimates[0]
