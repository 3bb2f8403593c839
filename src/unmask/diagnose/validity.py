"""`validity`: on models with known doses of bias, does each measure follow the dose of its bias type, and no other?"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from unmask.audit.session import Session, has_field, measures_for
from unmask.core.errors import DataError, ModelError
from unmask.core.estimate import Estimate, Value
from unmask.core.seeds import generator
from unmask.core.types import Dataset, Pair, Row
from unmask.data.language import guess_language, language_of
from unmask.diagnose.calibration import dosed_statistics, planted_rows, women_by_occupation
from unmask.diagnose.doses import FEWEST, OCCUPATION, DosedModels, dosed_models
from unmask.diagnose.frequency import frequency_differences
from unmask.diagnose.length import sentence_lengths
from unmask.diagnose.spec import DiagnosisObservation, DiagnosisSettings, Observations
from unmask.diagnose.validity_tables import MeasureValidity, finding
from unmask.diagnose.word_frequencies import COUNTS, frequencies_for
from unmask.findings import Finding
from unmask.measures import MEASURES, find, select_measures
from unmask.stats.regression import correlation
from unmask.stats.table import ScoreTable
from unmask.stats.units import INDEPENDENT, units_of_items
from unmask.stats.validity import Validity, validity

SUMMARIES = ("share", "magnitude", "lean", "association")
Differences = Mapping[str, float]  # by item: of the stereotyping sentence minus the other


@dataclass(frozen=True, slots=True, eq=False)
class DosedScores:
    """The rows of one model by measure and axis, and properties of the pairs that scores should not depend on."""

    rows: Mapping[str, Mapping[str, Sequence[Row]]]
    frequency: Differences
    length: Differences
    note: str = ""


def observe(session: Session, data: Dataset, settings: DiagnosisSettings) -> DosedScores:
    """Score the items about each bias type of the doses with every measure that fits."""
    population = dosed_models(settings.doses)
    population.of(session.lm.facts.id)
    kind, templates = session.lm.kind, has_field(data, "slot")
    parts = {axis: _part(data, axis, settings) for axis in population.axes}
    named = settings.measures or [name for name, measure in MEASURES.items() if kind in measure.kinds]
    rows: dict[str, dict[str, Sequence[Row]]] = {}
    for axis, part in parts.items():
        fit = [each for each in measures_for(part, select_measures(named, kind), kind) if each.summary in SUMMARIES]
        for name, items in session.scores(part, fit).items() if part.items else ():
            scored = [item.row for item in items]
            rows.setdefault(name, {})[axis] = planted_rows(scored, templates=True) if templates else scored
    if templates or not rows:
        return DosedScores(rows, {}, {})
    asked = replace(data, items=tuple(item for part in parts.values() for item in part.items))
    return _with_properties(rows, asked, session, settings)


def conclude(observations: Observations, settings: DiagnosisSettings) -> Finding:
    """Which measure follows which bias, and the correlations behind it."""
    population = dosed_models(settings.doses)
    observed = _by_model(observations, population)
    notes = tuple(dict.fromkeys(each.result.note for each in observations if each.result.note))
    return finding(_validities(tuple(observations), settings), population, len(observed), notes)


def estimates(observations: Observations, settings: DiagnosisSettings) -> list[Estimate]:
    """Correlations with the own dose, how much larger they are than with others, and reliabilities."""
    every = []
    for each in _validities(tuple(observations), settings):
        for part in each.parts:
            what = {"measure": f"validity/{part.measure}", "data": part.data, "group": f"category={part.axis}"}
            numbers = {"n": part.scores.size, "null": 0.0}
            values = {"dose": part.own, "dose-margin": part.margin}
            every += [
                Estimate.of(value, **what, **numbers, statistic=f"{part.statistic}-{name}")
                for name, value in values.items()
            ]
            every.append(Estimate.of(part.reliability, **what, n=part.items, statistic=f"{part.statistic}-reliability"))
    return every


def unfit_reason(data: Dataset) -> str:
    """Why data say nothing about a bias type; empty if they do."""
    if has_field(data, "slot") or has_field(data, "category"):
        return ""
    return "its items have no category, so they cannot be matched with a dose"


@lru_cache(maxsize=1)  # for the finding and the estimates
def _validities(observations: tuple[DiagnosisObservation, ...], settings: DiagnosisSettings) -> list[MeasureValidity]:
    """Every measure and statistic with its parts by axis, the best first."""
    population = dosed_models(settings.doses)
    observed = _by_model(observations, population)
    doses = {axis: [population.of(name)[axis] for name in observed] for axis in population.axes}
    first = next(iter(observed.values()))
    made: dict[tuple[str, str], list[Validity]] = {}
    properties: dict[tuple[str, str], list[tuple[Value, Value]]] = {}
    for data, scores in first.items():
        for measure, by_axis in scores.rows.items():
            by_table = {
                axis: [
                    ScoreTable.of(
                        find(measure), own[data].rows[measure][axis], data=data, independent=settings.independent
                    )
                    for own in observed.values()
                ]
                for axis in by_axis
            }
            for statistic in dosed_statistics(measure):
                parts = [
                    part
                    for axis, tables in by_table.items()
                    if (part := validity(tables, statistic, doses, axis=axis, seed=settings.seed)) is not None
                ]
                made.setdefault((measure, statistic), []).extend(parts)
                properties.setdefault((measure, statistic), []).append(_properties(parts, scores, settings))
    every = [MeasureValidity(*key, tuple(parts), tuple(properties[key])) for key, parts in made.items() if parts]
    return sorted(every, key=lambda each: -each.mean_own)


def _properties(parts: Sequence[Validity], scores: DosedScores, settings: DiagnosisSettings) -> tuple[Value, Value]:
    """Correlation of the pairs' mean difference over all models with differences in word frequency and in length."""
    groups = {row.item: row.groups for rows in scores.rows.values() for own in rows.values() for row in own}
    size = np.abs if parts and parts[0].statistic == "asld" else np.asarray
    found = []
    for by in (scores.frequency, scores.length):
        known = {item: value for part in parts for item, value in part.mean_difference.items() if item in by}
        pairs = [(by[item], value) for item, value in known.items()]
        x, y = (size(np.array(column, dtype=np.float64)) for column in (list(zip(*pairs, strict=True)) or ((), ())))
        units = INDEPENDENT if settings.independent else units_of_items([groups[item] for item in known])
        found.append(correlation([x], [y], units=units))
    return found[0], found[1]


def _by_model(
    observations: Sequence[DiagnosisObservation], population: DosedModels
) -> dict[str, dict[str, DosedScores]]:
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


def _part(data: Dataset, axis: str, settings: DiagnosisSettings) -> Dataset:
    """The items about a bias type: those of its category, of templates those about occupations; at most so many."""
    women = women_by_occupation()
    about = [item for item in data.items if _is_about(item, axis, women)]
    if len(about) > settings.items:
        rng = generator(settings.seed, f"validity {data.card.name} {axis}")
        about = [about[number] for number in sorted(rng.choice(len(about), settings.items, replace=False).tolist())]
    return replace(data, items=tuple(about))


def _is_about(item: Pair, axis: str, occupations: Container[str]) -> bool:
    if item.groups.get("slot"):
        return axis == OCCUPATION and item.groups.get("word") in occupations
    return item.groups.get("category") == axis


def _with_properties(
    rows: Mapping[str, Mapping[str, Sequence[Row]]], data: Dataset, session: Session, settings: DiagnosisSettings
) -> DosedScores:
    lengths = {item: float(more - less) for item, (more, less) in sentence_lengths(data, session.lm).items()}
    try:
        language = guess_language(data) if settings.counts else language_of(data, COUNTS)
        corpus = frequencies_for(settings.counts, language)
    except DataError as error:
        return DosedScores(rows, {}, lengths, f"word frequency is left out: {error}")
    return DosedScores(rows, frequency_differences(data, corpus), lengths)
