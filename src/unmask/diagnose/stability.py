"""`stability`: would other pairs, or fewer, have given the same score? (Barza 2023, Figure 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from unmask.audit.plan import has_field
from unmask.audit.session import Session
from unmask.core.errors import StatsError
from unmask.core.seeds import generator
from unmask.core.types import Dataset, Floats, Row
from unmask.diagnose.power_tables import comparison_power_table, power_table
from unmask.diagnose.spec import Diagnosis, DiagnosisObservation, DiagnosisSettings
from unmask.findings import Cell, Finding, Plot, Table, Value, charts
from unmask.measures import find
from unmask.stats import table as tables
from unmask.stats.means import mean_interval
from unmask.stats.power import detectable_effect, required_pairs
from unmask.stats.samples import HALVES, SampleScores, sample_scores, spearman_brown
from unmask.stats.shares import wilson

FEWEST = 5  # fewest draws of each size, as in the thesis
SHARE = "bias-score"
AXES = {SHARE: "bias score, %", "asld": "ASLD, nats"}


def observe(session: Session, data: Dataset, settings: DiagnosisSettings) -> Mapping[str, Sequence[Row]]:
    """Score rows of every pair under every measure."""
    if not 0 < settings.effect <= 50:
        raise StatsError(
            f"effect is {settings.effect:g}; expected 0.1 to 50 points, as a bias score is at most 50 "
            "points off 50"
        )
    measures = session.pair_measures(data, settings.measures)
    return {name: [item.row for item in items] for name, items in session.scores(data, measures).items()}


def conclude(observations: Sequence[DiagnosisObservation], settings: DiagnosisSettings) -> Finding:
    """Variation of the score between halves and among samples, and the number of pairs needed."""
    draws = max(settings.draws, FEWEST)
    samples = [(observation, _samples(observation, draws, settings.seed)) for observation in observations]
    between = comparison_power_table(observations, settings)
    return Finding(
        tuple(
            line for observation, measures in samples for line in _answers(observation, measures, settings)
        ),
        (
            _halves(samples, settings.seed),
            power_table(samples, settings),
            *([between] if between.rows else []),
            Table(
                "Score against the number of pairs",
                ("model", "data", "measure", "statistic", "pairs", "mean (least to most)", "SD"),
                tuple(
                    row
                    for observation, measures in samples
                    for measure in measures
                    for row in _sizes(observation, measure)
                ),
                f"{draws} samples of each size, drawn without replacement: near the full number they overlap "
                "and must agree. SD: standard deviation of their scores.",
            ),
        ),
        tuple(
            plot
            for index, (observation, scores) in enumerate(samples)
            for plot in _plots(observation, scores, index, len(observations))
        ),
        tuple(_notes(samples)),
    )


def _samples(observation: DiagnosisObservation, draws: int, seed: int) -> list[SampleScores]:
    """Sample scores of every measure that scored anything."""
    by_measure = [
        sample_scores(
            tables.ScoreTable.of(find(name), rows, data=observation.data.card.name), draws, seed=seed
        )
        for name, rows in observation.result.items()
    ]
    return [sample for sample in by_measure if sample is not None]


def _halves(samples: Sequence[tuple[DiagnosisObservation, Sequence[SampleScores]]], seed: int) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for observation, measures in samples:
        for measure in measures:
            where = (
                str(observation.model["id"]),
                observation.data.card.name,
                measure.measure,
                measure.statistic,
                measure.n,
            )
            ranking = spearman_brown(float(measure.rankings.mean())) if measure.rankings.size else None
            halves = (_deviation(measure.halves), _middle(measure.rankings), ranking)
            rows.append((*where, _score(measure, seed), *halves))
    return Table(
        "Two halves of the pairs",
        ("model", "data", "measure", "statistic", "pairs", "score", "SD of halves", "ρ of rankings", "all"),
        tuple(rows),
        f"SD of halves: standard deviation, over {HALVES:,} random splits, of one half's score minus the "
        "other's; it describes the splits and has no interval. ρ of rankings: do both halves rank the "
        "categories alike (Spearman)? Mean and middle 95% of the splits; `all` extrapolates the mean to "
        "all pairs by the Spearman–Brown formula. A dash: fewer than three categories of two pairs.",
    )


def _score(sample: SampleScores, seed: int) -> Value:
    if sample.statistic == SHARE:
        interval = wilson(round(float(sample.values.sum()) / 100), sample.n)
    else:
        interval = mean_interval(sample.values, rng=generator(seed, "all"))
    return Value(sample.score, interval.low, interval.high, interval.method)


def _middle(values: Floats) -> Value | None:
    if not values.size:
        return None
    low, high = np.quantile(values, [0.025, 0.975]).tolist()
    return Value(float(values.mean()), low, high, "middle 95% of splits")


def _deviation(values: Floats) -> float | None:
    return float(values.std(ddof=1)) if values.size > 1 else None


def _sizes(observation: DiagnosisObservation, sample: SampleScores) -> list[tuple[Cell, ...]]:
    """One row per size; all pairs give a single score."""
    where = (str(observation.model["id"]), observation.data.card.name, sample.measure, sample.statistic)
    parts = {size: scores for size, scores in sample.by_size.items() if size < sample.n}
    return [
        *(
            (*where, size, Value(float(x.mean()), float(x.min()), float(x.max()), "range"), _deviation(x))
            for size, x in parts.items()
        ),
        (*where, sample.n, sample.score, None),
    ]


def _answers(
    observation: DiagnosisObservation, measures: Sequence[SampleScores], settings: DiagnosisSettings
) -> list[str]:
    where = f"{observation.model['id']} on {observation.data.card.name}"
    shares = [measure for measure in measures if measure.statistic == SHARE and measure.n > 1]
    if not shares:
        return []
    spread = {sample.measure: _deviation(sample.halves) or 0.0 for sample in shares}
    least, most = min(spread, key=spread.__getitem__), max(spread, key=spread.__getitem__)
    decided = max(sample.decided for sample in shares)
    return [
        f"{where}: bias scores of two random halves of {shares[0].n:,} pairs differ by {spread[least]:.1f} "
        f"({least}) to {spread[most]:.1f} points ({most}), one standard deviation",
        f"{where}: {decided:,} decided pairs detect a bias score {detectable_effect(decided):.1f} points off "
        f"50 at 80% power; to detect {settings.effect:g} points takes {required_pairs(settings.effect):,}",
    ]


def _plots(
    observation: DiagnosisObservation, measures: Sequence[SampleScores], index: int, total: int
) -> list[Plot]:
    """One plot for bias scores and one for ASLD, as their scales differ."""
    plots = []
    for statistic, axis in AXES.items():
        rows = [
            {
                "panel": measure.measure,
                "x": size,
                "y": float(x.mean()),
                "low": float(x.min()),
                "high": float(x.max()),
            }
            for measure in measures
            if measure.statistic == statistic
            for size, x in measure.by_size.items()
        ]
        if len({row["x"] for row in rows}) < 2:
            continue
        alt = (
            "Mean score of samples against their size, by measure, with the range from the least to the most."
        )
        name = f"stability-{statistic}" + (f"-{index + 1}" if total > 1 else "")
        where = f"{observation.model['id']} on {observation.data.card.name}"
        title = f"{statistic} against the number of pairs: {where}"
        plots.append(Plot(name, title, alt, charts.panels(rows, x="pairs in a sample", y=axis)))
    return plots


def _notes(samples: Sequence[tuple[DiagnosisObservation, Sequence[SampleScores]]]) -> list[str]:
    notes = []
    for observation, measures in samples:
        lacking = [
            name for name in observation.result if name not in {measure.measure for measure in measures}
        ]
        if lacking:
            where = f"{observation.model['id']} on {observation.data.card.name}"
            notes.append(f"{where}: nothing was scored by {', '.join(lacking)}")
    return notes


def _unfit_reason(data: Dataset) -> str:
    return (
        "its items are templates, of which neither side is the stereotype" if has_field(data, "slot") else ""
    )


STABILITY = Diagnosis(
    name="stability",
    title="Stability and sample size",
    question="Would other pairs, or fewer, have given the same score, and how many pairs are enough?",
    observe=observe,
    conclude=conclude,
    unfit_reason=_unfit_reason,
    citation="gbef-2023",
)
