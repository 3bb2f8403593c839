"""Data types of mitigation: options, method, outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from unmask.core.errors import DataError, quote
from unmask.core.options import check_values, option
from unmask.core.progress import Progress
from unmask.training import TrainResult, TrainSettings

if TYPE_CHECKING:
    from unmask.core.types import Kind
    from unmask.data.texts import TrainingCorpus
    from unmask.models import Engine, Lm
    from unmask.vectors.static import WordVectors


@dataclass(frozen=True, slots=True)
class MitigationOptions:
    """Options of all methods; each method reads those that apply to it."""

    axis: Literal["gender", "race", "religion"] = option(
        "gender", "Groups whose words are swapped: gender, race or religion."
    )
    names: bool | None = option(None, "Swap first names.", flag="--names/--no-names", shown="cds only")
    name_table: Path | None = option(
        None, "First names to swap: pairs, or a name, M or F, and a count per line.", shown="the package's names"
    )
    pairs: Path | None = option(None, "CSV of word pairs to swap.", shown="the package's pairs")
    train_pairs: Path = option(Path("nine-axes"), "aul-loss: dataset or file of pairs of sentences to train on.")
    remind: int = option(0, "Add the reminder sentences to the training text this many times (1 to 3).", least=0)
    word: str | None = option(None, "With --remind: only the reminders of this word.", shown="all words")
    layers: Literal["all", "last"] = option("all", "at: layers of the projection loss, all or last.")
    level: Literal["token", "sentence"] = option("token", "at: level of the projection loss, token or sentence.")
    length: int = option(128, "Tokens per training sequence.", least=8)
    layer: int = option(-1, "Erasers: layer whose hidden states are changed; 0 is the embedding layer, -1 the last.")
    lora: bool = option(
        False, "Train a LoRA adapter instead of all weights; saved in OUT/adapter, and merged into the checkpoint."
    )
    rank: int = option(16, "With --lora: rank of the adapter.", least=1, most=4096)
    strength: float = option(
        0.2, "at, aul-loss: weight of the bias term of the loss; the preserving term has the rest."
    )
    items: int | None = option(
        None, "Evaluate on N items of each dataset, sampled by category and direction.", shown="all", least=30
    )
    data_dir: Path | None = option(None, "Folder of datasets.")

    def __post_init__(self) -> None:
        """Refuse invalid values."""
        check_values(self)
        if self.name_table is not None and self.names is False:
            raise DataError("--no-names and --name-table exclude each other: give one of them")
        if self.remind > 3:
            raise DataError(f"remind is {self.remind}, expected 0 to 3 (how often the reminders are added)")
        if self.word and not self.remind:
            raise DataError(
                f"word {quote(self.word)} chooses reminders, but none are added: give --remind 1, 2 or 3 too"
            )
        if not 0 < self.strength < 1:
            raise DataError(f"strength is {self.strength:g}, expected a weight between 0 and 1")


@dataclass(frozen=True, slots=True)
class StaticOptions:
    """Options of the erasers for a file of word vectors."""

    keep: Path | None = option(
        None, "Word vectors: words to leave unchanged, one per line or a JSON list.", shown="words that have a gender"
    )
    equalise: Path | None = option(
        None, "Word vectors, projection: pairs to equalise, CSV or JSON.", shown="the package's pairs"
    )
    neutralise_only: bool = option(False, "Word vectors, projection: equalise no pairs.")
    rounds: int | None = option(
        None, "Word vectors, inlp: number of classifiers (published: 35).", shown="until one is at chance", least=1
    )
    extreme: int = option(7500, "Word vectors, inlp: most biased words per gender to fit on.", least=20)
    neutral: Path | None = option(
        None, "Word vectors: words that should be neutral, one per line.", shown="165 occupations"
    )
    similarity: Path | None = option(None, "Word vectors: CSV of two words and their similarity; measured too.")
    lower: bool = option(False, "Word vectors: look words up in lower case (GloVe 6B).")

    def __post_init__(self) -> None:
        """Refuse invalid values."""
        check_values(self)
        if self.neutralise_only and self.equalise is not None:
            raise DataError("--equalise and --neutralise-only exclude each other: give one of them")


@dataclass(frozen=True, slots=True)
class StaticPlan:
    """What an eraser of word vectors works with; all words of it have a vector."""

    vectors: WordVectors
    pairs: tuple[tuple[str, str], ...]  # of which the direction is that of gender, masculine words first
    keep: frozenset[str]  # words that stay as they are
    equalise: tuple[tuple[str, str], ...]
    neutral: tuple[str, ...]
    options: StaticOptions
    seed: int


@dataclass(frozen=True, slots=True)
class MitigationContext:
    """What a method works with: the model to change, its settings and options."""

    engine: Engine
    folder: Path  # for checkpoints to resume from
    settings: TrainSettings
    options: MitigationOptions
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


@dataclass(frozen=True, slots=True)
class Method:
    """A mitigation: what it does, the kinds of models it supports, and the paper it follows."""

    name: str
    title: str
    about: str  # one plain sentence
    apply: Callable[[MitigationContext, TrainingCorpus], Outcome]
    citation: str  # BibTeX key in docs/references.bib
    kinds: tuple[Kind, ...] = ("masked", "causal")
    published: bool = False  # True: reproduces published code, including its bugs
    axes: tuple[str, ...] = ("gender",)  # whose words it can swap
    languages: tuple[str, ...] = ("en",)  # of the words that it uses; empty: it uses none, and holds for any language
    trains: bool = True  # False: needs no training text
    # for a file of word vectors: the changed ones, and facts about the change
    change_vectors: Callable[[StaticPlan], tuple[WordVectors, dict[str, Any]]] | None = None
    saves: bool = True  # False: changes the input, not the model, so there is no checkpoint
    adapts: bool = True  # False: trains another model than the one it is given, which therefore takes no adapter
    pairs: bool = False  # True: trains on pairs of sentences too, those of the option `train_pairs`
