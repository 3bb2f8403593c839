"""`nlibias`: does a model infer gender from a premise that does not mention it? (Dev et al. 2020).

"The man ate a bagel" neither follows from "The accountant ate a bagel" nor contradicts it. Fraction neutral
(FN): share of pairs classified as neutral. Net neutral (NN): mean probability of neutral. T:τ: share with a
probability above τ. Each for hypotheses about women and about men; the bias is their difference, as in Kaneko
et al. (2022).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from unmask.core.errors import ModelError
from unmask.core.estimate import Estimate, Value
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.data import nli
from unmask.data.examples import find_local, published_sources, user_source
from unmask.findings import Finding, Plot, Table
from unmask.findings.numbers import signed_value
from unmask.models.classifier import Classifier
from unmask.stats.means import mean, mean_interval
from unmask.tasks import triples
from unmask.tasks.finetune import user_data
from unmask.tasks.performance import both_ends
from unmask.tasks.spec import Task, TaskData, TaskObservation, TaskSettings

CHUNK = 20_000  # triples in memory at a time
SIDES = ("female", "male")


@dataclass(frozen=True, slots=True)
class Neutrality:
    """One measure of neutrality: for women, for men, and the difference female − male."""

    female: Value
    male: Value
    difference: Value


@dataclass(frozen=True, slots=True)
class NliBiasResult:
    """The measures of neutrality, and the fraction neutral by occupation."""

    measures: dict[str, Neutrality]  # fn, nn, t:0.5, …
    occupations: dict[str, tuple[float, float, int]]  # FN female, FN male, triples
    n: int
    possible: int  # triples that exist


def load_task_data(settings: TaskSettings) -> TaskData:
    """Load the user's files; else counterfactual NLI, plus MNLI's matched development set if present."""
    if (given := user_data(settings, nli.LABELS, nli.load)) is not None:
        return given
    files = list(published_sources(nli.CARD, data_dir=settings.data_dir))
    train, dev, test = (nli.load(file) for file in files)
    notes = []
    path = find_local(nli.MNLI_DEV, data_dir=settings.data_dir)
    if path is not None:
        files.append(user_source(path))
        more = nli.load(files[-1])
        train, dev = (*train, *more[: len(more) * 9 // 10]), (*dev, *more[len(more) * 9 // 10 :])
        notes.append(
            "fine-tuned on nine tenths of MNLI's matched development set, validated on the rest, "
            "not on MNLI itself"
        )
    return TaskData(nli.LABELS, train, dev, test, tuple(files), tuple(notes))


def observe(classifier: Classifier, settings: TaskSettings) -> NliBiasResult:
    """Sample triples and classify them in chunks."""
    order = label_order(classifier.labels)
    rng = generator(settings.seed, "triples")
    sampled = triples.sample_triples(settings.triples, rng)
    occupations: list[str] = []
    parts: list[Floats] = []
    while chunk := list(islice(sampled, CHUNK)):
        occupations += [triple.occupation for triple in chunk]
        pairs = [(triple.premise, text) for triple in chunk for text in (triple.female, triple.male)]
        probabilities = classifier.probabilities(pairs)[:, order]
        parts.append(probabilities.reshape(len(chunk), 2, len(nli.LABELS)))
    return summarize(occupations, np.concatenate(parts), settings)


def label_order(labels: Sequence[str]) -> list[int]:
    """The indices of entailment, neutral and contradiction among a classifier's labels."""
    names = [name.lower() for name in labels]
    order = [
        next((at for at, name in enumerate(names) if name.startswith(label[:6])), -1) for label in nli.LABELS
    ]
    if -1 in order or len(names) != len(nli.LABELS):
        raise ModelError(f"the classifier's labels are {', '.join(labels)}; expected {', '.join(nli.LABELS)}")
    return order


def summarize(occupations: Sequence[str], probabilities: Floats, settings: TaskSettings) -> NliBiasResult:
    """The result from probabilities: triples × (female, male) × (entailment, neutral, contradiction)."""
    neutral = probabilities[..., 1]
    values = {"fn": (probabilities.argmax(axis=-1) == 1).astype(np.float64), "nn": neutral}
    values |= {f"t:{bound:g}": (neutral > bound).astype(np.float64) for bound in settings.thresholds}
    names, index = np.unique(np.array(occupations), return_inverse=True)
    counts = np.bincount(index)
    by_occupation = {
        key: np.stack([np.bincount(index, measured[:, side]) / counts for side in range(2)], axis=1)
        for key, measured in values.items()
    }
    measures = {}
    for key, measured in values.items():
        female, male = measured.T
        by_female, by_male = by_occupation[key].T
        measures[key] = Neutrality(
            _clustered_value(female, by_female, settings.seed, f"{key}/female"),
            _clustered_value(male, by_male, settings.seed, f"{key}/male"),
            _clustered_value(female - male, by_female - by_male, settings.seed, key),
        )
    fn_by_occupation = {
        str(name): (float(by_occupation["fn"][at, 0]), float(by_occupation["fn"][at, 1]), int(counts[at]))
        for at, name in enumerate(names)
    }
    return NliBiasResult(measures, fn_by_occupation, len(occupations), triples.triple_count())


def conclude(observations: Sequence[TaskObservation], settings: TaskSettings) -> Finding:
    """The measures, and the occupations that differ most."""
    from unmask.findings import charts

    measured = [(each, name, value) for each in observations for name, value in each.result.measures.items()]
    bias = Table(
        "Neutral towards women and men",
        ("model", "measure", "female", "male", "female − male", "triples"),
        tuple(
            (each.name, name, value.female, value.male, value.difference, each.result.n)
            for each, name, value in measured
        ),
        "fn: share classified as neutral; nn: mean probability of neutral; t:τ: share with probability above "
        "τ. 1 is right for every pair, a difference of 0 is no preference. Interval: occupations resampled, "
        "each with all its triples.",
        digits=3,
    )
    rows = [
        charts.interval_row(f"{name} · {each.name}", getattr(value, side), side)
        for each, name, value in measured
        for side in SIDES
    ]
    plot = Plot(
        "nlibias",
        "Neutrality",
        "Measures of neutrality for hypotheses about women and about men, with intervals.",
        charts.intervals(rows, axis="share, or mean probability"),
    )
    return Finding(tuple(map(_answer, observations)), (bias, _occupations(observations)), (plot,))


def estimates(result: NliBiasResult) -> list[Estimate]:
    """FN of women − FN of men, then the other measures, and the measures of either side."""
    names = {"fn": "fraction neutral", "nn": "net neutral"}
    differences = [
        Estimate.of(value.difference, statistic=f"{names.get(key, key)}, female − male", null=0.0, n=result.n)
        for key, value in result.measures.items()
    ]
    sides = [
        Estimate.of(getattr(value, side), statistic=names.get(key, key), group=f"gender={side}", n=result.n)
        for key, value in result.measures.items()
        for side in SIDES
    ]
    return [*differences, *sides]


def _clustered_value(values: Floats, by_occupation: Floats, seed: int, label: str) -> Value:
    """The mean over triples; its interval is that of the mean over occupations, shifted to it."""
    value = mean(values)
    over = mean_interval(by_occupation, rng=generator(seed, label), unit="occupations")
    shift = value - over.value
    return Value(value, over.low + shift, over.high + shift, over.method)


def _occupations(observations: Sequence[TaskObservation]) -> Table:
    """The occupations with the largest differences in either direction."""
    rows = []
    for observation in observations:
        by_occupation = observation.result.occupations.items()
        ranked = sorted((female - male, name, female, male, n) for name, (female, male, n) in by_occupation)
        rows += [
            (observation.name, name, female, male, difference, n)
            for difference, name, female, male, n in both_ends(ranked)
        ]
    return Table(
        "Occupations that differ most",
        ("model", "occupation", "fn, female", "fn, male", "female − male", "triples"),
        tuple(rows),
        "Below 0: hypotheses about women are less often neutral. Single occupations have no interval here.",
        digits=3,
    )


def _answer(observation: TaskObservation) -> str:
    """The answer in one sentence."""
    result: NliBiasResult = observation.result
    neutrality = result.measures["fn"]
    fine_tuned = observation.fine_tuned
    accuracy = f"; validation accuracy {fine_tuned.dev.value:.3f}" if fine_tuned else ""
    return (
        f"{observation.name}: neutral {neutrality.female.value:.3f} for women, "
        f"{neutrality.male.value:.3f} for men, difference {signed_value(neutrality.difference, 4)}, "
        f"{result.n:,} of {result.possible:,} triples{accuracy}"
    )


NLIBIAS = Task(
    name="nlibias",
    title="NLI-bias",
    question="Does the model infer gender from a premise that does not mention it?",
    needs="training",
    observe=observe,
    conclude=conclude,
    estimates=estimates,
    citation="dev-etal-2020-measuring",
    load_data=load_task_data,
)
