"""The nouns of a diagnosis: what it asks, what it saw of one model, and what it concludes.

models × data ──► observe (asks the model) ──► Seen ──► conclude (no model needed) ──► Finding
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmask.core.types import Dataset, Kind
from unmask.findings import Finding

if TYPE_CHECKING:
    from unmask.audit.session import Session


@dataclass(frozen=True, slots=True)
class DiagnosisSettings:
    """What a user can tell a diagnosis; each reads what concerns it."""

    measures: tuple[str, ...] = ()  # names; none: those that suit the model and the data
    seed: int = 0
    draws: int = 10  # shuffles of a sentence's words; samples of each size
    votes: int = 3  # a pair is seen as biased by more than so many of its six annotators
    band: float = 0.25  # differences at most this far from zero are "nearly equally likely"
    counts: Path | None = None  # word counts to use in the place of wordfreq's
    effect: float = 5.0  # points of bias score a study wants to be able to see


@dataclass(frozen=True, slots=True)
class DiagnosisObservation:
    """What one diagnosis observed of one model on one dataset."""

    model: Mapping[str, Any]  # the model's facts
    data: Dataset
    result: Any


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A question about measures, how to look, and how to conclude."""

    name: str
    title: str
    question: str  # one plain sentence
    observe: Callable[[Session, Dataset, DiagnosisSettings], Any]
    conclude: Callable[[Sequence[DiagnosisObservation], DiagnosisSettings], Finding]
    citation: str  # BibTeX key in docs/references.bib
    unfit_reason: Callable[[Dataset], str] = field(default=lambda _: "")  # why it cannot read this data
    data: tuple[str, ...] = ("nine-axes",)  # read where none was named, or none named can be read
    models: tuple[str, ...] = ()  # asked where none was named
    kinds: tuple[Kind, ...] = ("masked", "causal")
