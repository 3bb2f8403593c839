"""`stability`: would other pairs, or fewer, have given the same score? (Barza 2023, Figure 6)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations

import numpy as np

from unmask.audit.session import Session
from unmask.core.errors import StatsError
from unmask.core.estimate import NAN, Estimate
from unmask.core.types import Dataset, Floats, Row
from unmask.diagnose.common import results, score_rows, score_table
from unmask.diagnose.spec import DiagnosisObservation, DiagnosisSettings, Observations
from unmask.findings import Cell, Finding, Plot, Table, Value, charts
from unmask.measures import find
from unmask.stats.paired import published_comparison
from unmask.stats.power import detectable_effect, required_pairs, required_pairs_between
from unmask.stats.reliability import HALVES, SampleScores, sample_scores, spearman_brown
from unmask.stats.units import WORD, plural

FEWEST = 5  # fewest draws of each size, as in the thesis
SHARE = "bias-score"
AXES = {SHARE: "bias score, %", "asld": "ASLD, nats"}
Samples = Sequence[tuple[DiagnosisObservation, SampleScores]]


def observe(session: Session, data: Dataset, settings: DiagnosisSettings) -> dict[str, list[Row]]:
    """Score rows of every pair under every measure."""
    if not 0 < settings.effect <= 50:
        raise StatsError(
            f"effect is {settings.effect:g}; expected 0.1 to 50 points, as a bias score is at most 50 points off 50"
        )
    return score_rows(session, data, settings)


def conclude(observations: Observations, settings: DiagnosisSettings) -> Finding:
    """Variation of the score between halves and among samples, and the number of pairs needed."""
    samples = _samples(tuple(observations), settings)
    own = [(each, [scores for where, scores in samples if where is each]) for each in observations]
    scored_names = {(each, scores.measure) for each, scores in samples}
    lacking = [(e, [name for name in e.result if (e, name) not in scored_names]) for e in observations]
    tables = (
        _halves(samples),
        _power_table(samples, settings),
        _comparison_power_table(observations, settings),
        _size_table(samples, settings),
    )
    return Finding(
        tuple(line for each, scored in own for line in _answers(each, scored, settings)),
        tuple(table for table in tables if table.rows),
        tuple(
            plot
            for number, (each, scored) in enumerate(own, start=1)
            for plot in _plots(each, scored, f"-{number}" if len(observations) > 1 else "")
        ),
        tuple(f"{e.where}: nothing was scored by {', '.join(names)}" for e, names in lacking if names),
    )


def estimates(observations: Observations, settings: DiagnosisSettings) -> list[Estimate]:
    """The standard deviation of the difference of halves, and how alike they rank the categories."""
    every = []
    for observation, scores in _samples(tuple(observations), settings):
        spread = Value(_deviation(scores.halves) or NAN, method="none: describes the splits", unit=scores.units.tag)
        numbers = {"sd-of-halves": spread, "rank-correlation-of-halves": _middle(scores)}
        every += [
            observation.estimate(f"stability/{scores.measure}", statistic, value, n=scores.n)
            for statistic, value in numbers.items()
            if value is not None
        ]
    return every


@lru_cache(maxsize=1)  # for the finding and the estimates
def _samples(observations: tuple[DiagnosisObservation, ...], settings: DiagnosisSettings) -> Samples:
    """Sample scores of every measure that scored anything."""
    samples = []
    for observation, name, _ in results(observations):
        table = score_table(observation, name, settings)
        scores = sample_scores(table, max(settings.draws, FEWEST), seed=settings.seed)
        samples += [(observation, scores)] if scores is not None else []
    return samples


def _halves(samples: Samples) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for observation, scores in samples:
        where = (*observation.names, scores.measure, scores.statistic, scores.n, _sampled(scores))
        ranking = spearman_brown(float(scores.rankings.mean())) if scores.rankings.size else None
        rows.append((*where, scores.interval, _deviation(scores.halves), _middle(scores), ranking))
    return Table(
        "Two halves of the pairs",
        ("model", "data", "measure", "statistic", "pairs", "halved", "score", "SD of halves", "ρ of rankings", "all"),
        tuple(rows),
        f"SD of halves: standard deviation, over {HALVES:,} random splits of what is halved, of one half's score minus "
        "the other's; it describes the splits and has no interval. Halved are the units of the data (writers, target "
        "terms, …), each with all its pairs. ρ of rankings: do both halves rank the "
        "categories alike (Spearman)? Mean and middle 95% of the splits; `all` extrapolates the mean to "
        "all pairs by the Spearman–Brown formula. A dash: fewer than three categories of two units.",
    )


def _power_table(samples: Samples, settings: DiagnosisSettings) -> Table:
    """Pairs needed to detect a bias score off 50, for each measure with a bias score."""
    rows = [
        (
            *(*observation.names, scores.measure, scores.n, scores.decided),
            *(_power(scores, settings) if _worth(scores) is not None else (None, None)),
            _worth(scores),
        )
        for observation, scores in samples
        if scores.statistic == SHARE
    ]
    return Table(
        f"Pairs needed to see {settings.effect:g} points",
        ("model", "data", "measure", "pairs", "decided", "pairs needed", "least effect seen", "design effect"),
        tuple(rows),
        f"Needed: to detect a bias score {settings.effect:g} points off 50 by a two-sided test at the 5% "
        "level with 80% power, given the same share of decided pairs and design effect. Least effect: what the "
        "decided pairs here can detect, in points, with the same power. Design effect: how many pairs of these are "
        "worth one independent pair, at least 1. A dash: too few units to know it. ASLD has no null value and is left "
        "out.",
    )


def _power(scores: SampleScores, settings: DiagnosisSettings) -> tuple[int | None, float]:
    """Pairs needed to see the effect, and the least effect that these pairs see, given their design effect."""
    worth = _worth(scores) or NAN
    needed = required_pairs(settings.effect, decided=scores.decided / scores.n, design_effect=worth)
    return needed, detectable_effect(scores.decided / worth)


def _worth(scores: SampleScores) -> float | None:
    """The design effect, at least one: the pairs of a unit if all are won or lost; None with too few units."""
    if not scores.interval.has_interval:
        return None
    unknown = scores.n / min(scores.units.counts, default=scores.n)
    return max(1.0, scores.interval.design_effect or unknown)


def _sampled(scores: SampleScores, count: int | None = None) -> str:
    """What samples and halves are drawn from: `77 writers`."""
    count = scores.n_units if count is None else count
    name = WORD if len(scores.units.codes) == 2 else scores.units.name
    return f"{count:,} {plural('pair' if scores.units.independent else name, count)}"


def _comparison_power_table(observations: Observations, settings: DiagnosisSettings) -> Table:
    """Pairs needed to detect a difference between two models, by pair of models, dataset and measure."""
    rows: list[tuple[Cell, ...]] = []
    for a, b in combinations(observations, 2):
        (model, data), (other, other_data) = a.names, b.names
        shared = [name for name in a.result if name in b.result and find(name).summary == "share"]
        for name in shared if data == other_data else ():
            rows_of_both = a.result[name], b.result[name]
            first = published_comparison(
                find(name), *rows_of_both, data=data, rng_seed=settings.seed, independent=settings.independent
            )
            disagree = first.flips / first.n if first.n else NAN
            worth = max(1.0, first.design_effect or 1.0)
            known = first.difference.has_interval
            needed = required_pairs_between(settings.effect, disagree, design_effect=worth) if known else None
            numbers = (first.difference, first.n, 100 * disagree, first.p, needed)
            rows.append((data, name, model, other, *numbers))
    return Table(
        "Pairs needed to tell two models apart",
        ("data", "measure", "model", "other", "change", "pairs", "disagree, %", "p", "pairs needed"),
        tuple(rows),
        "Change: the other's bias score minus the model's; p by McNemar's test, over the units of the data. Needed: to "
        f"detect {settings.effect:g} points between them by that test with 80% power, if they disagree on the same "
        "share of pairs, with the same design effect. A dash: they disagree on too few pairs for such a difference, "
        "or there are too few units.",
    )


def _size_table(samples: Samples, settings: DiagnosisSettings) -> Table:
    """One row per size of sample; all pairs give a single score."""
    rows: list[tuple[Cell, ...]] = []
    for observation, scores in samples:
        where = (*observation.names, scores.measure, scores.statistic)
        for size, x in scores.by_size.items():
            if size < scores.n_units:
                ends = Value(float(x.mean()), float(x.min()), float(x.max()), "range")
                rows.append((*where, _sampled(scores, size), _pairs(scores, size), ends, _deviation(x)))
        rows.append((*where, _sampled(scores), scores.n, scores.score, None))
    return Table(
        "Score against the number of pairs",
        ("model", "data", "measure", "statistic", "sampled", "pairs", "mean (least to most)", "SD"),
        tuple(rows),
        f"{max(settings.draws, FEWEST)} samples of each size, drawn without replacement: near the full "
        "number they overlap and must agree. Units are drawn with all their pairs; pairs: how many that is on average. "
        "SD: standard deviation of the scores.",
    )


def _pairs(scores: SampleScores, size: int) -> int:
    """How many pairs so many units have on average."""
    return round(size * scores.n / scores.n_units)


def _middle(scores: SampleScores) -> Value | None:
    values = scores.rankings
    if not values.size:
        return None
    low, high = np.quantile(values, [0.025, 0.975]).tolist()
    return Value(float(values.mean()), low, high, "middle 95% of splits", unit=scores.units.tag)


def _deviation(values: Floats) -> float | None:
    return float(values.std(ddof=1)) if values.size > 1 else None


def _answers(
    observation: DiagnosisObservation, measures: Sequence[SampleScores], settings: DiagnosisSettings
) -> list[str]:
    where = observation.where
    shares = [measure for measure in measures if measure.statistic == SHARE and measure.halves.size]
    if not shares:
        return []
    spread = {sample.measure: float(sample.halves.std(ddof=1)) for sample in shares}
    least, most = min(spread, key=spread.__getitem__), max(spread, key=spread.__getitem__)
    decided = max(sample.decided for sample in shares)
    known = [worth for worth in map(_worth, shares) if worth is not None]
    of = "" if shares[0].units.independent else f" of {_sampled(shares[0])}"
    lines = [
        f"{where}: bias scores of two random halves of {shares[0].n:,} pairs{of} differ by {spread[least]:.1f} "
        f"({least}) to {spread[most]:.1f} points ({most}), one standard deviation"
    ]
    if not known:
        return lines
    worth = max(known)
    seen, needed = detectable_effect(decided / worth), required_pairs(settings.effect, design_effect=worth)
    return [
        *lines,
        f"{where}: {decided:,} decided pairs detect a bias score {seen:.1f} points off 50 at 80% power; to detect "
        f"{settings.effect:g} points takes {needed:,}",
    ]


def _plots(each: DiagnosisObservation, measures: Sequence[SampleScores], number: str) -> list[Plot]:
    """One plot for bias scores and one for ASLD, as their scales differ."""
    plots = []
    for statistic, axis in AXES.items():
        rows = [
            {"panel": measure.measure, "x": _pairs(measure, size)}
            | {"y": float(x.mean()), "low": float(x.min()), "high": float(x.max())}
            for measure in measures
            if measure.statistic == statistic
            for size, x in measure.by_size.items()
        ]
        if len({row["x"] for row in rows}) < 2:
            continue
        alt = "Mean score of samples against their size, by measure, with the range from least to most."
        title = f"{statistic} against the number of pairs: {each.where}"
        chart = charts.panels(rows, x="pairs in a sample", y=axis)
        plots.append(Plot(f"stability-{statistic}{number}", title, alt, chart))
    return plots
