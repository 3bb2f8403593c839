"""Data types of mitigation: options, method, outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from unmask.core.errors import DataError
from unmask.core.options import check_values, option
from unmask.core.progress import Progress
from unmask.training import TrainResult, TrainSettings

if TYPE_CHECKING:
    from unmask.core.types import Kind
    from unmask.data.texts import TrainingCorpus
    from unmask.models import Engine, Lm


@dataclass(frozen=True, slots=True)
class MitigationOptions:
    """Options of all methods; each method reads those that apply to it."""

    axis: Literal["gender", "race", "religion"] = option(
        "gender", "Groups whose words are swapped: gender, race or religion."
    )
    names: bool | None = option(None, "Swap first names.", flag="--names/--no-names", shown="cds only")
    pairs: Path | None = option(None, "CSV of word pairs to swap.", shown="the package's pairs")
    remind: int = option(0, "Add the reminder sentences to the training text this many times (1 to 3).", least=0)
    layers: Literal["all", "last"] = option("all", "at: layers of the projection loss, all or last.")
    level: Literal["token", "sentence"] = option("token", "at: level of the projection loss, token or sentence.")
    length: int = option(128, "Tokens per training sequence.", least=8)
    layer: int = option(-1, "Erasers: layer whose hidden states are changed; 0 is the embedding layer, -1 the last.")
    strength: float = option(0.2, "at: weight of the projection loss; the preservation loss has the rest.")

    def __post_init__(self) -> None:
        """Refuse invalid values."""
        check_values(self)
        if self.remind > 3:
            raise DataError(f"remind is {self.remind}, expected 0 to 3 (how often the reminders are added)")
        if not 0 < self.strength < 1:
            raise DataError(f"strength is {self.strength:g}, expected a weight between 0 and 1")


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
    trains: bool = True  # False: needs no training text
