"""Types of a diagnosis: its settings, its observation of one model on one dataset, and itself.

models × data ──► observe (runs the model) ──► DiagnosisObservation ──► conclude (no model needed) ──► Finding
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
    """User settings of diagnoses; each diagnosis uses those that apply to it."""

    measures: tuple[str, ...] = ()  # names; if empty, those that suit the model and the data
    seed: int = 0
    draws: int = 10  # shuffles of each sentence; samples of each size
    votes: int = 3  # a pair is biased if more than so many of six people say so
    band: float = 0.25  # differences at most this far from zero are "nearly equally likely"
    counts: Path | None = None  # file of word counts to use instead of wordfreq
    effect: float = 5.0  # points of bias score a study should be able to detect


@dataclass(frozen=True, slots=True)
class DiagnosisObservation:
    """What a diagnosis observed for one model on one dataset."""

    model: Mapping[str, Any]  # the model's facts
    data: Dataset
    result: Any


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A question about measures, with functions to observe a model and to draw conclusions."""

    name: str
    title: str
    question: str  # one plain sentence
    observe: Callable[[Session, Dataset, DiagnosisSettings], Any]
    conclude: Callable[[Sequence[DiagnosisObservation], DiagnosisSettings], Finding]
    citation: str  # BibTeX key in docs/references.bib
    unfit_reason: Callable[[Dataset], str] = field(
        default=lambda _: ""
    )  # why the data are unsuitable; empty if they fit
    data: tuple[str, ...] = ("nine-axes",)  # used if no data are given, or none that fit
    models: tuple[str, ...] = ()  # used if no models are given
    kinds: tuple[Kind, ...] = ("masked", "causal")
