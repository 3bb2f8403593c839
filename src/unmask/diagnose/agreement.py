"""`agreement`: do measures rank models, and bias types, alike? (τ as in Kaneko et al. 2022, Table 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from unmask.audit.plan import has_field
from unmask.audit.session import Session
from unmask.core.types import Dataset, Row
from unmask.diagnose.rankings import TypeRankings, model_agreements, type_rankings
from unmask.diagnose.spec import Diagnosis, DiagnosisObservation, DiagnosisSettings
from unmask.findings import Cell, Finding, Plot, Table, Value, charts
from unmask.stats import holm
from unmask.stats.ranks import MIN_RANKED, RankAgreement

COLUMNS = ("measure", "other", "τ", "ranked", "p", "p Holm", "test")


def observe(session: Session, data: Dataset, settings: DiagnosisSettings) -> Mapping[str, Sequence[Row]]:
    """Score rows of every pair under every measure."""
    measures = session.pair_measures(data, settings.measures)
    return {name: [item.row for item in items] for name, items in session.scores(data, measures).items()}


def conclude(observations: Sequence[DiagnosisObservation], settings: DiagnosisSettings) -> Finding:
    """Kendall's τ between measures: over models where there are three, and over bias types by model."""
    by_data = {
        observation.data.card.name: [
            other for other in observations if other.data.card.name == observation.data.card.name
        ]
        for observation in observations
    }
    models = {data: model_agreements(group, settings.seed) for data, group in by_data.items()}
    types = [
        type_ranking
        for observation in observations
        if (type_ranking := type_rankings(observation, settings.seed)) is not None
    ]
    note = (
        "τ-b: 1 is the same order, −1 the reverse, 0 no relation. Interval: pairs are resampled, jointly for "
        "all measures; it does not generalise to other {others}. p Holm: over the rows with the same {same}."
    )
    model_table = Table(
        "Models ranked by two measures",
        ("data", *COLUMNS),
        tuple(row for data, agreements in models.items() for row in _rows((data,), agreements)),
        note.format(others="models, and with few models it is wide", same="data"),
    )
    type_table = Table(
        "Bias types ranked by two measures",
        ("model", "data", *COLUMNS),
        tuple(
            row
            for ranking in types
            for row in _rows(_model_and_data(ranking.observation), ranking.agreements)
        ),
        note.format(others="bias types", same="model and data"),
    )
    tables = [model_table, type_table, *([_ranks(types)] if types else [])]
    return Finding(
        (
            *(line for data, group in models.items() for line in _answers(f"models on {data}", group)),
            *_type_answers(types),
        ),
        tuple(table for table in tables if table.rows),
        tuple(_plots(models, types)),
        tuple(_notes(by_data, models, observations, types)),
    )


def _model_and_data(observation: DiagnosisObservation) -> tuple[str, str]:
    return str(observation.model["id"]), observation.data.card.name


def _rows(where: tuple[str, ...], agreements: Sequence[RankAgreement]) -> list[tuple[Cell, ...]]:
    adjusted = holm([agreement.test.p for agreement in agreements])
    return [
        (
            *where,
            agreement.a,
            agreement.b,
            _tau_cell(agreement),
            agreement.n,
            agreement.test.p,
            p,
            agreement.test.method,
        )
        for agreement, p in zip(agreements, adjusted, strict=True)
    ]


def _tau_cell(agreement: RankAgreement) -> Value:
    return Value(
        agreement.test.value, agreement.interval.low, agreement.interval.high, agreement.interval.method
    )


def _ranks(types: Sequence[TypeRankings]) -> Table:
    names = tuple(dict.fromkeys(name for ranking in types for name in ranking.names))
    rows: list[tuple[Cell, ...]] = []
    for ranking in types:
        for column, category in enumerate(ranking.categories):
            by = {name: int(ranking.ranks[row, column]) for row, name in enumerate(ranking.names)}
            rows.append(
                (
                    *_model_and_data(ranking.observation),
                    category,
                    ranking.pairs[column],
                    *(by.get(name) for name in names),
                )
            )
    return Table(
        "Rank of each bias type by mean difference",
        ("model", "data", "type", "pairs", *names),
        tuple(rows),
        "1: the type with the largest mean difference towards the stereotype under this measure; for sld, "
        "the "
        "type with the largest absolute difference.",
    )


def _answers(what: str, agreements: Sequence[RankAgreement]) -> list[str]:
    known = [agreement for agreement in agreements if np.isfinite(agreement.test.value)]
    if not known:
        return []
    most, least = max(known, key=_value), min(known, key=_value)
    sure = sum(agreement.interval.low > 0 for agreement in known)
    return [
        f"{most.n} {what}: {most.a} and {most.b} rank them most alike (τ {_format_tau(most)}), {least.a} and "
        f"{least.b} least (τ {_format_tau(least)}); interval above 0: {sure} of {len(known)} couples"
    ]


def _value(agreement: RankAgreement) -> float:
    return agreement.test.value


def _format_tau(agreement: RankAgreement) -> str:
    return f"{agreement.test.value:.2f}, {agreement.interval.low:.2f} to {agreement.interval.high:.2f}"


def _type_answers(types: Sequence[TypeRankings]) -> list[str]:
    return [
        line
        for ranking in types
        for line in _answers(
            f"bias types, {ranking.observation.model['id']} on {ranking.observation.data.card.name}",
            ranking.agreements,
        )
    ]


def _plots(models: Mapping[str, Sequence[RankAgreement]], types: Sequence[TypeRankings]) -> list[Plot]:
    shown = [("models", data, agreements) for data, agreements in models.items() if agreements]
    shown += [
        ("bias types", " on ".join(_model_and_data(ranking.observation)), ranking.agreements)
        for ranking in types
        if ranking.agreements
    ]
    alt = "Grid of Kendall's τ between every two measures, from −1 (reverse order) to 1 (same order)."
    return [
        Plot(f"agreement-{number + 1}", f"Agreement in ranking {what}: {where}", alt, _grid(agreements))
        for number, (what, where, agreements) in enumerate(shown)
    ]


def _grid(agreements: Sequence[RankAgreement]) -> charts.Chart:
    names = list(dict.fromkeys(name for agreement in agreements for name in (agreement.a, agreement.b)))
    known = {(agreement.a, agreement.b): agreement.test.value for agreement in agreements}
    known |= {(b, a): value for (a, b), value in known.items()} | {(name, name): 1.0 for name in names}
    rows = [{"x": a, "y": b, "value": known.get((a, b), float("nan"))} for a in names for b in names]
    return charts.grid(rows, low=-1.0, high=1.0)


def _notes(
    by_data: Mapping[str, Sequence[DiagnosisObservation]],
    models: Mapping[str, Sequence[RankAgreement]],
    observations: Sequence[DiagnosisObservation],
    types: Sequence[TypeRankings],
) -> list[str]:
    few = [
        f"{data}: {len(group)} {'model' if len(group) == 1 else 'models'}; to compare rankings of models, "
        f"give at least {MIN_RANKED} models that support the same measures"
        for data, group in by_data.items()
        if not models[data]
    ]
    ranked = {_model_and_data(ranking.observation) for ranking in types}
    return few + [
        f"{' on '.join(_model_and_data(observation))}: fewer than {MIN_RANKED} bias types of two scored "
        "pairs: not ranked"
        for observation in observations
        if _model_and_data(observation) not in ranked
    ]


def _unfit_reason(data: Dataset) -> str:
    return (
        "its items are templates, of which neither side is the stereotype" if has_field(data, "slot") else ""
    )


AGREEMENT = Diagnosis(
    name="agreement",
    title="Agreement between measures",
    question="Do different measures rank the same models, and the same bias types, alike?",
    observe=observe,
    conclude=conclude,
    unfit_reason=_unfit_reason,
    citation="kaneko-etal-2022-debiasing",
)
