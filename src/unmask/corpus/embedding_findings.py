"""Measures of vectors that were trained on a corpus several times: mean and spread over the trainings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unmask.core.estimate import Estimate
from unmask.findings import Cell, Finding, Plot, Section, Table, charts
from unmask.findings.numbers import number
from unmask.stats.trainings import pool_repeats
from unmask.vectors.findings import estimates_of
from unmask.vectors.spec import VectorMeasure, VectorResult

ALPHA = 0.05
Key = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class MeasureOverTrainings:
    """The results of one measure by seed."""

    measure: VectorMeasure
    results: Mapping[int, VectorResult]

    def by_key(self) -> dict[Key, dict[int, Estimate]]:
        """The estimates by what they are about, then by seed."""
        found: dict[Key, dict[int, Estimate]] = {}
        for seed, result in self.results.items():
            for estimate in estimates_of(result):
                found.setdefault(estimate.key, {})[seed] = estimate
        return found

    def means(self) -> list[Estimate]:
        """The mean of each number over the trainings; of one training the number itself."""
        return [_mean(estimates) for estimates in self.by_key().values()]


def _mean(estimates: Mapping[int, Estimate]) -> Estimate:
    first = next(iter(estimates.values()))
    if len(estimates) == 1:
        return first
    found = pool_repeats(list(estimates.values()), "trainings")
    about = {"measure": first.measure, "data": first.data, "statistic": first.statistic, "null": first.null}
    return Estimate.of(found, **about, n=first.n)


def training_estimates(measured: Sequence[MeasureOverTrainings]) -> Iterator[Estimate]:
    """The means over trainings, then those of each training with their intervals over words."""
    for each in measured:
        yield from each.means()
        for estimates in each.by_key().values():
            if len(estimates) > 1:
                yield from (replace(estimate, group=f"seed={seed}") for seed, estimate in estimates.items())


def training_sections(measured: Sequence[MeasureOverTrainings]) -> list[Section]:
    """A section for each measure."""
    return [
        Section(
            each.measure.name,
            each.measure.title,
            f"{each.measure.reads[:1].upper()}{each.measure.reads[1:]}.",
            _finding(each),
        )
        for each in measured
    ]


def _finding(measured: MeasureOverTrainings) -> Finding:
    by_key, name = measured.by_key(), measured.measure.name
    seeds = list(measured.results)
    columns = ("data", "statistic", "mean", "SD", f"p < {ALPHA}", *(f"seed {seed}" for seed in seeds))
    rows = []
    for (_, data, _, statistic), estimates in by_key.items():
        values = np.array([estimate.value for estimate in estimates.values()])
        spread: Cell = float(values.std(ddof=1)) if values.size > 1 else None
        tested = [estimate.p for estimate in estimates.values() if estimate.p is not None]
        below: Cell = f"{sum(p < ALPHA for p in tested)} of {len(tested)}" if tested else None
        own = [estimates.get(seed) for seed in seeds]
        rows.append((data, statistic, _mean(estimates), spread, below, *own))
    means = {f"{each.data} {each.statistic}": each for each in measured.means()}
    table = Table(f"{measured.measure.title} ({name}), by training", columns, tuple(rows), _NOTE)
    described = "; ".join(f"{label} {number(each.value)}" for label, each in means.items())
    chart = charts.intervals([charts.interval_row(label, each) for label, each in means.items()], axis=name, null=0.0)
    plot = Plot(f"{name}-trainings", f"{name}, mean over trainings", f"{name} by question: {described}.", chart)
    return Finding(tuple(_answers(name, means, len(seeds))), (table,), (plot,), tuple(_notes(measured)))


def _answers(name: str, means: Mapping[str, Estimate], trainings: int) -> Iterator[str]:
    over = f"{trainings} trainings" if trainings > 1 else "one training"
    for label, each in means.items():
        ends = f" (95%: {number(each.low)} to {number(each.high)})" if each.has_interval else ""
        yield f"{name}, {label}: {number(each.value)}{ends} over {over}."


def _notes(measured: MeasureOverTrainings) -> Iterator[str]:
    result = next(iter(measured.results.values()))
    for question, words in result.left_out:
        yield f"{question}: {len(words)} words without a vector left out: {', '.join(words[:12])}"
    for question, why in result.unanswered:
        yield f"{question} was not answered: {why}"
    if len(measured.results) == 1:
        yield "one training: another seed gives other vectors and another number; train several times (--seeds)"


_NOTE = (
    "Mean: its 95% interval covers the choice of words and what differs from training to training (Rubin's rules), "
    "with --bootstrap also the choice of documents. SD: between trainings. Each training: its own interval, over words."
)
