"""The tables of `validity`: which bias each measure follows, and the correlations behind it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from unmask.core.estimate import Value
from unmask.diagnose.doses import DosedModels
from unmask.findings import Cell, Finding, Plot, Table, charts
from unmask.findings.numbers import number
from unmask.stats.validity import Validity

FOLLOWS = (
    "r: correlation of the score with the dose of its bias type over the models (asld: with its size), intervals over "
    "models and items. Margin: by how much the correlation with the own dose exceeds the largest with another, at the "
    "bias type where it is smallest. Reliability: share of the variance between models that other items would give "
    "again, the lowest of the bias types. Frequency, length: correlation of the pairs' mean difference over all models "
    "with the difference of their changed words in log frequency and of the sentences in tokens, over the units of the "
    "data; 0 if a score does not depend on them. Follows: the bias types whose dose the score follows, and follows "
    "more than any other, both beyond chance."
)
NOT_SHOWN = "not shown"
EVERY_DOSE = (
    "Correlations of a score over the items of one bias type with the doses of all; own: of that bias type (convergent "
    "validity), the others should be near 0 (discriminant validity). The doses of the models are given in the notes."
)


@dataclass(frozen=True, slots=True)
class MeasureValidity:
    """One statistic of one measure on all bias types and data."""

    measure: str
    statistic: str
    parts: tuple[Validity, ...]
    properties: tuple[tuple[Value, Value], ...]  # correlations with word frequency and with length, by dataset

    @property
    def mean_own(self) -> float:
        """Mean correlation with the own dose; -1 if there is none."""
        known = [part.own.value for part in self.parts if np.isfinite(part.own.value)]
        return float(np.mean(known)) if known else -1.0

    @property
    def bias_types(self) -> list[str]:
        """The bias types for which it follows the dose, and no other."""
        return [part.axis for part in self.parts if part.follows and part.is_specific]

    def strongest(self, number: int) -> Value | None:
        """The largest correlation with word frequency (0) or length (1) among the datasets; None if there is none."""
        known = [pair[number] for pair in self.properties if np.isfinite(pair[number].value)]
        return max(known, key=lambda value: abs(value.value), default=None)


def finding(every: Sequence[MeasureValidity], population: DosedModels, models: int, notes: tuple[str, ...]) -> Finding:
    """The answers, the table of what is followed, the correlations with every dose, and a plot."""
    several = len(population.axes) > 1
    return Finding(
        tuple(_answers(every, population, models)),
        (_table_of_follows(every, population), *((_dose_table(every, population),) if several else ())),
        _plots(every),
        (*notes, *_notes(population, models)),
    )


def _table_of_follows(every: Sequence[MeasureValidity], population: DosedModels) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for each in every:
        own = {part.axis: part.own for part in each.parts}
        margins = [part.margin for part in each.parts if np.isfinite(part.margin.value)]
        reliabilities = [part.reliability for part in each.parts if np.isfinite(part.reliability.value)]
        rows.append(
            (
                each.measure,
                each.statistic,
                *(own.get(axis) for axis in population.axes),
                min(margins, key=lambda value: value.value, default=None),
                min(reliabilities, key=lambda value: value.value, default=None),
                each.strongest(0),
                each.strongest(1),
                ", ".join(each.bias_types) or NOT_SHOWN,
            )
        )
    axes = tuple(f"r {axis}" for axis in population.axes)
    columns = ("measure", "statistic", *axes, "margin", "reliability", "frequency", "length", "follows")
    return Table("Which measure follows which bias?", columns, tuple(rows), FOLLOWS)


def _dose_table(every: Sequence[MeasureValidity], population: DosedModels) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for part in (part for each in every for part in each.parts):
        doses = {part.axis: part.own, **part.others}
        cells = (*(doses[axis] for axis in population.axes), part.margin, part.reliability)
        rows.append((part.measure, part.statistic, part.axis, part.data, part.items, *cells))
    axes = tuple(f"dose of {axis}" for axis in population.axes)
    columns = ("measure", "statistic", "scored on", "data", "items", *axes, "margin", "reliability")
    return Table("Correlations with every dose", columns, tuple(rows), EVERY_DOSE)


def _answers(every: Sequence[MeasureValidity], population: DosedModels, models: int) -> Iterator[str]:
    axes = population.axes
    yield f"{models} models with known doses on {len(axes)} bias types: {', '.join(axes)}"
    if not every:
        return
    best = next((each for each in every if any(part.follows for part in each.parts)), None)
    yield f"follows the doses best: {_describe(best)}" if best else "no measure is shown to follow a dose"
    others = [f"{each.measure} ({each.statistic})" for each in every if not any(part.follows for part in each.parts)]
    yield f"not shown to follow a dose: {', '.join(others) or 'none'}"
    mixed = [
        f"{part.measure} ({part.statistic}) on {part.axis}"
        for each in every
        for part in each.parts
        if part.follows and not part.is_specific
    ]
    if len(axes) > 1:
        yield f"follow their dose, but not clearly more than another: {', '.join(mixed) or 'none'}"


def _describe(each: MeasureValidity) -> str:
    parts = "; ".join(f"{part.axis} {_ends(part.own)}" for part in each.parts)
    return f"{each.measure} ({each.statistic}), r {parts}"


def _ends(value: Value) -> str:
    ends = f" ({number(value.low)} to {number(value.high)})" if value.has_interval else ""
    return f"{number(value.value)}{ends}"


def _notes(population: DosedModels, models: int) -> Iterator[str]:
    doses = np.array([[own[axis] for axis in population.axes] for own in population.doses.values()])
    spans = [
        f"{axis} {low:g} to {high:g}"
        for axis, low, high in zip(population.axes, doses.min(0), doses.max(0), strict=True)
    ]
    yield f"doses: {', '.join(spans)}"
    if doses.shape[1] > 1:
        between = np.corrcoef(doses.T) - np.eye(doses.shape[1])
        yield f"the largest correlation between the doses of two bias types is {np.abs(between).max():.2f}"
    if models < len(population.doses):
        yield f"{models} of the {len(population.doses)} models of the table were scored"
    yield (
        "this holds for these models, bias types and items: a measure that follows these doses may not follow other "
        "biases, one that does not may follow a bias that was learnt otherwise, and of a measure that reads what was "
        "trained it is a manipulation check"
    )
    yield (
        "if `all-masked`, which sees no word of a sentence, follows a dose in either direction, training has moved "
        "more than the bias, and no correlation of another measure can be ascribed to the bias alone"
    )


def _plots(every: Sequence[MeasureValidity]) -> tuple[Plot, ...]:
    points = [
        (f"{each.measure} · {each.statistic}", part.own, part.axis)
        for each in every
        for part in each.parts
        if part.own.has_interval
    ]
    alt = "Correlation of every measure's score with the dose of its bias type, with intervals; the best measure first."
    return charts.interval_plots("validity", "Correlation with the planted dose", alt, points, axis="r", null=0.0)
