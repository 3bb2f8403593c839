"""`nlibias`: does a model infer gender from a premise that does not mention it? (Dev et al. 2020).

"The man ate a bagel" neither follows from "The accountant ate a bagel" nor contradicts it. Fraction neutral
(FN): share of pairs classified as neutral. Net neutral (NN): mean probability of neutral. T:τ: share with a
probability above τ. Each for hypotheses about women and about men; the bias is their difference, as in Kaneko
et al. (2022). The triples of a premise and two hypotheses are all combinations of built-in lists, numbered,
so that any one can be built without the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from unmask import data as datasets
from unmask.core.errors import ModelError
from unmask.core.estimate import Estimate, Value
from unmask.core.options import option
from unmask.data import nli
from unmask.data.examples import Source, find_local, published_sources, rows_of, text_column, user_source
from unmask.findings import Conclusion, Finding, Table, sentences
from unmask.findings.table import table
from unmask.tasks.spec import FineTuningOptions, Task, TaskData, TaskObservation
from unmask.tasks.tables import both_ends, estimates_of, rows_by_model

if TYPE_CHECKING:
    import numpy as np

    from unmask.core.types import Floats, Ints
    from unmask.models.classifier import Classifier

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
NAMES = {"fn": "fraction neutral", "nn": "net neutral"}  # of the measures; the others are `t:τ`


@dataclass(frozen=True)
class NliBiasOptions(FineTuningOptions):
    """The options of NLI-bias."""

    data: Path | None = option(None, "File of triples: premise, female, male, occupation.", shown="built-in triples")
    triples: int = option(10_000, "Number of sampled triples.", least=1)
    thresholds: tuple[float, ...] = (0.5, 0.7)  # the τ of the T:τ scores


@dataclass(frozen=True, slots=True)
class Triple:
    """A premise without gender, and two hypotheses with one."""

    occupation: str
    premise: str
    female: str
    male: str


@dataclass(frozen=True, slots=True)
class NliBiasResult:
    """Every measure of neutrality as a difference female − male, then by side; the fraction neutral by occupation."""

    estimates: tuple[Estimate, ...]  # that of the fraction neutral first
    occupations: dict[str, tuple[float, float, int]]  # fraction neutral female, male; triples
    possible: int  # triples that exist


def training_files(options: NliBiasOptions) -> tuple[Source, ...]:
    """The files of counterfactual NLI and, if it is on this machine, MNLI's; or the user's."""
    mnli = find_local(nli.MNLI_DEV, data_dir=options.data_dir)
    others = (user_source(mnli),) if mnli else ()
    return options.user_files() or (*published_sources(nli.CARD, data_dir=options.data_dir), *others)


def load_task_data(options: NliBiasOptions) -> TaskData:
    """Load the user's files; else counterfactual NLI, plus MNLI's matched development set if present."""
    files = training_files(options)
    data = TaskData.of_files(nli.LABELS, nli.load, files[:3])
    if len(files) <= 3:
        return data
    more = nli.load(files[3])
    cut = len(more) * 9 // 10
    note = "fine-tuned on nine tenths of MNLI's matched development set, validated on the rest, not on MNLI itself"
    train, dev = (*data.train, *more[:cut]), (*data.dev, *more[cut:])
    return TaskData(nli.LABELS, train, dev, data.test, files, (note,))


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
    numbers = (
        range(total) if count >= total else sorted(rng.choice(total, count, replace=False, shuffle=False).tolist())
    )
    return map(at, numbers)


def read_triples(path: Path) -> list[Triple]:
    """The triples of a file with premise, female, male and occupation; without the last, premises stand for it."""
    rows = rows_of(user_source(path))
    premise, female, male = (text_column(rows, [name]) for name in ("premise", *SIDES))
    occupation = text_column(rows, ["occupation"]) if "occupation" in rows[0] else premise
    return [Triple(row[occupation], row[premise], row[female], row[male]) for row in rows]


def sources(options: NliBiasOptions) -> tuple[Source, ...]:
    """The user's file of triples."""
    return (user_source(options.data),) if options.data is not None else ()


def observe(classifier: Classifier, options: NliBiasOptions) -> NliBiasResult:
    """Sample triples, of the user's file or built-in ones, and classify them in chunks."""
    import numpy as np

    from unmask.core.seeds import generator

    order = label_order(classifier.labels)
    given = read_triples(options.data) if options.data is not None else None
    sampled = sample_triples(options.triples, generator(options.seed, "triples"), given)
    occupations: list[str] = []
    parts: list[Floats] = []
    while chunk := list(islice(sampled, CHUNK)):
        occupations += [triple.occupation for triple in chunk]
        pairs = [(triple.premise, text) for triple in chunk for text in (triple.female, triple.male)]
        parts.append(classifier.probabilities(pairs)[:, order].reshape(len(chunk), 2, len(nli.LABELS)))
    possible = triple_count() if given is None else len(given)
    return summarize(occupations, np.concatenate(parts), options, possible)


def label_order(labels: Sequence[str]) -> list[int]:
    """The indices of entailment, neutral and contradiction among a classifier's labels."""
    names = [name.lower() for name in labels]
    order = [next((at for at, name in enumerate(names) if name.startswith(label[:6])), -1) for label in nli.LABELS]
    if -1 in order or len(names) != len(nli.LABELS):
        raise ModelError(f"the classifier's labels are {', '.join(labels)}; expected {', '.join(nli.LABELS)}")
    return order


def summarize(
    occupations: Sequence[str], probabilities: Floats, options: NliBiasOptions, possible: int = 0
) -> NliBiasResult:
    """The result from probabilities: triples × (female, male) × (entailment, neutral, contradiction)."""
    import numpy as np

    neutral = probabilities[..., 1]
    fractions = (probabilities.argmax(axis=-1) == 1).astype(np.float64)
    values = {"fn": fractions, "nn": neutral}
    values |= {f"t:{bound:g}": (neutral > bound).astype(np.float64) for bound in options.thresholds}
    names, index = np.unique(np.array(occupations), return_inverse=True)
    differences, sides = [], []
    for key, measured in values.items():
        name, columns = NAMES.get(key, key), measured.T
        value = _clustered_value(columns[0] - columns[1], index, options.seed, key)
        differences.append(Estimate.of(value, statistic=f"{name}, female − male", null=0.0, n=len(occupations)))
        for side, column in zip(SIDES, columns, strict=True):
            value = _clustered_value(column, index, options.seed, f"{key}/{side}")
            sides.append(Estimate.of(value, statistic=name, group=f"gender={side}", n=len(occupations)))
    female, male, counts = (np.bincount(index, weights).tolist() for weights in (*fractions.T, None))
    rows = zip(names.tolist(), female, male, counts, strict=True)
    return NliBiasResult(
        (*differences, *sides), {name: (women / n, men / n, n) for name, women, men, n in rows}, possible
    )


def _clustered_value(values: Floats, occupations: Ints, seed: int, label: str) -> Value:
    """The mean over triples; its interval is that of the mean over occupations, shifted to it."""
    import numpy as np

    from unmask.core.seeds import generator
    from unmask.stats.intervals import mean, mean_interval

    by_occupation = np.bincount(occupations, values) / np.bincount(occupations)
    value = mean(values)
    over = mean_interval(by_occupation, rng=generator(seed, label), unit="occupations")
    shift = value - over.value
    return Value(value, over.low + shift, over.high + shift, over.method)


def conclude(observations: Sequence[TaskObservation], options: NliBiasOptions) -> Conclusion:
    """The measures, and the occupations that differ most."""
    from unmask.findings import charts

    estimates = estimates_of(observations)
    sides = [estimate for estimate in estimates if estimate.group != "all"]
    note = (
        "Fraction neutral: share classified as neutral; net neutral: mean probability of neutral; t:τ: share with "
        "probability above τ. 1 is right for every pair, a difference of 0 is no preference. Interval: occupations "
        "resampled, each with all its triples."
    )
    differences = table(
        "Neutral towards women less neutral towards men",
        [estimate for estimate in estimates if estimate.group == "all"],
        rows={"model": "model", "measure": "statistic"},
        columns={"difference": "value", "triples": "n"},
        note=note,
    )
    by_side = table(
        "Neutral towards women and men", sides, rows={"model": "model", "measure": "statistic"}, across="gender"
    )
    occupations = Table(
        "Occupations that differ most",
        ("model", "occupation", "fn, female", "fn, male", "female − male", "triples"),
        rows_by_model(observations, _largest_differences),
        "Below 0: hypotheses about women are less often neutral. Single occupations have no interval here.",
        digits=3,
    )
    plots = charts.interval_plots(
        "nlibias",
        "Neutrality",
        "Measures of neutrality for hypotheses about women and about men, with intervals.",
        [
            (f"{estimate.statistic} · {estimate.model}", estimate, estimate.group.removeprefix("gender="))
            for estimate in sides
        ],
        axis="share, or mean probability",
    )
    answers = tuple(
        sentences.difference(f"{observation.name}: share neutral", "for women", "for men", observation.estimates[0])
        for observation in observations
    )
    notes = tuple(
        f"{observation.name}: {observation.estimates[0].n:,} of {observation.result.possible:,} triples"
        for observation in observations
    )
    return Conclusion(Finding(answers, (differences, by_side, occupations), plots, notes), tuple(estimates))


def _largest_differences(result: NliBiasResult) -> list[tuple[str, float, float, float, int]]:
    """The occupations with the largest differences in either direction."""
    by_occupation = result.occupations.items()
    rows = [(name, female, male, female - male, n) for name, (female, male, n) in by_occupation]
    return both_ends(sorted(rows, key=lambda row: (row[3], row[0])))


NLIBIAS = Task(
    name="nlibias",
    title="NLI-bias",
    question="Does the model infer gender from a premise that does not mention it?",
    needs="training",
    observe=observe,
    conclude=conclude,
    citation="dev-etal-2020-measuring",
    options=NliBiasOptions,
    load_data=load_task_data,
    training=training_files,
    sources=sources,
)
