"""`agreement`: do measures rank models, and bias types, alike? (τ as in Kaneko et al. 2022, Table 2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.stats import rankdata

from unmask.core.estimate import Estimate
from unmask.core.seeds import generator
from unmask.core.types import Floats, Ints
from unmask.diagnose.common import score_table
from unmask.diagnose.spec import DiagnosisObservation, DiagnosisSettings, Observations
from unmask.findings import Cell, Finding, Plot, Table, charts
from unmask.findings.numbers import number
from unmask.stats.agreement import MIN_RANKED, RankAgreement, Rankings, rank_agreements
from unmask.stats.bootstrap import resampled_items
from unmask.stats.corrections import holm
from unmask.stats.table import headline_statistic, item_values
from unmask.stats.units import Units

MEAN = "mean-difference"
ModelAgreements = dict[str, tuple[RankAgreement, ...]]  # by dataset
COLUMNS = ("measure", "other", "τ", "ranked", "p", "p Holm", "test")


@dataclass(frozen=True, slots=True)
class TypeRankings:
    """How one model's measures rank the bias types of one dataset."""

    observation: DiagnosisObservation
    names: tuple[str, ...]  # measures
    categories: tuple[str, ...]
    pairs: tuple[int, ...]  # by category
    ranks: Floats  # measures × categories; 1 = most towards the stereotype
    agreements: tuple[RankAgreement, ...]


def conclude(observations: Observations, settings: DiagnosisSettings) -> Finding:
    """Kendall's τ between measures: over models where there are three, and over bias types by model."""
    models, types = _rankings(tuple(observations), settings)
    note = (
        "τ-b: 1 is the same order, −1 the reverse, 0 no relation. Interval: from the two measures disagreeing "
        "on every order that the data leave open to agreeing on all of them; an order is open unless the interval of "
        "the difference of the two scores, over the units of the data, excludes 0. It does not generalise to other "
        "{others}. p Holm: over the rows with the same {same}; it takes the scores as exact."
    )
    tables = (
        Table(
            "Models ranked by two measures",
            ("data", *COLUMNS),
            tuple(row for data, agreements in models.items() for row in _rows((data,), agreements)),
            note.format(others="models, and with few models it is wide", same="data"),
        ),
        Table(
            "Bias types ranked by two measures",
            ("model", "data", *COLUMNS),
            tuple(row for ranking in types for row in _rows(ranking.observation.names, ranking.agreements)),
            note.format(others="bias types", same="model and data"),
        ),
        _ranks(types),
    )
    ranked = [("models", "models on {}", data, group) for data, group in models.items()]
    ranked += [("bias types", "bias types, {}", each.observation.where, each.agreements) for each in types]
    alt = "Grid of Kendall's τ between every two measures, from −1 (reverse order) to 1 (same order)."
    shown = [(what, where, agreements) for what, _, where, agreements in ranked if agreements]
    return Finding(
        tuple(line for _, what, where, group in ranked for line in _answers(what.format(where), group)),
        tuple(table for table in tables if table.rows),
        tuple(
            Plot(f"agreement-{number}", f"Agreement in ranking {what}: {where}", alt, _grid(agreements))
            for number, (what, where, agreements) in enumerate(shown, start=1)
        ),
        tuple(_notes(models, observations, types)),
    )


def estimates(observations: Observations, settings: DiagnosisSettings) -> list[Estimate]:
    """Kendall's τ between every two measures: over models, and over the bias types of each model."""
    models, types = _rankings(tuple(observations), settings)
    rankings = [("", data, "models", agreements) for data, agreements in models.items()]
    rankings += [(*ranking.observation.names, "bias-types", ranking.agreements) for ranking in types]
    every = []
    for model, data, over, agreements in rankings:
        for each, p in _with_holm(agreements):
            what = {"measure": f"agreement/{each.a}/{each.b}", "statistic": f"kendall-over-{over}"}
            numbers = {"null": 0.0, "n": each.n, "p": each.test.p, "p_holm": p}
            every.append(Estimate.of(each.tau, model=model, data=data, **what, **numbers))
    return every


@lru_cache(maxsize=1)  # for the finding and the estimates
def _rankings(
    observations: tuple[DiagnosisObservation, ...], settings: DiagnosisSettings
) -> tuple[ModelAgreements, list[TypeRankings]]:
    """Agreement in ranking the models of each dataset, and rankings of bias types."""
    names = dict.fromkeys(observation.names[1] for observation in observations)
    by_data = {data: [each for each in observations if each.names[1] == data] for data in names}
    models = {data: _model_agreements(group, settings) for data, group in by_data.items()}
    types = [_type_rankings(observation, settings) for observation in observations]
    return models, [ranking for ranking in types if ranking is not None]


def _with_holm(agreements: Sequence[RankAgreement]) -> Iterator[tuple[RankAgreement, float | None]]:
    return zip(agreements, holm([agreement.test.p for agreement in agreements]), strict=True)


def _rows(where: tuple[str, ...], agreements: Sequence[RankAgreement]) -> list[tuple[Cell, ...]]:
    return [
        (*where, each.a, each.b, each.tau, each.n, each.test.p, p, each.test.method)
        for each, p in _with_holm(agreements)
    ]


def _ranks(types: Sequence[TypeRankings]) -> Table:
    names = tuple(dict.fromkeys(name for ranking in types for name in ranking.names))
    rows: list[tuple[Cell, ...]] = []
    for ranking in types:
        for column, category in enumerate(ranking.categories):
            by = {name: int(ranking.ranks[row, column]) for row, name in enumerate(ranking.names)}
            ranks = (by.get(name) for name in names)
            rows.append((*ranking.observation.names, category, ranking.pairs[column], *ranks))
    return Table(
        "Rank of each bias type by mean difference",
        ("model", "data", "type", "pairs", *names),
        tuple(rows),
        "1: the type with the largest mean difference towards the stereotype under this measure; for sld, "
        "the type with the largest absolute difference.",
    )


def _answers(what: str, agreements: Sequence[RankAgreement]) -> list[str]:
    known = [agreement for agreement in agreements if np.isfinite(agreement.tau.value)]
    if not known:
        return []
    most, least = (pick(known, key=lambda agreement: agreement.tau.value) for pick in (max, min))
    alike, unlike = (f"{number(tau.value)}, {number(tau.low)} to {number(tau.high)}" for tau in (most.tau, least.tau))
    sure = sum(agreement.tau.low > 0 for agreement in known)
    return [
        f"{most.n} {what}: {most.a} and {most.b} rank them most alike (τ {alike}), {least.a} and "
        f"{least.b} least (τ {unlike}); interval above 0: {sure} of {len(known)} pairs of measures"
    ]


def _grid(agreements: Sequence[RankAgreement]) -> charts.Chart:
    names = list(dict.fromkeys(name for agreement in agreements for name in (agreement.a, agreement.b)))
    known = {(agreement.a, agreement.b): agreement.tau.value for agreement in agreements}
    known |= {(b, a): value for (a, b), value in known.items()} | {(name, name): 1.0 for name in names}
    rows = [{"x": a, "y": b, "value": known.get((a, b), float("nan"))} for a in names for b in names]
    return charts.grid(rows, low=-1.0, high=1.0)


def _notes(models: ModelAgreements, observations: Observations, types: Sequence[TypeRankings]) -> Iterator[str]:
    for data, agreements in models.items():
        n = sum(observation.data.card.name == data for observation in observations)
        if not agreements:
            yield (
                f"{data}: {n} {'model' if n == 1 else 'models'}; to compare rankings of models, "
                f"give at least {MIN_RANKED} models that support the same measures"
            )
    ranked = {ranking.observation for ranking in types}
    for observation in observations:
        if observation not in ranked:
            few = f"fewer than {MIN_RANKED} bias types with two scored pairs that share no writer, term, …"
            yield f"{observation.where}: {few}: not ranked"


def _model_agreements(observations: Observations, settings: DiagnosisSettings) -> tuple[RankAgreement, ...]:
    """Agreement of measures in ranking models on the same data; models a measure does not support are NaN."""
    names = tuple(dict.fromkeys(name for observation in observations for name in observation.result))
    tables = {
        (row, model): score_table(observation, name, settings)
        for row, name in enumerate(names)
        for model, observation in enumerate(observations)
        if name in observation.result
    }
    values = np.full((len(names), len(observations), len(observations[0].data.items)), np.nan)
    for place, table in tables.items():
        values[place] = item_values(table, headline_statistic(table.measure))
    units = next(iter(tables.values())).units
    fewest = np.full(len(observations), min(units.counts, default=values.shape[-1]))
    return tuple(rank_agreements(_rankings_of(names, values, units, fewest, settings.seed, "models")))


def _rankings_of(names: Sequence[str], values: Floats, units: Units, counts: Ints, seed: int, what: str) -> Rankings:
    """Rankings by the means of values (measures × what is ranked × items), the units resampled jointly."""
    resampled = resampled_items(values, units, rng=generator(seed, what))
    over = units.label or f"{values.shape[-1]:,} pairs"
    return Rankings(names, _means(values), resampled, counts, over, units.tag)


def _type_rankings(observation: DiagnosisObservation, settings: DiagnosisSettings) -> TypeRankings | None:
    """Rankings of categories with scored pairs of at least two units by every measure; None for fewer than three."""
    names = tuple(observation.result)
    tables = [score_table(observation, name, settings) for name in names]
    units, categories = tables[0].units, tables[0].labels["category"]
    columns = np.stack([item_values(each, "asld" if each.measure.summary == "magnitude" else MEAN) for each in tables])
    own = {str(name): np.where(categories == name, columns, np.nan) for name in np.unique(categories[categories != ""])}
    counts = {name: min(_scored_units(row, units) for row in values) for name, values in own.items()}
    kept = [name for name, count in counts.items() if count >= 2]
    if len(kept) < MIN_RANKED:
        return None
    values = np.stack([own[name] for name in kept], axis=1)
    rankings = _rankings_of(names, values, units, np.array([counts[name] for name in kept]), settings.seed, "types")
    pairs = tuple(int((categories == name).sum()) for name in kept)
    ranks = rankdata(-rankings.scores, axis=-1, method="min")
    return TypeRankings(observation, names, tuple(kept), pairs, ranks, tuple(rank_agreements(rankings)))


def _scored_units(values: Floats, units: Units) -> int:
    """How many units have a value, the fewer of words and templates."""
    kept = np.isfinite(values)
    return min((int(np.unique(codes[kept]).size) for codes in units.codes), default=int(kept.sum()))


def _means(values: Floats) -> Floats:
    """Means along the last axis, ignoring NaN; NaN if all are."""
    kept = np.isfinite(values)
    total, n = np.where(kept, values, 0.0).sum(axis=-1), kept.sum(axis=-1)
    return np.asarray(np.divide(total, n, out=np.full(total.shape, np.nan), where=n > 0))
