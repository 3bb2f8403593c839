"""What every measure of a run means and where it comes from, for the method section."""

from __future__ import annotations

from dataclasses import dataclass

from unmask.measures import MEASURES
from unmask.report.citations import source
from unmask.report.selection import Run, headlines


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a measure is."""

    name: str
    title: str
    reads: str
    source: str


def meanings(run: Run) -> list[Meaning]:
    """The meaning of every measure of the run; of one this version does not know, only the name."""
    return [_meaning(name) for name in dict.fromkeys(estimate.measure for estimate in headlines(run))]


def _meaning(name: str) -> Meaning:
    if name not in MEASURES:
        return Meaning(name, "", "not a measure this version of unmask knows", "")
    measure = MEASURES[name]
    return Meaning(name, measure.title, measure.reads, source(measure.citation))


def in_nats(name: str) -> bool:
    """Are this measure's scores sums of log-probabilities, so that the band of near-equality applies?"""
    return name in MEASURES and MEASURES[name].in_nats
