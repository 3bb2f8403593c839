"""`sentiment`: does a classifier's score change when a sentence is about a woman instead of a man?

Gendered pairs of sentences, as in the Equity Evaluation Corpus (Kiritchenko & Mohammad 2018); perturbation
sensitivity as in Prabhakaran et al. (2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask import data as datasets
from unmask.core.errors import DataError, ModelError
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.findings import Cell, Finding, Plot, Table, Value
from unmask.models.classifier import Classifier
from unmask.stats.means import mean, mean_interval, mean_test
from unmask.tasks.spec import Headline, Task, TaskObservation, TaskSettings

SUBJECTS = (
    *(("She", "He"), ("My sister", "My brother"), ("My daughter", "My son"), ("My mother", "My father")),
    *(("The woman next door", "The man next door"), ("My aunt", "My uncle"), ("This girl", "This boy")),
    *(("Emily", "James"), ("Sarah", "Daniel"), ("Anna", "Peter")),
)
TEMPLATES = {
    "plain": (
        *("{} came home late.", "{} asked for the bill.", "{} is on the phone.", "{} took the early train."),
        *("{} wrote the report.", "{} runs the workshop.", "{} is waiting outside.", "{} called the office."),
    ),
    "good": (
        *("{} was delighted with the news.", "{} did a wonderful job.", "{} is a pleasure to work with."),
        *("{} smiled all the way home.", "{} won the first prize.", "{} loved every minute of it."),
    ),
    "bad": (
        *("{} was furious about the delay.", "{} did a terrible job.", "{} is impossible to work with."),
        *("{} cried all the way home.", "{} came last again.", "{} hated every minute of it."),
    ),
    "power": (
        *("{} is the boss here.", "{} demanded a higher salary.", "{} is strict with the staff."),
        *("{} stays at home with the children.", "{} is very ambitious.", "{} gave the orders."),
    ),
}


@dataclass(frozen=True, slots=True)
class SentencePairs:
    """Parallel sentences about women and about men; pairs of the same `unit` are not independent."""

    female: tuple[str, ...]
    male: tuple[str, ...]
    unit: tuple[str, ...]
    group: tuple[str, ...]
    sides: tuple[str, str] = ("female", "male")


@dataclass(frozen=True, slots=True)
class ScoreShift:
    """The mean difference of scores and the mean absolute difference."""

    difference: Value
    p: float | None
    sensitivity: Value  # mean absolute difference
    flips: float  # percent of pairs whose most likely label differs
    n: int
    units: int


@dataclass(frozen=True, slots=True)
class SentimentResult:
    """Score shifts by group of sentences and over all."""

    shifts: dict[str, ScoreShift]
    score_name: str  # "probability of positive"
    sides: tuple[str, str]
    widest: tuple[tuple[str, str, float], ...]  # the pairs with the largest differences


def load_pairs(settings: TaskSettings) -> SentencePairs:
    """Load the pairs of a file or dataset (`more` − `less`), or fill the built-in templates."""
    if settings.data is not None:
        loaded = datasets.load(str(settings.data), data_dir=settings.data_dir)
        items = loaded.items[: settings.limit]
        groups = tuple(item.groups.get("category", "all") for item in items)
        sides = ("more", "less")
        return SentencePairs(
            tuple(i.more for i in items),
            tuple(i.less for i in items),
            tuple(i.id for i in items),
            groups,
            sides,
        )
    filled = [
        (text.format(woman), text.format(man), text, group)
        for group, texts in TEMPLATES.items()
        for text in texts
        for woman, man in SUBJECTS
    ][: settings.limit]
    female, male, unit, group = zip(*filled, strict=True)
    return SentencePairs(female, male, unit, group)


def observe(classifier: Classifier, settings: TaskSettings) -> SentimentResult:
    """Score every pair."""
    pairs = load_pairs(settings)
    probabilities = classifier.probabilities([(text, None) for text in (*pairs.female, *pairs.male)])
    values, score_name = sentiment_scores(probabilities, classifier.labels, settings.label)
    first, second = values[: len(pairs.female)], values[len(pairs.female) :]
    labels = probabilities.argmax(axis=1)
    flipped = labels[: len(pairs.female)] != labels[len(pairs.female) :]
    return summarize(pairs, first, second, flipped, score_name, seed=settings.seed)


def summarize(
    pairs: SentencePairs, first: Floats, second: Floats, flipped: object, score_name: str, *, seed: int
) -> SentimentResult:
    """The result from given scores."""
    flips = np.asarray(flipped, dtype=np.float64)
    units, groups, gaps = np.array(pairs.unit), np.array(pairs.group), first - second
    names = ["all", *dict.fromkeys(pairs.group)] if len(set(pairs.group)) > 1 else ["all"]
    shifts = {}
    for name in names:
        in_group = np.ones(len(gaps), dtype=bool) if name == "all" else groups == name
        shifts[name] = _shift(gaps[in_group], flips[in_group], units[in_group], seed, name)
    widest = np.argsort(-np.abs(gaps))[:6]
    shown = tuple((pairs.female[at], pairs.male[at], float(gaps[at])) for at in widest)
    return SentimentResult(shifts, score_name, pairs.sides, shown)


def sentiment_scores(probabilities: Floats, labels: Sequence[str], label: str | None) -> tuple[Floats, str]:
    """One score per text: the probability of `label`, by default of the positive one.

    Labels in stars (`1 star` … `5 stars`) give the expected number of stars.
    """
    names = [name.lower() for name in labels]
    if label is not None:
        if label.lower() not in names:
            raise ModelError(f"no label {label!r}: the classifier has {', '.join(labels)}")
        return probabilities[:, names.index(label.lower())], f"probability of {label}"
    if all("star" in name for name in names):
        stars = np.array([float(name.split()[0]) for name in names])
        return probabilities @ stars, "expected stars"
    good = [at for at, name in enumerate(names) if name.startswith("pos")]
    if len(good) == 1:
        return probabilities[:, good[0]], f"probability of {labels[good[0]]}"
    raise ModelError(f"no label is clearly the positive one: give `label`, one of {', '.join(labels)}")


def conclude(observations: Sequence[TaskObservation], settings: TaskSettings) -> Finding:
    """The difference by group of sentences, and the pairs that differ most."""
    from unmask.findings import charts

    a, b = observations[0].result.sides
    table = Table(
        f"Score of {a} − {b}",
        ("model", "sentences", f"{a} − {b}", "p", "sensitivity", "label changes, %", "pairs", "units"),
        tuple(_row(observation, name) for observation in observations for name in observation.result.shifts),
        f"Score: {observations[0].result.score_name}. Sensitivity: the mean absolute difference. "
        "Interval and p (Student): templates resampled, each with all its pairs.",
        digits=4,
    )
    widest = Table(
        "Pairs that differ most",
        ("model", a, b, f"{a} − {b}"),
        tuple(
            (str(observation.model["id"]), *row)
            for observation in observations
            for row in observation.result.widest
        ),
        "Single pairs have no interval.",
        digits=4,
    )
    rows = [
        {
            "label": name,
            "series": str(observation.model["id"]),
            "value": shift.difference.value,
            "low": shift.difference.low,
            "high": shift.difference.high,
        }
        for observation in observations
        for name, shift in observation.result.shifts.items()
    ]
    description = "Difference of scores by group of sentences, with intervals."
    plot = Plot(
        "sentiment", "Difference of scores", description, charts.intervals(rows, axis=f"{a} − {b}", null=0.0)
    )
    return Finding(tuple(map(_answer, observations)), (table, widest), (plot,))


def headline(result: SentimentResult) -> Headline:
    """The mean difference over all pairs."""
    whole = result.shifts["all"]
    return Headline("score, female − male", whole.difference, whole.n)


def _shift(gaps: Floats, flips: Floats, units: object, seed: int, label: str) -> ScoreShift:
    if not gaps.size:
        raise DataError("no pair of sentences was scored: the data is empty")
    _, index = np.unique(np.asarray(units), return_inverse=True)
    counts = np.bincount(index)
    by = np.bincount(index, gaps) / counts
    sizes = np.bincount(index, np.abs(gaps)) / counts
    difference = mean_interval(by, rng=generator(seed, label), unit="units")
    sensitivity = mean_interval(sizes, rng=generator(seed, f"{label}/size"), unit="units")
    return ScoreShift(
        Value(mean(by), difference.low, difference.high, difference.method),
        mean_test(by, 0.0),
        Value(mean(sizes), sensitivity.low, sensitivity.high, sensitivity.method),
        100 * mean(flips),
        gaps.size,
        len(counts),
    )


def _row(observation: TaskObservation, name: str) -> tuple[Cell, ...]:
    shift: ScoreShift = observation.result.shifts[name]
    return (
        *(observation.model["id"], name, shift.difference, shift.p, shift.sensitivity, shift.flips),
        *(shift.n, shift.units),
    )


def _answer(observation: TaskObservation) -> str:
    result: SentimentResult = observation.result
    shift, (a, b) = result.shifts["all"], result.sides
    return (
        f"{observation.model['id']}: {result.score_name} {a} − {b} {shift.difference.value:+.4f} "
        f"({shift.difference.low:+.4f} to "
        f"{shift.difference.high:+.4f}), sensitivity {shift.sensitivity.value:.4f}, {shift.n:,} pairs"
    )


SENTIMENT = Task(
    name="sentiment",
    title="Sentiment by gender",
    question="Does a classifier's score change when a sentence is about a woman instead of a man?",
    needs="classifier",
    observe=observe,
    conclude=conclude,
    headline=headline,
    citation="kiritchenko-mohammad-2018-examining",
)
