"""Power analysis for `stability`: how many pairs are needed to detect an effect."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from unmask import stats
from unmask.diagnose.spec import DiagnosisObservation, DiagnosisSettings
from unmask.findings import Cell, Table, Value
from unmask.measures import find
from unmask.stats.power import detectable_effect, required_pairs, required_pairs_between
from unmask.stats.samples import SampleScores


def power_table(
    samples: Sequence[tuple[DiagnosisObservation, Sequence[SampleScores]]], settings: DiagnosisSettings
) -> Table:
    """Pairs needed to detect a bias score off 50, for each measure with a bias score."""
    rows = [
        (
            str(observation.model["id"]),
            observation.data.card.name,
            measure.measure,
            measure.n,
            measure.decided,
            required_pairs(settings.effect, decided=measure.decided / measure.n),
            detectable_effect(measure.decided),
        )
        for observation, measures in samples
        for measure in measures
        if measure.statistic == "bias-score"
    ]
    return Table(
        f"Pairs needed to see {settings.effect:g} points",
        ("model", "data", "measure", "pairs", "decided", "pairs needed", "least effect seen"),
        tuple(rows),
        f"Needed: to detect a bias score {settings.effect:g} points off 50 by a two-sided test at the 5% "
        "level "
        "with 80% power, given the same share of decided pairs. Least effect: what the decided pairs here "
        "can "
        "detect, in points, with the same power. ASLD has no null value and is left out.",
    )


def comparison_power_table(
    observations: Sequence[DiagnosisObservation], settings: DiagnosisSettings
) -> Table:
    """Pairs needed to detect a difference between two models, by pair of models, dataset and measure."""
    return Table(
        "Pairs needed to tell two models apart",
        ("data", "measure", "model", "other", "change", "pairs", "disagree, %", "p", "pairs needed"),
        tuple(row for a, b in combinations(observations, 2) for row in _between(a, b, settings)),
        "Change: the other's bias score minus the model's; p by McNemar's test. Needed: to detect "
        f"{settings.effect:g} points between them by that test with 80% power, if they disagree on the same "
        "share of pairs. A dash: they disagree on too few pairs for such a difference.",
    )


def _between(
    a: DiagnosisObservation, b: DiagnosisObservation, settings: DiagnosisSettings
) -> list[tuple[Cell, ...]]:
    data, ids = a.data.card.name, (str(a.model["id"]), str(b.model["id"]))
    if data != b.data.card.name:
        return []
    rows: list[tuple[Cell, ...]] = []
    for name in (name for name in a.result if name in b.result and find(name).summary == "share"):
        comparison = stats.comparisons(
            find(name), a.result[name], b.result[name], data=data, rng_seed=settings.seed
        )[0]
        disagree = comparison.flips / comparison.n if comparison.n else float("nan")
        change = Value(comparison.change, comparison.low, comparison.high, comparison.method)
        needed = required_pairs_between(settings.effect, disagree)
        rows.append((data, name, *ids, change, comparison.n, 100 * disagree, comparison.p, needed))
    return rows
