"""Data types of mitigation: options, method, outcome.

corpus ──► method.apply (changes a model's weights) ──► Outcome ──► checkpoint, mitigation.json ──► comparison
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmask.core.errors import DataError
from unmask.core.types import Kind
from unmask.data.texts import TrainingCorpus
from unmask.training import ProgressCallback, TrainResult, TrainSettings

if TYPE_CHECKING:
    from unmask.models import Engine, Lm


@dataclass(frozen=True, slots=True)
class MitigationOptions:
    """Options of all methods; each method reads those that apply to it."""

    axis: str = "gender"  # of the words that are swapped: gender, race, religion
    names: bool | None = None  # swap first names too; None: the default of the method
    pairs: Path | None = None  # CSV or TSV of word pairs; None: the pairs shipped with the package
    remind: int = 0  # how many times the reminders (sentences on gendered words) are added
    layers: str = "all"  # `at`: all, last
    level: str = "token"  # `at`: token, sentence
    length: int = 128  # tokens per row
    layer: int = -1  # erasers: the layer whose hidden states are changed; 0 is the embeddings
    strength: float = (
        0.2  # `at`: weight of the projection loss; the preservation loss has weight 1 - strength
    )

    def __post_init__(self) -> None:
        """Validate the values."""
        allowed = {
            "axis": ("gender", "race", "religion"),
            "layers": ("all", "last"),
            "level": ("token", "sentence"),
        }
        for name, known in allowed.items():
            if getattr(self, name) not in known:
                raise DataError(f"{name} is {getattr(self, name)!r}, expected {' or '.join(known)}")
        if not 0 <= self.remind <= 3:
            raise DataError(
                f"remind is {self.remind}, expected 0 to 3 (how many times the reminders are added)"
            )
        if self.length < 8:
            raise DataError(f"length is {self.length}, expected at least 8 tokens per row")
        if not 0 < self.strength < 1:
            raise DataError(f"strength is {self.strength:g}, expected a weight between 0 and 1")


@dataclass(frozen=True, slots=True)
class MitigationContext:
    """What a method works with: the model to change, its settings and options."""

    engine: Engine
    folder: Path  # for checkpoints to resume from
    settings: TrainSettings
    options: MitigationOptions
    progress: ProgressCallback | None = None

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
        """Is it a causal model?"""
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
    settings: TrainSettings = field(default_factory=TrainSettings)
    axes: tuple[str, ...] = ("gender",)  # whose words it can swap
    trains: bool = True  # False: needs no training text
