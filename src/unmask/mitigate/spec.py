"""What a mitigation is: its record, its options, what it works with, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, get_type_hints

from unmask.core.errors import DataError, quote
from unmask.core.options import MAX_SEED, OptionGroup, common, literal_choices, option
from unmask.core.progress import Progress
from unmask.training import TrainResult, TrainSettings

if TYPE_CHECKING:
    from unmask.core.options import Opening, Options
    from unmask.core.types import Kind
    from unmask.data.texts import TrainingCorpus
    from unmask.findings.envelope import Result
    from unmask.findings.folder import ResultFolder
    from unmask.mitigate.erase import FitFunction
    from unmask.models import Engine, Lm
    from unmask.vectors.static import WordVectors

ChosenOptions_co = TypeVar("ChosenOptions_co", bound="MethodOptions", covariant=True)


@dataclass(frozen=True)
class MethodOptions(OptionGroup):
    """Options of every method."""

    seed: int = option(0, "Random seed (data order, masking, dropout, samples).", least=0, most=MAX_SEED)
    items: int | None = option(
        None, "Evaluate on N items of each dataset, sampled by category and direction.", shown="all", least=30
    )


@dataclass(frozen=True)
class TrainingOptions(MethodOptions, TrainSettings):
    """Options of methods that train."""

    length: int = option(128, "Tokens per training sequence.", least=8)
    remind: int = option(
        0, "Add the reminder sentences to the training text this many times (1 to 3).", least=0, most=3
    )
    word: str | None = option(None, "With remind: only the reminders of this word.", shown="all words")

    def __post_init__(self) -> None:
        """Refuse invalid values."""
        super().__post_init__()
        if self.word and not self.remind:
            raise DataError(f"word {quote(self.word)} chooses reminders, but remind is 0: set it to 1, 2 or 3 too")


@dataclass(frozen=True)
class AdapterOptions(TrainingOptions):
    """Options of methods that train all weights of the model they are given, or an adapter of it."""

    lora: bool = option(
        False, "Train a LoRA adapter instead of all weights; saved in OUT/adapter, and merged into the checkpoint."
    )
    rank: int = option(16, "With lora: rank of the adapter.", least=1, most=4096)


@dataclass(frozen=True)
class LossOptions(AdapterOptions):
    """Options of methods whose loss has a term for bias and one that preserves the model."""

    strength: float = option(
        0.2, "Weight of the bias term of the loss; the preserving term has the rest.", least=0.001, most=0.999
    )


@dataclass(frozen=True)
class PairOptions(LossOptions):
    """Options of methods that train on pairs of sentences."""

    train_pairs: Path = option(Path("nine-axes"), "Dataset or file of pairs of sentences to train on.")
    data_dir: Path | None = common(None, "Folder of datasets.")


@dataclass(frozen=True)
class EraserOptions(MethodOptions):
    """Options of methods that erase gender from the states of a model, or from a file of word vectors."""

    layer: int = option(-1, "Layer whose hidden states are changed; 0 is the embedding layer, -1 the last.")
    pairs: Path | None = option(None, "Word vectors: CSV of word pairs.", shown="ten pairs such as he, she")
    keep: Path | None = option(
        None, "Word vectors: words to leave unchanged, one per line or a JSON list.", shown="words that have a gender"
    )
    neutral: Path | None = option(
        None, "Word vectors: words that should be neutral, one per line.", shown="165 occupations"
    )
    similarity: Path | None = option(None, "Word vectors: CSV of two words and their similarity; measured too.")
    lower: bool = option(False, "Word vectors: look words up in lower case (GloVe 6B).")


@dataclass(frozen=True, slots=True)
class VectorPlan:
    """What an eraser of word vectors works with; all words of it have a vector."""

    vectors: WordVectors
    pairs: tuple[tuple[str, str], ...]  # of which the direction is that of gender, masculine words first
    keep: frozenset[str]  # words that stay as they are
    neutral: tuple[str, ...]
    options: Any  # the method's

    @property
    def kept_words(self) -> set[str]:
        """The words that stay as they are: those to keep, and those of the pairs."""
        return {*self.keep, *(word for pair in self.pairs for word in pair)}


@dataclass(frozen=True, slots=True)
class MitigationContext(Generic[ChosenOptions_co]):
    """What a method works with: the model to change, and its options."""

    engine: Engine
    folder: Path  # for checkpoints to resume from
    options: ChosenOptions_co
    progress: Progress | None = None

    @property
    def lm(self) -> Lm:
        """The opened language model, as measures use it."""
        return self.engine.lm

    @property
    def model(self) -> Any:
        """The torch module."""
        return self.engine.lm.network.model

    @property
    def causal(self) -> bool:
        """Whether it is a causal model."""
        return self.lm.kind == "causal"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The changed model, facts about the change, and the training record."""

    model: Any
    facts: Mapping[str, Any] = field(default_factory=dict)  # counts of texts, words, copies, …
    trained: TrainResult | None = None  # None: no training took place


def apply_eraser(context: MitigationContext[EraserOptions], corpus: TrainingCorpus, fit: FitFunction) -> Outcome:
    """Fit an eraser on the model's states in the corpus and attach it."""
    from unmask.mitigate.erase import fit_and_attach

    return fit_and_attach(context, corpus, fit)


@dataclass(frozen=True, slots=True)
class MitigationJob(Generic[ChosenOptions_co]):
    """A mitigation to be made and measured: the method, the model, the text, and where the result goes."""

    method: Method
    open_model: Callable[[], Lm]
    text: TrainingCorpus
    folder: ResultFolder
    choices: ChosenOptions_co  # the method's options
    opening: Opening  # of the checkpoint
    options: Options  # how to run

    @property
    def path(self) -> Path:
        """The folder of the checkpoint."""
        assert self.folder.path is not None
        return self.folder.path


@dataclass(frozen=True, slots=True)
class Method:
    """A mitigation: what it does, the kinds of models it supports, and the paper it follows."""

    name: str
    title: str
    about: str  # one plain sentence
    apply: Callable[[MitigationContext[Any], TrainingCorpus], Outcome]
    citation: str  # BibTeX key in docs/references.bib
    options: type[MethodOptions] = MethodOptions  # what it uses, and no more
    kinds: tuple[Kind, ...] = ("masked", "causal")
    published: bool = False  # True: reproduces published code, including its bugs
    languages: tuple[str, ...] = ("en",)  # of the words that it uses; empty: it uses none, and holds for any language
    # for a file of word vectors: the changed ones, and facts about the change
    change_vectors: Callable[[VectorPlan], tuple[WordVectors, dict[str, Any]]] | None = None
    # for a method that changes the input, not the model: measures it, in place of the checkpoint
    measure: Callable[[MitigationJob[Any]], Result] | None = None

    @property
    def trains(self) -> bool:
        """Whether it trains, and so needs text."""
        return issubclass(self.options, TrainSettings)

    @property
    def axes(self) -> tuple[str, ...]:
        """Whose words it can treat."""
        return literal_choices(get_type_hints(self.options).get("axis")) or ("gender",)
