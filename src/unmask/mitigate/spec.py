"""The nouns of mitigation: text to learn from, what a user may choose, a method, what it did to a model.

corpus ──► method.apply (changes a model's weights) ──► Outcome ──► checkpoint, mitigation.json ──► judged
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmask.core.errors import DataError
from unmask.core.types import Kind
from unmask.training import ProgressCallback, TrainResult, TrainSettings

if TYPE_CHECKING:
    from unmask.models import Engine, Lm

Document = tuple[str, ...]  # its sentences


@dataclass(frozen=True, slots=True)
class TrainingCorpus:
    """Documents to learn from, others kept to test with, and where they come from."""

    documents: tuple[Document, ...]
    held_out: tuple[Document, ...]
    files: tuple[Mapping[str, Any], ...] = ()  # name, sha256, documents of each

    @property
    def sentences(self) -> list[str]:
        """All sentences to learn from."""
        return [one for document in self.documents for one in document]

    @property
    def held_out_sentences(self) -> list[str]:
        """All sentences kept to test with."""
        return [one for document in self.held_out for one in document]


@dataclass(frozen=True, slots=True)
class MitigationOptions:
    """What a user can tell a method; each reads what concerns it."""

    axis: str = "gender"  # whose words are exchanged: gender, race, religion
    names: bool | None = None  # exchange first names too; None: as the method is known to
    pairs: Path | None = None  # word pairs in the place of the package's
    remind: int = 0  # how often the sentences on words that have a gender are added
    layers: str = "all"  # `at`: all, last
    level: str = "token"  # `at`: token, sentence
    length: int = 128  # tokens of a row
    layer: int = -1  # erasers: the layer whose states are changed; 0 is what enters the first
    strength: float = 0.2  # `at`: weight of the projection loss; the other keeps the rest

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        allowed = {
            "axis": ("gender", "race", "religion"),
            "layers": ("all", "last"),
            "level": ("token", "sentence"),
        }
        for name, known in allowed.items():
            if getattr(self, name) not in known:
                raise DataError(f"--{name} {getattr(self, name)}: give {' or '.join(known)}")
        if not 0 <= self.remind <= 3:
            raise DataError(f"--remind {self.remind}: give 0 to 3, how often the reminders are added")
        if self.length < 8:
            raise DataError(f"--length {self.length}: give at least 8 tokens a row")
        if not 0 < self.strength < 1:
            raise DataError(f"--strength {self.strength:g}: give a weight between 0 and 1")


@dataclass(frozen=True, slots=True)
class MitigationContext:
    """A model about to be changed: its weights, and a way to ask it before they are."""

    engine: Engine
    folder: Path  # for checkpoints to go on from
    settings: TrainSettings
    options: MitigationOptions
    progress: ProgressCallback | None = None

    @property
    def lm(self) -> Lm:
        """The model as measures see it."""
        return self.engine.lm

    @property
    def model(self) -> Any:
        """The model as torch sees it."""
        return self.engine.lm.network.model

    @property
    def causal(self) -> bool:
        """Is it a causal model?"""
        return self.lm.kind == "causal"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A model changed, and what there is to say of how."""

    model: Any
    facts: Mapping[str, Any] = field(default_factory=dict)  # counts of texts, of words, of copies …
    trained: TrainResult | None = None  # None: nothing was trained


@dataclass(frozen=True, slots=True)
class Method:
    """A mitigation: what it does, to what kind of model, and whose behaviour it repeats."""

    name: str
    title: str
    about: str  # one plain sentence
    apply: Callable[[MitigationContext, TrainingCorpus], Outcome]
    citation: str  # BibTeX key in docs/references.bib
    kinds: tuple[Kind, ...] = ("masked", "causal")
    published: bool = False  # True: published code as it is, its mistakes included
    settings: TrainSettings = field(default_factory=TrainSettings)
    axes: tuple[str, ...] = ("gender",)  # whose words it can exchange
    trains: bool = True  # learns from text; False: can do without any
