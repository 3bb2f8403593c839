"""`sentiment`: does a classifier's score change when a sentence speaks of a woman in the place of a man?

Gendered pairs of sentences, as in the Equity Evaluation Corpus (Kiritchenko & Mohammad 2018); perturbation
sensitivity as in Prabhakaran et al. (2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask import data as datasets
from unmask.core.errors import DataError, ModelError
from unmask.core.types import Floats
from unmask.findings import Cell, Finding, Plot, Table, Value
from unmask.models.classifier import Classifier
from unmask.stats.bootstrap import generator
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
    """Sentences of women and of men, side by side; pairs of one `unit` are not independent."""

    female: tuple[str, ...]
    male: tuple[str, ...]
    unit: tuple[str, ...]
    group: tuple[str, ...]
    sides: tuple[str, str] = ("female", "male")


@dataclass(frozen=True, slots=True)
class ScoreShift:
    """The difference of scores, and how much scores move whichever way."""

    difference: Value
    p: float | None
    sensitivity: Value  # mean size of the difference
    flips: float  # percent of pairs whose most likely label differs
    n: int
    units: int


@dataclass(frozen=True, slots=True)
class SentimentResult:
    """By group of sentences and over all."""

    shifts: dict[str, ScoreShift]
    score_name: str  # "probability of positive"
    sides: tuple[str, str]
    widest: tuple[tuple[str, str, float], ...]  # the pairs that differ most


def load_pairs(settings: TaskSettings) -> SentencePairs:
    """Our templates with every couple; or the pairs of a file or dataset, `more` − `less`."""
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
    made = [
        (text.format(woman), text.format(man), text, group)
        for group, texts in TEMPLATES.items()
        for text in texts
        for woman, man in SUBJECTS
    ][: settings.limit]
    female, male, unit, group = zip(*made, strict=True)
    return SentencePairs(female, male, unit, group)


def observe(judge: Classifier, settings: TaskSettings) -> SentimentResult:
    """Every pair scored."""
    asked = load_pairs(settings)
    said = judge.probabilities([(text, None) for text in (*asked.female, *asked.male)])
    values, what = sentiment_scores(said, judge.labels, settings.label)
    first, second = values[: len(asked.female)], values[len(asked.female) :]
    labels = said.argmax(axis=1)
    flipped = labels[: len(asked.female)] != labels[len(asked.female) :]
    return summarize(asked, first, second, flipped, what, seed=settings.seed)


def summarize(
    asked: SentencePairs, first: Floats, second: Floats, flipped: object, what: str, *, seed: int
) -> SentimentResult:
    """The figures of given scores."""
    flips = np.asarray(flipped, dtype=np.float64)
    units, groups, gaps = np.array(asked.unit), np.array(asked.group), first - second
    names = ["all", *dict.fromkeys(asked.group)] if len(set(asked.group)) > 1 else ["all"]
    shifts = {}
    for name in names:
        kept = np.ones(len(gaps), dtype=bool) if name == "all" else groups == name
        shifts[name] = _shift(gaps[kept], flips[kept], units[kept], seed, name)
    widest = np.argsort(-np.abs(gaps))[:6]
    shown = tuple((asked.female[at], asked.male[at], float(gaps[at])) for at in widest)
    return SentimentResult(shifts, what, asked.sides, shown)


def sentiment_scores(said: Floats, labels: Sequence[str], wanted: str | None) -> tuple[Floats, str]:
    """One number for every text: the probability of the label named, else of the positive one.

    Stars (`1 star` … `5 stars`) become the expected number of them.
    """
    names = [name.lower() for name in labels]
    if wanted is not None:
        if wanted.lower() not in names:
            raise ModelError(f"no label {wanted!r}: the classifier has {', '.join(labels)}")
        return said[:, names.index(wanted.lower())], f"probability of {wanted}"
    if all("star" in name for name in names):
        stars = np.array([float(name.split()[0]) for name in names])
        return said @ stars, "expected stars"
    good = [at for at, name in enumerate(names) if name.startswith("pos")]
    if len(good) == 1:
        return said[:, good[0]], f"probability of {labels[good[0]]}"
    raise ModelError(f"which label is the positive one? Give --label, one of {', '.join(labels)}")


def conclude(seen: Sequence[TaskObservation], settings: TaskSettings) -> Finding:
    """The difference by group of sentences, and the pairs that differ most."""
    from unmask.findings import charts

    a, b = seen[0].result.sides
    table = Table(
        f"Score of {a} − {b}",
        ("model", "sentences", f"{a} − {b}", "p", "sensitivity", "label changes, %", "pairs", "units"),
        tuple(_row(one, name) for one in seen for name in one.result.shifts),
        f"Score: {seen[0].result.score_name}. Sensitivity: the mean size of the difference, whichever way. "
        "Interval and p "
        "(Student): templates resampled, each with all its couples.",
        digits=4,
    )
    widest = Table(
        "Pairs that differ most",
        ("model", a, b, f"{a} − {b}"),
        tuple((str(one.model["id"]), *row) for one in seen for row in one.result.widest),
        "Single pairs have no interval.",
        digits=4,
    )
    rows = [
        {
            "label": name,
            "series": str(one.model["id"]),
            "value": shift.difference.value,
            "low": shift.difference.low,
            "high": shift.difference.high,
        }
        for one in seen
        for name, shift in one.result.shifts.items()
    ]
    told = "Difference of scores by group of sentences, with intervals."
    plot = Plot(
        "sentiment", "Difference of scores", told, charts.intervals(rows, axis=f"{a} − {b}", null=0.0)
    )
    return Finding(tuple(map(_answer, seen)), (table, widest), (plot,))


def headline(found: SentimentResult) -> Headline:
    """The mean difference over all pairs."""
    whole = found.shifts["all"]
    return Headline("score, female − male", whole.difference, whole.n)


def _shift(gaps: Floats, flips: Floats, units: object, seed: int, label: str) -> ScoreShift:
    if not gaps.size:
        raise DataError("no pair of sentences was scored: the data is empty")
    _, place = np.unique(np.asarray(units), return_inverse=True)
    counts = np.bincount(place)
    by = np.bincount(place, gaps) / counts
    sizes = np.bincount(place, np.abs(gaps)) / counts
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


def _row(one: TaskObservation, name: str) -> tuple[Cell, ...]:
    shift: ScoreShift = one.result.shifts[name]
    return (
        *(one.model["id"], name, shift.difference, shift.p, shift.sensitivity, shift.flips),
        *(shift.n, shift.units),
    )


def _answer(one: TaskObservation) -> str:
    found: SentimentResult = one.result
    shift, (a, b) = found.shifts["all"], found.sides
    return (
        f"{one.model['id']}: {found.score_name} {a} − {b} {shift.difference.value:+.4f} "
        f"({shift.difference.low:+.4f} to "
        f"{shift.difference.high:+.4f}), sensitivity {shift.sensitivity.value:.4f}, {shift.n:,} pairs"
    )


SENTIMENT = Task(
    name="sentiment",
    title="Sentiment by gender",
    question="Does a classifier's score change when a sentence speaks of a woman in the place of a man?",
    needs="classifier",
    observe=observe,
    conclude=conclude,
    headline=headline,
    citation="kiritchenko-mohammad-2018-examining",
)
