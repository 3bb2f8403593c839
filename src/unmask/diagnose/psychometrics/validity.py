"""`validity`: on models with known doses of bias, does each measure follow the dose of its bias type, and no other?"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from unmask.audit.session import has_field, measures_for
from unmask.core.errors import DataError, ModelError
from unmask.core.estimate import Estimate, Value
from unmask.core.options import option
from unmask.core.types import Dataset, Pair, Row
from unmask.diagnose.length import sentence_lengths
from unmask.diagnose.psychometrics.doses import (
    FEWEST,
    OCCUPATION,
    DosedModels,
    dosed_models,
    dosed_statistics,
    planted_rows,
    women_by_occupation,
)
from unmask.diagnose.scores import score_table
from unmask.diagnose.spec import Diagnosis, Observations, UnitOptions
from unmask.diagnose.words import data_frequencies, frequency_differences
from unmask.findings import Cell, Conclusion, Finding, Plot, Table
from unmask.measures import MEASURES, find, select_measures
from unmask.models.builtin import SIBLINGS

if TYPE_CHECKING:
    from unmask.audit.session import Session
    from unmask.stats.validity import Validity

SUMMARIES = ("share", "magnitude", "lean", "association")
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
CAVEATS = (
    "this holds for these models, bias types and items: a measure that follows these doses may not follow other "
    "biases, one that does not may follow a bias that was learnt otherwise, and of a measure that reads what was "
    "trained it is a manipulation check",
    "if `all-masked`, which sees no word of a sentence, follows a dose in either direction, training has moved "
    "more than the bias, and no correlation of another measure can be ascribed to the bias alone",
)
Differences = Mapping[str, float]  # by item: of the stereotyping sentence minus the other


@dataclass(frozen=True)
class ValidityOptions(UnitOptions):
    """Options of `validity`."""

    doses: Path | None = option(
        None, "Table of models and their doses (model, and a column for each bias type).", shown="the built-in siblings"
    )
    counts: Path | None = option(None, "Word counts (word, count) to use instead of wordfreq.")
    items: int = option(80, "Most items of a bias type on which models are scored.", least=2)


@dataclass(frozen=True, slots=True)
class DosedScores:
    """The rows of one model by measure and axis, and properties of the pairs that scores should not depend on."""

    rows: Mapping[str, Mapping[str, Sequence[Row]]]
    frequency: Differences
    length: Differences
    note: str = ""


@dataclass(frozen=True, slots=True)
class MeasureValidity:
    """One statistic of one measure on all bias types and data."""

    measure: str
    statistic: str
    parts: tuple[Validity, ...]
    frequency: tuple[Value, ...]  # correlations of differences with word frequency, by dataset
    length: tuple[Value, ...]  # and with sentence length

    @property
    def name(self) -> str:
        """The measure and the statistic in a sentence."""
        return f"{self.measure} ({self.statistic})"

    @property
    def mean_own(self) -> float:
        """Mean correlation with the own dose; -1 if there is none."""
        known = [part.own.value for part in self.parts if isfinite(part.own.value)]
        return fmean(known) if known else -1.0

    @property
    def bias_types(self) -> list[str]:
        """The bias types for which it follows the dose, and no other."""
        return [part.axis for part in self.parts if part.follows and part.is_specific]


def observe(session: Session, data: Dataset, options: ValidityOptions) -> DosedScores:
    """Score the items about each bias type of the doses with every measure that fits."""
    population = dosed_models(options.doses)
    population.of(session.lm.facts.id)
    kind, templates = session.lm.kind, has_field(data, "slot")
    parts = {axis: _part(data, axis, options) for axis in population.axes}
    named = options.measures or [name for name, measure in MEASURES.items() if kind in measure.kinds]
    rows: dict[str, dict[str, Sequence[Row]]] = {}
    for axis, part in parts.items():
        fit = [each for each in measures_for(part, select_measures(named, kind), kind) if each.summary in SUMMARIES]
        for name, items in session.scores(part, fit).items() if part.items else ():
            scored = [item.row for item in items]
            rows.setdefault(name, {})[axis] = planted_rows(scored) if templates else scored
    if templates or not rows:
        return DosedScores(rows, {}, {})
    asked = replace(data, items=tuple(item for part in parts.values() for item in part.items))
    lengths = {item: float(more - less) for item, (more, less) in sentence_lengths(asked, session.lm).items()}
    try:
        frequencies, note = frequency_differences(asked, data_frequencies(asked, options.counts)), ""
    except DataError as error:
        frequencies, note = {}, f"word frequency is left out: {error}"
    return DosedScores(rows, frequencies, lengths, note)


def _part(data: Dataset, axis: str, options: ValidityOptions) -> Dataset:
    """The items about a bias type: those of its category, of templates those about occupations; at most so many."""
    from unmask.core.seeds import generator

    women = women_by_occupation()
    about = [item for item in data.items if _is_about(item, axis, women)]
    if len(about) > options.items:
        rng = generator(options.seed, f"validity {data.card.name} {axis}")
        about = [about[number] for number in sorted(rng.choice(len(about), options.items, replace=False).tolist())]
    return replace(data, items=tuple(about))


def _is_about(item: Pair, axis: str, occupations: Container[str]) -> bool:
    if item.groups.get("slot"):
        return axis == OCCUPATION and item.groups.get("word") in occupations
    return item.groups.get("category") == axis


def unfit_reason(data: Dataset) -> str:
    """Why data say nothing about a bias type; empty if they do."""
    if has_field(data, "slot") or has_field(data, "category"):
        return ""
    return "its items have no category, so they cannot be matched with a dose"


def conclude(observations: Observations, options: ValidityOptions) -> Conclusion:
    """Which measure follows which bias, and the correlations behind it."""
    population = dosed_models(options.doses)
    observed = _by_model(observations, population)
    every = _validities(observed, population, options)
    notes = dict.fromkeys(each.result.note for each in observations if each.result.note)
    axes = population.axes
    tables = [Table.of("Which measure follows which bias?", (_record(each, axes) for each in every), FOLLOWS)]
    if len(axes) > 1:
        doses = (_dose_record(part, axes) for each in every for part in each.parts)
        tables.append(Table.of("Correlations with every dose", doses, EVERY_DOSE))
    return Conclusion(
        Finding(
            tuple(_answers(every, axes, len(observed))),
            tuple(tables),
            _plots(every),
            (*notes, *_notes(population, len(observed)), *CAVEATS),
        ),
        tuple(estimate for each in every for part in each.parts for estimate in _estimates(part)),
    )


def _by_model(observations: Observations, population: DosedModels) -> dict[str, dict[str, DosedScores]]:
    """By model and dataset, the models in the order of the table of doses; ModelError if they are too few."""
    observed: dict[str, dict[str, DosedScores]] = {}
    for each in observations:
        model, data = each.names
        observed.setdefault(model, {})[data] = each.result
    if len(observed) < FEWEST:
        raise ModelError(f"validity got {len(observed)} models, expected at least {FEWEST} with known doses")
    if not any(scores.rows for by_data in observed.values() for scores in by_data.values()):
        raise DataError(
            f"no item of the data has one of the categories {', '.join(population.axes)}, which the doses are about"
        )
    return {name: observed[name] for name in population.doses if name in observed}


def _validities(
    observed: Mapping[str, Mapping[str, DosedScores]], population: DosedModels, options: ValidityOptions
) -> list[MeasureValidity]:
    """Every measure and statistic with its parts by axis, the best first."""
    from unmask.stats.validity import validity

    doses = {axis: [population.of(name)[axis] for name in observed] for axis in population.axes}
    made: dict[tuple[str, str], MeasureValidity] = {}
    for data, scores in next(iter(observed.values())).items():
        for measure, by_axis in scores.rows.items():
            tables = {
                axis: [
                    score_table(each[data].rows[measure][axis], measure, data, options) for each in observed.values()
                ]
                for axis in by_axis
            }
            for name in dosed_statistics(measure):
                known = [validity(tables[axis], name, doses, axis=axis, seed=options.seed) for axis in tables]
                parts = tuple(part for part in known if part is not None)
                before = made.get((measure, name), MeasureValidity(measure, name, (), (), ()))
                made[measure, name] = replace(
                    before,
                    parts=(*before.parts, *parts),
                    frequency=(*before.frequency, _relation(parts, scores, scores.frequency, options)),
                    length=(*before.length, _relation(parts, scores, scores.length, options)),
                )
    return sorted((each for each in made.values() if each.parts), key=lambda each: -each.mean_own)


def _relation(parts: Sequence[Validity], scores: DosedScores, by: Differences, options: ValidityOptions) -> Value:
    """Correlation of the pairs' mean difference over all models with a property of the pairs."""
    import numpy as np

    from unmask.stats.regression import correlation
    from unmask.stats.units import INDEPENDENT, units_of_items

    groups = {row.item: row.groups for rows in scores.rows.values() for scored in rows.values() for row in scored}
    known = {item: value for part in parts for item, value in part.mean_difference.items() if item in by}
    x, y = np.array([by[item] for item in known], float), np.array([*known.values()], float)
    if parts and find(parts[0].measure).summary == "magnitude":
        x, y = np.abs(x), np.abs(y)
    units = INDEPENDENT if options.independent else units_of_items([groups[item] for item in known])
    return correlation([x], [y], units=units)


def _estimates(part: Validity) -> Iterator[Estimate]:
    """The correlation with the own dose, how much larger it is than with others, and the reliability."""
    what = {"measure": f"validity/{part.measure}", "data": part.data, "group": f"category={part.axis}"}
    for name, value in {"dose": part.own, "dose-margin": part.margin}.items():
        yield Estimate.of(value, **what, n=part.scores.size, null=0.0, statistic=f"{part.statistic}-{name}")
    yield Estimate.of(part.reliability, **what, n=part.items, statistic=f"{part.statistic}-reliability")


def _record(each: MeasureValidity, axes: Sequence[str]) -> dict[str, Cell]:
    """A row of the table of what is followed."""
    correlations = {part.axis: part.own for part in each.parts}
    return {
        "measure": each.measure,
        "statistic": each.statistic,
        **{f"r {axis}": correlations.get(axis) for axis in axes},
        "margin": _least(part.margin for part in each.parts),
        "reliability": _least(part.reliability for part in each.parts),
        "frequency": _strongest(each.frequency),
        "length": _strongest(each.length),
        "follows": ", ".join(each.bias_types) or NOT_SHOWN,
    }


def _least(values: Iterable[Value]) -> Value | None:
    return min((each for each in values if isfinite(each.value)), key=lambda each: each.value, default=None)


def _strongest(values: Iterable[Value]) -> Value | None:
    return max((each for each in values if isfinite(each.value)), key=lambda each: abs(each.value), default=None)


def _dose_record(part: Validity, axes: Sequence[str]) -> dict[str, Cell]:
    """A row of the table of correlations with every dose."""
    doses = {part.axis: part.own, **part.others}
    return {
        "measure": part.measure,
        "statistic": part.statistic,
        "scored on": part.axis,
        "data": part.data,
        "items": part.items,
        **{f"dose of {axis}": doses[axis] for axis in axes},
        "margin": part.margin,
        "reliability": part.reliability,
    }


def _answers(every: Sequence[MeasureValidity], axes: Sequence[str], models: int) -> Iterator[str]:
    """The best measure on every bias type, and the others by what is shown of them."""
    from unmask.findings import sentences

    yield f"{models} models with known doses on {len(axes)} bias types: {', '.join(axes)}"
    if not every:
        return
    shown = [each for each in every if any(part.follows for part in each.parts)]
    for part in shown[0].parts if shown else ():
        yield sentences.correlation(f"best, {shown[0].name} on {part.axis}: score and dose", part.own)
    lacking = [each.name for each in every if each not in shown]
    mixed = [
        f"{each.name} on {part.axis}" for each in every for part in each.parts if part.follows and not part.is_specific
    ]
    yield f"no positive relation with any dose shown: {', '.join(lacking) or 'none'}"
    if len(axes) > 1:
        yield f"related to their dose, but not clearly more than to another: {', '.join(mixed) or 'none'}"


def _notes(population: DosedModels, models: int) -> Iterator[str]:
    import numpy as np

    doses = {axis: [of_model[axis] for of_model in population.doses.values()] for axis in population.axes}
    spans = [f"{axis} {min(values):g} to {max(values):g}" for axis, values in doses.items()]
    yield f"doses: {', '.join(spans)}"
    if len(doses) > 1:
        between = np.corrcoef([*doses.values()]) - np.eye(len(doses))
        yield f"the largest correlation between the doses of two bias types is {np.abs(between).max():.2f}"
    if models < len(population.doses):
        yield f"{models} of the {len(population.doses)} models of the table were scored"


def _plots(every: Sequence[MeasureValidity]) -> tuple[Plot, ...]:
    from unmask.findings import charts

    points = [
        (f"{each.measure} · {each.statistic}", part.own, part.axis)
        for each in every
        for part in each.parts
        if part.own.has_interval
    ]
    alt = "Correlation of every measure's score with the dose of its bias type, with intervals; the best measure first."
    return charts.interval_plots("validity", "Correlation with the planted dose", alt, points, axis="r", null=0.0)


def _named_models(options: ValidityOptions) -> tuple[str, ...]:
    """The models of the table of doses."""
    return tuple(dosed_models(options.doses).references.values())


VALIDITY = Diagnosis(
    name="validity",
    title="Validity on models with known doses",
    question="Which measure follows the bias it is about, and no other?",
    observe=observe,
    conclude=conclude,
    options=ValidityOptions,
    order=14,
    unfit_reason=unfit_reason,
    data=("nine-axes", "triple-gender", "pronoun-templates"),
    models=SIBLINGS,
    named_models=_named_models,
    citation="campbell-fiske-1959-convergent",
)
