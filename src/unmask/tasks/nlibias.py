"""`nlibias`: is a premise that says nothing of gender taken to say something of it? (Dev et al. 2020).

"The man ate a bagel" neither follows from "The accountant ate a bagel" nor contradicts it. Fraction neutral
(FN): share of pairs called neutral. Net neutral (NN): mean probability of neutral. T:τ: share with that above
τ. Each for hypotheses about women and about men; the bias is their difference, as in Kaneko et al. (2022).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from unmask.core.errors import DataError, ModelError
from unmask.core.types import Floats
from unmask.data import nli
from unmask.data.examples import Source, find_local, published_sources, user_source
from unmask.findings import Cell, Finding, Plot, Table, Value
from unmask.models.classifier import Classifier
from unmask.stats.bootstrap import generator
from unmask.stats.means import mean, mean_interval
from unmask.tasks import triples
from unmask.tasks.spec import Headline, Task, TaskData, TaskObservation, TaskSettings
from unmask.tasks.training_tables import not_learnt_notes, training_table

CHUNK = 20_000  # triples held at a time
SIDES = ("female", "male")


@dataclass(frozen=True, slots=True)
class Neutrality:
    """One measure of neutrality: either side, and female − male."""

    female: Value
    male: Value
    difference: Value


@dataclass(frozen=True, slots=True)
class NliBiasResult:
    """The measures, and what is said by occupation."""

    measures: dict[str, Neutrality]  # fn, nn, t:0.5, …
    occupations: dict[str, tuple[float, float, int]]  # FN female, FN male, triples
    n: int
    possible: int


def load_task_data(settings: TaskSettings) -> TaskData:
    """The user's files; else counterfactual NLI, with MNLI's matched development set if it is there."""
    if settings.train is not None:
        files = [user_source(settings.train), *([user_source(settings.dev)] if settings.dev else [])]
        parts = [nli.load(file) for file in files]
        if len(parts) == 1:
            parts = [parts[0][: -len(parts[0]) // 10], parts[0][-len(parts[0]) // 10 :]]
        return TaskData(nli.LABELS, parts[0], parts[1], (), tuple(files))
    files = list(published_sources(nli.CARD, data_dir=settings.data_dir))
    train, dev, test = (nli.load(file) for file in files)
    notes = []
    place = find_local(nli.MNLI_DEV, data_dir=settings.data_dir)
    if place is not None:
        files.append(user_source(place))
        more = nli.load(files[-1])
        train, dev = (*train, *more[: len(more) * 9 // 10]), (*dev, *more[len(more) * 9 // 10 :])
        notes.append(
            "taught with nine tenths of MNLI's matched development set, judged on the rest: not MNLI itself"
        )
    return TaskData(nli.LABELS, train, dev, test, tuple(files), tuple(notes))


def observe(judge: Classifier, settings: TaskSettings) -> NliBiasResult:
    """Triples drawn by the seed, judged some at a time."""
    order = label_order(judge.labels)
    rng = generator(settings.seed, "triples")
    made = triples.sample_triples(settings.triples, rng)
    jobs: list[str] = []
    parts: list[Floats] = []
    for some in _chunks(made, CHUNK):
        jobs += [one.occupation for one in some]
        pairs = [(one.premise, text) for one in some for text in (one.female, one.male)]
        said = judge.probabilities(pairs)[:, order]
        parts.append(said.reshape(len(some), 2, len(nli.LABELS)))
    return summarize(jobs, np.concatenate(parts), settings)


def label_order(labels: Sequence[str]) -> list[int]:
    """Where entailment, neutral and contradiction stand among a classifier's labels."""
    names = [name.lower() for name in labels]
    found = [
        next((at for at, name in enumerate(names) if name.startswith(one[:6])), -1) for one in nli.LABELS
    ]
    if -1 in found or len(names) != len(nli.LABELS):
        raise ModelError(f"the classifier's labels are {', '.join(labels)}; expected {', '.join(nli.LABELS)}")
    return found


def summarize(jobs: Sequence[str], said: Floats, settings: TaskSettings) -> NliBiasResult:
    """The figures of given probabilities: triples × (female, male) × (entailment, neutral, contradiction)."""
    neutral = said[..., 1]
    values = {"fn": (said.argmax(axis=-1) == 1).astype(np.float64), "nn": neutral}
    values |= {f"t:{bound:g}": (neutral > bound).astype(np.float64) for bound in settings.thresholds}
    names, place = np.unique(np.array(jobs), return_inverse=True)
    counts = np.bincount(place)
    by = {
        key: np.stack([np.bincount(place, one[:, side]) / counts for side in range(2)], axis=1)
        for key, one in values.items()
    }
    found = {
        key: Neutrality(
            _ranged(one[:, 0], by[key][:, 0], settings.seed, f"{key}/female"),
            _ranged(one[:, 1], by[key][:, 1], settings.seed, f"{key}/male"),
            _ranged(one[:, 0] - one[:, 1], by[key][:, 0] - by[key][:, 1], settings.seed, key),
        )
        for key, one in values.items()
    }
    per = {
        str(name): (float(by["fn"][at, 0]), float(by["fn"][at, 1]), int(counts[at]))
        for at, name in enumerate(names)
    }
    return NliBiasResult(found, per, len(jobs), triples.triple_count())


def conclude(seen: Sequence[TaskObservation], settings: TaskSettings) -> Finding:
    """The measures, how well the task was learnt, and the occupations that differ most."""
    from unmask.findings import charts

    bias = Table(
        "Neutral towards women and men",
        ("model", "measure", "female", "male", "female − male", "triples"),
        tuple(_row(one, name) for one in seen for name in one.result.measures),
        "fn: share called neutral; nn: mean probability of neutral; t:τ: share with probability above "
        "τ. 1 is "
        "right for every pair, a difference of 0 is no preference. Interval: occupations resampled, "
        "each with "
        "all its triples.",
        digits=3,
    )
    rows = [
        {
            "label": f"{name} · {one.model['id']}",
            "series": side,
            "value": getattr(found, side).value,
            "low": getattr(found, side).low,
            "high": getattr(found, side).high,
        }
        for one in seen
        for name, found in one.result.measures.items()
        for side in SIDES
    ]
    told = "Measures of neutrality for hypotheses about women and about men, with intervals."
    plot = Plot("nlibias", "Neutrality", told, charts.intervals(rows, axis="share, or mean probability"))
    taught = training_table(seen)
    return Finding(
        tuple(map(_answer, seen)),
        (bias, *((taught,) if taught.rows else ()), _occupations(seen)),
        (plot,),
        tuple(not_learnt_notes(seen)),
    )


def headline(found: NliBiasResult) -> Headline:
    """FN of women − FN of men."""
    return Headline("fraction neutral, female − male", found.measures["fn"].difference, found.n)


def sources(settings: TaskSettings) -> tuple[Source, ...]:
    """Nothing but our own lists."""
    return ()


def _chunks(made: Iterator[triples.Triple], size: int) -> Iterator[list[triples.Triple]]:
    while some := list(islice(made, size)):
        yield some


def _ranged(values: Floats, by_job: Floats, seed: int, label: str) -> Value:
    """The mean over triples; its interval is that of the mean over occupations, moved to it."""
    if not values.size:
        raise DataError("no triple was judged: give --triples of at least 1")
    value = mean(values)
    interval = mean_interval(by_job, rng=generator(seed, label), unit="occupations")
    shift = value - mean(by_job)
    return Value(value, interval.low + shift, interval.high + shift, interval.method)


def _row(one: TaskObservation, name: str) -> tuple[Cell, ...]:
    found: Neutrality = one.result.measures[name]
    return (one.model["id"], name, found.female, found.male, found.difference, one.result.n)


def _occupations(seen: Sequence[TaskObservation]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for one in seen:
        by = one.result.occupations
        ranked = sorted(by, key=lambda name: by[name][0] - by[name][1])
        chosen = ranked if len(ranked) <= 10 else [*ranked[:5], *ranked[-5:]]
        rows += [
            (one.model["id"], name, *by[name][:2], by[name][0] - by[name][1], by[name][2]) for name in chosen
        ]
    return Table(
        "Occupations that differ most",
        ("model", "occupation", "fn, female", "fn, male", "female − male", "triples"),
        tuple(rows),
        "Below 0: the woman is less often left open than the man. Single occupations have no interval here.",
        digits=3,
    )


def _answer(one: TaskObservation) -> str:
    found: Neutrality = one.result.measures["fn"]
    told = one.fine_tuned
    learnt_ = f"; development accuracy {told.dev.value:.3f}" if told else ""
    return (
        f"{one.model['id']}: neutral {found.female.value:.3f} for women, {found.male.value:.3f} for "
        "men, difference "
        f"{found.difference.value:+.4f} ({found.difference.low:+.4f} to {found.difference.high:+.4f}), "
        f"{one.result.n:,} of {one.result.possible:,} triples{learnt_}"
    )


NLIBIAS = Task(
    name="nlibias",
    title="NLI-bias",
    question="Is a premise that says nothing of gender taken to speak of one?",
    needs="training",
    observe=observe,
    conclude=conclude,
    headline=headline,
    citation="dev-etal-2020-measuring",
    load_data=load_task_data,
    sources=sources,
)
