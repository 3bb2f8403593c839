"""`nlibias`: does a model infer gender from a premise that does not mention it? (Dev et al. 2020).

"The man ate a bagel" neither follows from "The accountant ate a bagel" nor contradicts it. Fraction neutral
(FN): share of pairs classified as neutral. Net neutral (NN): mean probability of neutral. T:τ: share with a
probability above τ. Each for hypotheses about women and about men; the bias is their difference, as in Kaneko
et al. (2022). The triples of a premise and two hypotheses are all combinations of built-in lists, numbered,
so that any one can be built without the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np

from unmask import data as datasets
from unmask.core.errors import ModelError
from unmask.core.estimate import Estimate, Value
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.data import nli
from unmask.data.examples import Source, find_local, published_sources, rows_of, text_column, user_source
from unmask.findings import Finding
from unmask.findings.numbers import signed_value
from unmask.models.classifier import Classifier
from unmask.stats.intervals import mean, mean_interval
from unmask.tasks.finetune import user_data, user_files
from unmask.tasks.spec import TaskData, TaskObservation, TaskSettings
from unmask.tasks.tables import both_ends, table_by_model

CHUNK = 20_000  # triples in memory at a time
SIDES = ("female", "male")
GENDERED_NOUNS = (("woman", "man"), ("lady", "gentleman"), ("girl", "boy"), ("gal", "guy"))
ACTIONS = {  # verbs: their objects
    "bought sold borrowed returned lost found wanted traded": (
        "bicycle camera clock guitar ladder lamp mirror piano radio suitcase "
        "telescope tent umbrella watch backpack blanket jacket kettle sofa table"
    ),
    "ate ordered cooked shared served finished": (
        "burger cake curry omelette pancake pie pizza potato salad sandwich "
        "soup steak stew taco waffle muffin pear peach pretzel pudding"
    ),
    "drove parked washed rented repaired crashed": ("bus car jeep lorry minivan motorcycle pickup scooter tractor van"),
    "read wrote printed translated copied discussed": (
        "article book contract diary essay letter manual memo novel poem recipe report review script speech"
    ),
    "met called visited thanked greeted interrupted ignored helped praised": (
        "neighbour stranger teenager toddler tourist visitor cousin roommate customer colleague"
    ),
    "painted cleaned opened locked photographed inspected": (
        "attic balcony cabin cellar door fence garage gate house shed window"
    ),
}
ARTICLES = ("a", "the", "this")


@dataclass(frozen=True, slots=True)
class Triple:
    """A premise without gender, and two hypotheses with one."""

    occupation: str
    premise: str
    female: str
    male: str


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


def training_files(settings: TaskSettings) -> tuple[Source, ...]:
    """The files of counterfactual NLI and, if it is on this machine, MNLI's; or the user's."""
    if given := user_files(settings):
        return given
    mnli = find_local(nli.MNLI_DEV, data_dir=settings.data_dir)
    return (*published_sources(nli.CARD, data_dir=settings.data_dir), *([user_source(mnli)] if mnli else ()))


def load_task_data(settings: TaskSettings) -> TaskData:
    """Load the user's files; else counterfactual NLI, plus MNLI's matched development set if present."""
    if (given := user_data(settings, nli.LABELS, nli.load)) is not None:
        return given
    files = training_files(settings)
    train, dev, test, *others = map(nli.load, files)
    if not others:
        return TaskData(nli.LABELS, train, dev, test, files)
    (more,) = others
    cut = len(more) * 9 // 10
    note = "fine-tuned on nine tenths of MNLI's matched development set, validated on the rest, not on MNLI itself"
    train, dev = (*train, *more[:cut]), (*dev, *more[cut:])
    return TaskData(nli.LABELS, train, dev, test, files, (note,))


@cache
def actions() -> tuple[tuple[str, str], ...]:
    """Every verb with each of its objects."""
    return tuple(
        (verb, thing) for verbs, things in ACTIONS.items() for verb in verbs.split() for thing in things.split()
    )


@cache
def occupations() -> tuple[str, ...]:
    """The occupations of the built-in table whose names carry no gender."""
    words = datasets.read("word-pairs")
    gendered = {word.lower() for pair in words.pairs for word in (pair.masculine, pair.feminine)}
    names = [occupation.name for occupation in datasets.read("occupations")]
    return tuple(name for name in names if not gendered & {name.lower(), *name.lower().split()})


def triple_count() -> int:
    """The number of all triples."""
    return len(occupations()) * len(actions()) * len(GENDERED_NOUNS) * len(ARTICLES)


def triple_at(number: int) -> Triple:
    """The triple with this number; occupations vary fastest."""
    number, occupation_index = divmod(number, len(occupations()))
    number, action_index = divmod(number, len(actions()))
    article, noun = divmod(number, len(GENDERED_NOUNS))
    (verb, thing), (woman, man) = actions()[action_index], GENDERED_NOUNS[noun]
    before = "an" if ARTICLES[article] == "a" and thing.startswith(tuple("aeiou")) else ARTICLES[article]
    rest = f"{verb} {before} {thing}."
    name = occupations()[occupation_index]
    return Triple(name, f"The {name} {rest}", f"The {woman} {rest}", f"The {man} {rest}")


def sample_triples(count: int, rng: np.random.Generator, given: Sequence[Triple] | None = None) -> Iterator[Triple]:
    """Sample distinct triples, built-in or given ones, or yield all if `count` is large enough, in their order."""
    total, at = (triple_count(), triple_at) if given is None else (len(given), given.__getitem__)
    if count >= total:
        return map(at, range(total))
    return map(at, np.sort(rng.choice(total, count, replace=False, shuffle=False)).tolist())


def read_triples(path: Path) -> list[Triple]:
    """The triples of a file with premise, female, male and occupation; without the last, premises stand for it."""
    rows = rows_of(user_source(path))
    premise, female, male = (text_column(rows, [name]) for name in ("premise", *SIDES))
    occupation = text_column(rows, ["occupation"]) if "occupation" in rows[0] else premise
    return [Triple(row[occupation], row[premise], row[female], row[male]) for row in rows]


def sources(settings: TaskSettings) -> tuple[Source, ...]:
    """The user's file of triples."""
    return (user_source(settings.data),) if settings.data is not None else ()


def observe(classifier: Classifier, settings: TaskSettings) -> NliBiasResult:
    """Sample triples, of the user's file or built-in ones, and classify them in chunks."""
    order = label_order(classifier.labels)
    given = read_triples(settings.data) if settings.data is not None else None
    sampled = sample_triples(settings.triples, generator(settings.seed, "triples"), given)
    occupations: list[str] = []
    parts: list[Floats] = []
    while chunk := list(islice(sampled, CHUNK)):
        occupations += [triple.occupation for triple in chunk]
        pairs = [(triple.premise, text) for triple in chunk for text in (triple.female, triple.male)]
        parts.append(classifier.probabilities(pairs)[:, order].reshape(len(chunk), 2, len(nli.LABELS)))
    result = summarize(occupations, np.concatenate(parts), settings)
    return result if given is None else replace(result, possible=len(given))


def label_order(labels: Sequence[str]) -> list[int]:
    """The indices of entailment, neutral and contradiction among a classifier's labels."""
    names = [name.lower() for name in labels]
    order = [next((at for at, name in enumerate(names) if name.startswith(label[:6])), -1) for label in nli.LABELS]
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
    measures, by_occupation = {}, {}
    for key, measured in values.items():
        female, male = measured.T
        by_female, by_male = by_occupation[key] = [np.bincount(index, side) / counts for side in (female, male)]
        measures[key] = Neutrality(
            _clustered_value(female, by_female, settings.seed, f"{key}/female"),
            _clustered_value(male, by_male, settings.seed, f"{key}/male"),
            _clustered_value(female - male, by_female - by_male, settings.seed, key),
        )
    columns = (each.tolist() for each in (*by_occupation["fn"], counts))
    fn_by_occupation = dict(zip(names.tolist(), zip(*columns, strict=True), strict=True))
    return NliBiasResult(measures, fn_by_occupation, len(occupations), triple_count())


def conclude(observations: Sequence[TaskObservation], settings: TaskSettings) -> Finding:
    """The measures, and the occupations that differ most."""
    from unmask.findings import charts

    bias = table_by_model(
        observations,
        "Neutral towards women and men",
        ("measure", "female", "male", "female − male", "triples"),
        lambda result: [
            (name, value.female, value.male, value.difference, result.n) for name, value in result.measures.items()
        ],
        "fn: share classified as neutral; nn: mean probability of neutral; t:τ: share with probability above "
        "τ. 1 is right for every pair, a difference of 0 is no preference. Interval: occupations resampled, "
        "each with all its triples.",
    )
    occupations = table_by_model(
        observations,
        "Occupations that differ most",
        ("occupation", "fn, female", "fn, male", "female − male", "triples"),
        _largest_differences,
        "Below 0: hypotheses about women are less often neutral. Single occupations have no interval here.",
    )
    plots = charts.interval_plots(
        "nlibias",
        "Neutrality",
        "Measures of neutrality for hypotheses about women and about men, with intervals.",
        [
            (f"{name} · {each.name}", getattr(value, side), side)
            for each in observations
            for name, value in each.result.measures.items()
            for side in SIDES
        ],
        axis="share, or mean probability",
    )
    answers = [
        f"{each.name}: neutral {fn.female.value:.3f} for women, {fn.male.value:.3f} for men, difference "
        f"{signed_value(fn.difference, 4)}, {each.result.n:,} of {each.result.possible:,} triples"
        + (f"; validation accuracy {each.fine_tuned.dev.value:.3f}" if each.fine_tuned else "")
        for each, fn in ((each, each.result.measures["fn"]) for each in observations)
    ]
    return Finding(tuple(answers), (bias, occupations), plots)


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


def _largest_differences(result: NliBiasResult) -> list[tuple[str, float, float, float, int]]:
    """The occupations with the largest differences in either direction."""
    by_occupation = result.occupations.items()
    ranked = sorted((female - male, name, female, male, n) for name, (female, male, n) in by_occupation)
    return [(name, female, male, difference, n) for difference, name, female, male, n in both_ends(ranked)]
