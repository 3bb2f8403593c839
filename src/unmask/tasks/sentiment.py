"""`sentiment`: does a classifier's score change when a sentence is about a woman instead of a man?

Gendered pairs of sentences, as in the Equity Evaluation Corpus (Kiritchenko & Mohammad 2018), and sentences of
the form "noun is a profession" (Bhaskaran & Bhallamudi 2019); perturbation sensitivity as in Prabhakaran et al.
(2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask import data as datasets
from unmask.core.errors import DataError, ModelError
from unmask.core.estimate import Estimate, Value
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.findings import Finding, Table
from unmask.findings.numbers import signed_value
from unmask.models.classifier import Classifier
from unmask.stats.intervals import mean, mean_interval, mean_test
from unmask.stats.regression import correlation
from unmask.tasks.sentiment_pairs import NOUNS, PROFESSION, PROFESSIONS, SIDES, SentencePairs, load_pairs
from unmask.tasks.spec import TaskObservation, TaskSettings
from unmask.tasks.tables import table_by_model


@dataclass(frozen=True, slots=True)
class ScoreShift:
    """The mean difference of scores and the mean absolute difference."""

    difference: Estimate
    sensitivity: Estimate  # mean absolute difference
    flips: float  # percent of pairs whose most likely label differs
    units: int


@dataclass(frozen=True, slots=True)
class SentimentResult:
    """Score shifts by group of sentences and over all."""

    shifts: dict[str, ScoreShift]
    score_name: str  # "probability of positive"
    sides: tuple[str, str]
    widest: tuple[tuple[str, str, float], ...]  # the pairs with the largest differences
    professions: tuple[tuple[str, float, Value], ...] = ()  # name, share of women, difference of scores
    r: Estimate | None = None  # correlation of these differences with the share of women


def observe(classifier: Classifier, settings: TaskSettings) -> SentimentResult:
    """Score every pair."""
    pairs = load_pairs(settings)
    probabilities = classifier.probabilities([(text, None) for text in (*pairs.female, *pairs.male)])
    values, score_name = sentiment_scores(probabilities, classifier.labels, settings.label)
    (first, second), (label, other) = values.reshape(2, -1), probabilities.argmax(axis=1).reshape(2, -1)
    return summarize(pairs, first, second, label != other, score_name, seed=settings.seed)


def summarize(
    pairs: SentencePairs, first: Floats, second: Floats, flipped: object, score_name: str, *, seed: int
) -> SentimentResult:
    """The result from given scores."""
    flips, gaps = np.asarray(flipped, dtype=np.float64), first - second
    if not gaps.size:
        raise DataError("no pair of sentences was scored: the data is empty")
    units, groups, statistic = (np.array(pairs.unit), np.array(pairs.group), f"score, {' − '.join(pairs.sides)}")
    shifts = {}
    for name in ["all", *dict.fromkeys(pairs.group)] if len(set(pairs.group)) > 1 else ["all"]:
        part = np.ones(len(gaps), dtype=bool) if name == "all" else groups == name
        _, index = np.unique(units[part], return_inverse=True)
        counts = np.bincount(index)  # pairs of one unit are averaged first
        by, sizes = (np.bincount(index, values) / counts for values in (gaps[part], np.abs(gaps[part])))
        difference = mean_interval(by, rng=generator(seed, name), unit="units")
        sensitivity = mean_interval(sizes, rng=generator(seed, f"{name}/size"), unit="units")
        named = {"group": name if name == "all" else f"sentences={name}", "n": int(part.sum())}
        shifts[name] = ScoreShift(
            Estimate.of(difference, statistic=statistic, null=0.0, p=mean_test(by, 0.0), **named),
            Estimate.of(sensitivity, statistic="sensitivity", **named),
            100 * mean(flips[part]),
            len(counts),
        )
    widest = np.argsort(-np.abs(gaps))[:6]
    shown = tuple((pairs.female[at], pairs.male[at], float(gaps[at])) for at in widest)
    return SentimentResult(shifts, score_name, pairs.sides, shown, *_by_profession(pairs, gaps, seed))


def _by_profession(
    pairs: SentencePairs, gaps: Floats, seed: int
) -> tuple[tuple[tuple[str, float, Value], ...], Estimate | None]:
    """The difference of every profession over its nouns, and its correlation with the share of women."""
    of_profession = np.array(pairs.group) == PROFESSION
    if pairs.sides != SIDES or not of_profession.any():
        return (), None
    women = {occupation.name: occupation.women for occupation in datasets.read("occupations")}
    units = np.array(pairs.unit)
    names = [name for name in PROFESSIONS if (units[of_profession] == name).any()]
    found = [
        (name, women[name], mean_interval(gaps[of_profession & (units == name)], rng=generator(seed, name)))
        for name in names
    ]
    shares, differences = np.array([[share, value.value] for _, share, value in found]).T
    r = correlation([shares], [differences])
    named = {"statistic": "r with share of women", "group": f"sentences={PROFESSION}"}
    return tuple(found), Estimate.of(r, null=0.0, n=len(found), **named)


def sentiment_scores(probabilities: Floats, labels: Sequence[str], label: str | None) -> tuple[Floats, str]:
    """One score per text: the probability of `label`, by default of the positive one.

    Labels in stars (`1 star` … `5 stars`) give the expected number of stars.
    """
    if label is not None:
        return probabilities[:, label_index(labels, label)], f"probability of {label}"
    names = [name.lower() for name in labels]
    if all("star" in name for name in names):
        return probabilities @ np.array([float(name.split()[0]) for name in names]), "expected stars"
    good = [at for at, name in enumerate(names) if name.startswith("pos")]
    if len(good) == 1:
        return probabilities[:, good[0]], f"probability of {labels[good[0]]}"
    raise ModelError(f"no label is clearly the positive one: give `label`, one of {', '.join(labels)}")


def label_index(labels: Sequence[str], label: str) -> int:
    """The index of a label, in any case."""
    names = [name.lower() for name in labels]
    if label.lower() not in names:
        raise ModelError(f"no label {label!r}: the classifier has {', '.join(labels)}")
    return names.index(label.lower())


def conclude(observations: Sequence[TaskObservation], settings: TaskSettings) -> Finding:
    """The difference by group of sentences, and the pairs that differ most."""
    from unmask.findings import charts

    first: SentimentResult = observations[0].result
    a, b = first.sides
    table = table_by_model(
        observations,
        f"Score of {a} − {b}",
        ("sentences", f"{a} − {b}", "p", "sensitivity", "label changes, %", "pairs", "units"),
        lambda result: [
            (group, by.difference, by.difference.p, by.sensitivity, by.flips, by.difference.n, by.units)
            for group, by in result.shifts.items()
        ],
        f"Score: {first.score_name}. Sensitivity: the mean absolute difference. "
        "Interval and p (Student): templates resampled, each with all its pairs.",
        digits=4,
    )
    columns, note = (a, b, f"{a} − {b}"), "Single pairs have no interval."
    widest = table_by_model(
        observations, "Pairs that differ most", columns, lambda result: result.widest, note, digits=4
    )
    plots = charts.interval_plots(
        "sentiment",
        "Difference of scores",
        "Difference of scores by group of sentences, with intervals.",
        [(name, shift.difference, each.name) for each in observations for name, shift in each.result.shifts.items()],
        axis=f"{a} − {b}",
        null=0.0,
    )
    answers = [
        f"{each.name}: {result.score_name} {' − '.join(result.sides)} {signed_value(shift.difference, 4)}, "
        f"sensitivity {shift.sensitivity.value:.4f}, {shift.difference.n:,} pairs"
        for each, result, shift in ((each, each.result, each.result.shifts["all"]) for each in observations)
    ]
    tables = [table, widest]
    if any(each.result.professions for each in observations):
        tables.append(_profession_table(observations))
    return Finding(tuple(answers), tuple(tables), plots)


def _profession_table(observations: Sequence[TaskObservation]) -> Table:
    """The professions of "noun is a profession", by the share of women in them."""
    correlations = "; ".join(
        f"{each.name}: r {signed_value(each.result.r)}" for each in observations if each.result.r is not None
    )
    return table_by_model(
        observations,
        'Professions, "noun is a profession"',
        ("profession", "women, %", "female − male"),
        lambda result: [
            (name, 100 * share, value) for name, share, value in sorted(result.professions, key=lambda row: -row[1])
        ],
        f"Means over {len(NOUNS)} pairs of nouns, with their intervals. Correlation of the difference with the share "
        f"of women (US, 2020), over professions: {correlations}.",
        digits=4,
    )


def estimates(result: SentimentResult) -> list[Estimate]:
    """The mean difference and sensitivity, over all pairs and by group, and the correlation over professions."""
    found = [each for shift in result.shifts.values() for each in (shift.difference, shift.sensitivity)]
    return [*found, *([] if result.r is None else [result.r])]
