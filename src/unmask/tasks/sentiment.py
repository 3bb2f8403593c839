"""`sentiment`: does a classifier's score change when a sentence is about a woman instead of a man?

Gendered pairs of sentences, as in the Equity Evaluation Corpus (Kiritchenko & Mohammad 2018), and sentences of
the form "noun is a profession" (Bhaskaran & Bhallamudi 2019); perturbation sensitivity as in Prabhakaran et al.
(2019). The pairs are those of the user's file, or templates filled with words of two genders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from unmask import data as datasets
from unmask.core.errors import DataError, ModelError, quote
from unmask.core.estimate import Estimate, Value
from unmask.core.options import option
from unmask.data.examples import Example, Source, column, rows_of, text_column
from unmask.data.templates import article
from unmask.findings import Conclusion, Finding, Table, sentences
from unmask.findings.table import table
from unmask.tasks.spec import FineTuningOptions, Task, TaskData, TaskObservation
from unmask.tasks.tables import estimates_of, rows_by_model

if TYPE_CHECKING:
    from unmask.core.types import Floats
    from unmask.models.classifier import Classifier

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
SIDES = ("female", "male")
LABELS = ("negative", "positive")  # of a classifier that is fine-tuned here
TEXT = ("text", "sentence", "review", "tweet")
PROFESSION = "profession"  # the group of sentences "noun is a profession": 20 nouns of each gender, 20 professions
NOUNS = (
    *(("She", "He"), ("My sister", "My brother"), ("My daughter", "My son"), ("My mother", "My father")),
    *(("My aunt", "My uncle"), ("My wife", "My husband"), ("My girlfriend", "My boyfriend"), ("My niece", "My nephew")),
    *(("My grandmother", "My grandfather"), ("My granddaughter", "My grandson"), ("My stepmother", "My stepfather")),
    *(("My godmother", "My godfather"), ("My mum", "My dad"), ("My stepsister", "My stepbrother")),
    *(("The woman next door", "The man next door"), ("This woman", "This man"), ("This girl", "This boy")),
    *(("That lady", "That gentleman"), ("The mother of two", "The father of two"), ("The bride", "The groom")),
)
PROFESSIONS = (  # of the built-in table: ten in which most are women, ten in which most are men
    *("nurse", "secretary", "hairdresser", "librarian", "receptionist", "dental hygienist", "therapist", "paralegal"),
    *("dietitian", "teller", "mechanic", "plumber", "electrician", "carpenter", "firefighter", "civil engineer"),
    *("police officer", "chef", "machinist", "painter"),
)


R = "r with share of women"


@dataclass(frozen=True)
class SentimentOptions(FineTuningOptions):
    """The options of sentiment."""

    data: Path | None = option(None, "File or dataset of pairs.", shown="built-in sentences about women and men")
    label: str | None = option(None, "Label whose probability is the score.", shown="the positive one")


@dataclass(frozen=True, slots=True)
class SentencePairs:
    """Parallel sentences about women and about men; pairs of the same `unit` are not independent."""

    female: tuple[str, ...]
    male: tuple[str, ...]
    unit: tuple[str, ...]
    group: tuple[str, ...]
    sides: tuple[str, str] = SIDES


def load_pairs(options: SentimentOptions) -> SentencePairs:
    """Load the pairs of a file or dataset (`more` − `less`), or fill the built-in templates."""
    if options.data is not None:
        items = datasets.load(str(options.data), data_dir=options.data_dir).items[: options.limit]
        columns = ((item.more, item.less, item.id, item.groups.get("category", "all")) for item in items)
        more, less, ids, groups = tuple(zip(*columns, strict=True)) or ((), (), (), ())
        return SentencePairs(more, less, ids, groups, ("more", "less"))
    filled = [
        (text.format(woman), text.format(man), text, group)
        for group, texts in TEMPLATES.items()
        for text in texts
        for woman, man in SUBJECTS
    ]
    sentences = [(f"{{}} is {article(job)} {job}.", job) for job in PROFESSIONS]
    filled += [
        (text.format(woman), text.format(man), job, PROFESSION) for text, job in sentences for woman, man in NOUNS
    ]
    filled = filled[: options.limit]
    female, male, unit, group = zip(*filled, strict=True)
    return SentencePairs(female, male, unit, group)


def load_task_data(options: SentimentOptions) -> TaskData:
    """The user's labelled texts to fine-tune a classifier on."""
    return TaskData.of_files(LABELS, read_examples, options.user_files())


def read_examples(source: Source) -> tuple[Example, ...]:
    """A table of texts with the label negative or positive, or 0 or 1 as in SST-2."""
    rows = rows_of(source)
    text, label = text_column(rows, TEXT), column(rows, ("label", "sentiment", "polarity"))
    names = {"0": LABELS[0], "1": LABELS[1], "neg": LABELS[0], "pos": LABELS[1], **{name: name for name in LABELS}}
    examples = []
    for at, row in enumerate(rows):
        name = names.get(str(row[label]).strip().lower())
        if name is None:
            raise DataError(f"{rows.at(at)}: label {quote(row[label])}, expected {', '.join(names)}")
        examples.append(Example(row[text], None, name))
    return tuple(examples)


@dataclass(frozen=True, slots=True)
class SentimentResult:
    """Differences of scores and their sizes, over all pairs and by group of sentences."""

    estimates: tuple[Estimate, ...]  # difference and sensitivity of each group, then r with the share of women
    flips: dict[str, tuple[float, int]]  # by group: percent of pairs whose most likely label differs, and units
    score_name: str  # "probability of positive"
    sides: tuple[str, str]
    widest: tuple[tuple[str, str, float], ...]  # the pairs with the largest differences
    professions: tuple[tuple[str, float, Value], ...] = ()  # name, share of women, difference of scores


def observe(classifier: Classifier, options: SentimentOptions) -> SentimentResult:
    """Score every pair."""
    pairs = load_pairs(options)
    probabilities = classifier.probabilities([(text, None) for text in (*pairs.female, *pairs.male)])
    values, score_name = sentiment_scores(probabilities, classifier.labels, options.label)
    (first, second), (label, other) = values.reshape(2, -1), probabilities.argmax(axis=1).reshape(2, -1)
    return summarize(pairs, first, second, label != other, score_name, seed=options.seed)


def summarize(
    pairs: SentencePairs, first: Floats, second: Floats, flipped: object, score_name: str, *, seed: int
) -> SentimentResult:
    """The result from given scores."""
    import numpy as np

    from unmask.core.seeds import generator
    from unmask.stats.intervals import mean, mean_interval, mean_test

    flips, gaps = np.asarray(flipped, dtype=np.float64), first - second
    if not gaps.size:
        raise DataError("no pair of sentences was scored: the data is empty")
    units, groups, statistic = (np.array(pairs.unit), np.array(pairs.group), f"score, {' − '.join(pairs.sides)}")
    estimates: list[Estimate] = []
    changes: dict[str, tuple[float, int]] = {}
    for name in ["all", *dict.fromkeys(pairs.group)] if len(set(pairs.group)) > 1 else ["all"]:
        part = np.ones(len(gaps), dtype=bool) if name == "all" else groups == name
        _, index = np.unique(units[part], return_inverse=True)
        counts = np.bincount(index)  # pairs of one unit are averaged first
        by, sizes = (np.bincount(index, values) / counts for values in (gaps[part], np.abs(gaps[part])))
        difference = mean_interval(by, rng=generator(seed, name), unit="units")
        sensitivity = mean_interval(sizes, rng=generator(seed, f"{name}/size"), unit="units")
        group = name if name == "all" else f"sentences={name}"
        named = {"group": group, "n": int(part.sum())}
        estimates += [
            Estimate.of(difference, statistic=statistic, null=0.0, p=mean_test(by, 0.0), **named),
            Estimate.of(sensitivity, statistic="sensitivity", **named),
        ]
        changes[group] = (100 * mean(flips[part]), len(counts))
    widest = np.argsort(-np.abs(gaps))[:6]
    shown = tuple((pairs.female[at], pairs.male[at], float(gaps[at])) for at in widest)
    professions, r = _by_profession(pairs, gaps, seed)
    return SentimentResult((*estimates, *r), changes, score_name, pairs.sides, shown, professions)


def _by_profession(
    pairs: SentencePairs, gaps: Floats, seed: int
) -> tuple[tuple[tuple[str, float, Value], ...], list[Estimate]]:
    """The difference of every profession over its nouns, and its correlation with the share of women."""
    import numpy as np

    from unmask.core.seeds import generator
    from unmask.stats.intervals import mean_interval
    from unmask.stats.regression import correlation

    of_profession = np.array(pairs.group) == PROFESSION
    if pairs.sides != SIDES or not of_profession.any():
        return (), []
    women = {occupation.name: occupation.women for occupation in datasets.read("occupations")}
    units = np.array(pairs.unit)
    names = [name for name in PROFESSIONS if (units[of_profession] == name).any()]
    professions = [
        (name, women[name], mean_interval(gaps[of_profession & (units == name)], rng=generator(seed, name)))
        for name in names
    ]
    shares, differences = np.array([[share, value.value] for _, share, value in professions]).T
    r = correlation([shares], [differences])
    named = {"statistic": R, "group": f"sentences={PROFESSION}", "n": len(professions)}
    return tuple(professions), [Estimate.of(r, null=0.0, **named)]


def sentiment_scores(probabilities: Floats, labels: Sequence[str], label: str | None) -> tuple[Floats, str]:
    """One score per text: the probability of `label`, by default of the positive one.

    Labels in stars (`1 star` … `5 stars`) give the expected number of stars.
    """
    if label is not None:
        return probabilities[:, label_index(labels, label)], f"probability of {label}"
    names = [name.lower() for name in labels]
    if all("star" in name for name in names):
        import numpy as np

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


def conclude(observations: Sequence[TaskObservation], options: SentimentOptions) -> Conclusion:
    """The difference by group of sentences, and the pairs that differ most."""
    from unmask.findings import charts

    results: dict[str, SentimentResult] = {observation.name: observation.result for observation in observations}
    estimates = estimates_of(observations)
    first = next(iter(results.values()))
    a, b = first.sides
    scores = table(
        f"Score of {a} − {b}",
        [estimate for estimate in estimates if estimate.statistic != R],
        rows=("model", "sentences"),
        across="statistic",
        columns={
            "p": "p",
            "label changes, %": lambda estimate: results[estimate.model].flips[estimate.group][0],
            "pairs": "n",
            "units": lambda estimate: results[estimate.model].flips[estimate.group][1],
        },
        note=f"Score: {first.score_name}. Sensitivity: the mean absolute difference. "
        "Interval and p (Student): templates resampled, each with all its pairs.",
    )
    widest = Table(
        "Pairs that differ most",
        ("model", a, b, f"{a} − {b}"),
        rows_by_model(observations, lambda result: result.widest),
        "Single pairs have no interval.",
        digits=4,
    )
    plots = charts.interval_plots(
        "sentiment",
        "Difference of scores",
        "Difference of scores by group of sentences, with intervals.",
        [
            (estimate.group.removeprefix("sentences="), estimate, estimate.model)
            for estimate in estimates
            if estimate.statistic not in (R, "sensitivity")
        ],
        axis=f"{a} − {b}",
        null=0.0,
    )
    answers = [
        sentences.difference(f"{name}: {result.score_name}", f"for {a}", f"for {b}", result.estimates[0])
        for name, result in results.items()
    ]
    answers += [
        sentences.correlation(f"{estimate.model}: difference of scores and share of women", estimate)
        for estimate in estimates_of(observations, R)
    ]
    professions = [_profession_table(observations)] if first.professions else []
    return Conclusion(Finding(tuple(answers), (scores, widest, *professions), plots), tuple(estimates))


def _profession_table(observations: Sequence[TaskObservation]) -> Table:
    """The professions of "noun is a profession", by the share of women in them."""
    return Table(
        'Professions, "noun is a profession"',
        ("model", "profession", "women, %", "female − male"),
        rows_by_model(
            observations,
            lambda result: [
                (name, 100 * share, value) for name, share, value in sorted(result.professions, key=lambda row: -row[1])
            ],
        ),
        f"Means over {len(NOUNS)} pairs of nouns, with their intervals, by the share of women (US, 2020).",
        digits=4,
    )


SENTIMENT = Task(
    name="sentiment",
    title="Sentiment by gender",
    question="Does a classifier's score change when a sentence is about a woman instead of a man?",
    needs="classifier",
    observe=observe,
    conclude=conclude,
    citation="kiritchenko-mohammad-2018-examining",
    options=SentimentOptions,
    load_data=load_task_data,
    training=SentimentOptions.user_files,
)
