"""The meaning and source of every measure of a run, for the method section."""

from __future__ import annotations

from dataclasses import dataclass

from unmask.measures import MEASURES
from unmask.report.citations import source
from unmask.report.selection import Run, headlines


@dataclass(frozen=True, slots=True)
class Meaning:
    """Title, interpretation and source of a measure."""

    name: str
    title: str
    reads: str
    source: str


def meanings(run: Run) -> list[Meaning]:
    """The meaning of every measure of the run; only the name if this version does not know it."""
    return [_meaning(name) for name in dict.fromkeys(estimate.measure for estimate in headlines(run))]


def _meaning(name: str) -> Meaning:
    if name not in MEASURES:
        return Meaning(name, "", "a measure unknown to this version of unmask", "")
    measure = MEASURES[name]
    return Meaning(name, measure.title, measure.reads, source(measure.citation))


def in_nats(name: str) -> bool:
    """Whether its scores are sums of log-probabilities, so that the near-zero band applies."""
    return name in MEASURES and MEASURES[name].in_nats
