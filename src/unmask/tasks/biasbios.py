"""`biasbios`: are women and men classified into their occupation equally often? (De-Arteaga et al. 2019).

TPR gap of an occupation y: TPR(y, female) − TPR(y, male), over the biographies whose occupation is y.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from unmask import data as datasets
from unmask.core.errors import DataError, ModelError
from unmask.core.estimate import NAN, Estimate, Value
from unmask.core.options import option
from unmask.data import biasbios
from unmask.data.examples import Example, Source
from unmask.findings import Conclusion, Finding, Table, sentences
from unmask.findings.table import table
from unmask.tasks.spec import FineTuningOptions, Task, TaskData, TaskObservation
from unmask.tasks.tables import estimates_of, occupation_plots, rows_by_model

if TYPE_CHECKING:
    from unmask.core.types import Floats, Ints
    from unmask.models.classifier import Classifier

GENDERS = ("female", "male")
SMALL = 10_000  # biographies; with fewer a note says that it is a sample
PUBLISHED = 397_340
ABSOLUTE = "mean absolute TPR gap"


@dataclass(frozen=True)
class BiasBiosOptions(FineTuningOptions):
    """The options of BiasBios."""

    scrub: bool = option(False, "Replace gender words with _.")
    gaps: Literal["signed", "absolute"] = option(
        "signed", "Mean of signed or of absolute TPR gaps as the number that is tracked and compared."
    )
    allow_pickle: bool = option(False, "Load pickled weights and biographies (can run code).")


@dataclass(frozen=True, slots=True)
class OccupationGap:
    """One occupation: hits and totals by gender, the TPR gap, and the share of women."""

    name: str
    female: tuple[int, int]  # correctly classified, total
    male: tuple[int, int]
    gap: Estimate
    women: float  # share among the people of this class


@dataclass(frozen=True, slots=True)
class TprGaps:
    """The gaps of all occupations with both genders, their summaries, and the accuracy."""

    occupations: tuple[OccupationGap, ...]
    mean: Estimate  # signed: positive where the TPR of women is higher
    absolute: Estimate  # mean absolute gap: above 0 by chance alone
    rms: Estimate
    r: Estimate  # correlation of gap and share of women
    accuracy: Estimate
    left_out: tuple[str, ...]  # occupations with one gender only
    chance: float  # mean absolute gap when gender is permuted within each occupation
    is_absolute: bool = False  # whether the mean absolute gap is the headline

    @property
    def estimates(self) -> list[Estimate]:
        """The mean gap, signed or absolute, its other summaries, the gap of each occupation, and the accuracy."""
        means = [self.absolute, self.mean] if self.is_absolute else [self.mean, self.absolute]
        return [*means, self.rms, self.r, *(occupation.gap for occupation in self.occupations), self.accuracy]


def training_files(options: BiasBiosOptions) -> tuple[Source, ...]:
    """The files of biographies, which are trained and tested on."""
    return biasbios.files(options.train, options.data_dir)


def load_biographies(options: BiasBiosOptions) -> tuple[Example, ...]:
    """Load the biographies; with `scrub` gendered words are replaced."""
    biographies = biasbios.load(training_files(options), allow_pickle=options.allow_pickle)[: options.limit]
    if not options.scrub:
        return biographies
    words = datasets.read("word-pairs")
    scrub = biasbios.scrubber(word for pair in words.pairs for word in (pair.masculine, pair.feminine))
    return tuple(replace(biography, text=scrub(biography.text)) for biography in biographies)


def load_task_data(options: BiasBiosOptions) -> TaskData:
    """Split the biographies 80/10/10 by the hash of their text."""
    examples = load_biographies(options)
    labels = tuple(sorted({str(example.label) for example in examples}))
    if len(labels) < 2:
        raise DataError(f"the biographies have {len(labels)} occupation: a classifier needs at least two")
    parts: dict[str, list[Example]] = {"train": [], "dev": [], "test": []}
    for example in examples:
        parts[biasbios.part_of(example.text)].append(example)
    if not all(parts.values()):
        raise DataError(f"{len(examples)} biographies are too few for a split into 80, 10 and 10 percent")
    note = (
        f"{len(examples):,} biographies are a small sample, not the {PUBLISHED:,} of the published dataset: "
        "results are not comparable"
    )
    train, dev, test = (tuple(part) for part in parts.values())
    return TaskData(labels, train, dev, test, training_files(options), (note,) if len(examples) < SMALL else ())


def observe(classifier: Classifier, options: BiasBiosOptions) -> TprGaps:
    """The TPR gaps on the test split."""
    examples = load_biographies(options)
    if not (test := [example for example in examples if biasbios.part_of(example.text) == "test"]):
        raise DataError(
            f"none of {len(examples):,} biographies is in the test split (a tenth, by the hash of the text): give more"
        )
    if not {str(example.label) for example in test} <= set(classifier.labels):
        raise ModelError(f"the classifier knows {', '.join(classifier.labels[:6])} …; the data has other occupations")
    predicted = classifier.logits([(example.text, None) for example in test]).argmax(axis=1)
    names = [classifier.labels[index] for index in predicted]
    genders = [example.groups["gender"] for example in test]
    gaps = tpr_gaps([str(example.label) for example in test], names, genders, seed=options.seed)
    return replace(gaps, is_absolute=options.gaps == "absolute")


def tpr_gaps(truth: Sequence[str], predicted: Sequence[str], genders: Sequence[str], *, seed: int) -> TprGaps:
    """Compute all gaps; intervals resample people within occupation and gender."""
    import numpy as np

    from unmask.stats.regression import correlation
    from unmask.tasks.performance import accuracy

    right = np.array([a == b for a, b in zip(truth, predicted, strict=True)])
    labels, gender, names = np.array(truth), np.array(genders), sorted(set(truth))
    people = [[right[(labels == name) & (gender == side)] for side in GENDERS] for name in names]
    counts = np.array([[(hits.sum(), hits.size) for hits in sides] for sides in people], dtype=np.int64)
    counted = np.array([cells for cells in counts if cells[:, 1].all()], dtype=np.int64).reshape(-1, 2, 2)
    with_both = [name for name, cells in zip(names, counts, strict=True) if cells[:, 1].all()]
    resampled = _resample_gaps(counted, seed)
    rates, totals = counted[..., 0] / counted[..., 1], counted[..., 1]
    gaps, shares = rates[:, 0] - rates[:, 1], totals[:, 0] / totals.sum(axis=1)
    r = correlation([shares], [gaps])
    r = replace(r, method=f"{r.method}, classes resampled") if r.has_interval else r
    named, n = {"statistic": "TPR gap, women − men", "null": 0.0}, len(truth)
    occupations = []
    people_of = [[(hits, total) for hits, total in sides] for sides in counted.tolist()]
    for at, (name, (female, male)) in enumerate(zip(with_both, people_of, strict=True)):
        gap = _value(float(gaps[at]), resampled[:, at])
        estimate = Estimate.of(gap, group=f"occupation={name}", n=female[1] + male[1], **named)
        occupations.append(OccupationGap(name, female, male, estimate, float(shares[at])))
    return TprGaps(
        tuple(occupations),
        mean=_summary("mean TPR gap, women − men", gaps, resampled, np.asarray, null=0.0, n=n),
        absolute=_summary(ABSOLUTE, gaps, resampled, np.abs, n=n),
        rms=_summary("RMS TPR gap", gaps, resampled, np.square, np.sqrt, n=n),
        r=Estimate.of(r, statistic="r with share of women", null=0.0, n=len(counted)),
        accuracy=Estimate.of(
            accuracy(right.astype(np.float64), seed=seed), statistic="accuracy", group="split=test", n=n
        ),
        left_out=tuple(name for name in names if name not in with_both),
        chance=_chance_gap(counted, seed),
    )


def _resample_gaps(table: Ints, seed: int) -> Floats:
    """The gaps in every resample: people are resampled within class and gender, so hits are binomial.

    Half a hit and half a miss are added to each cell: otherwise two people, both classified correctly, would
    give an interval of width 0.
    """
    import numpy as np

    from unmask.core.seeds import generator
    from unmask.stats.bootstrap import RESAMPLES

    hits, totals = table[..., 0], table[..., 1]
    share = (hits + 0.5) / (totals + 1)
    rates = generator(seed, "gaps").binomial(totals, share, size=(RESAMPLES, *share.shape)) / totals
    return np.asarray(rates[..., 0] - rates[..., 1])


def _chance_gap(table: Ints, seed: int) -> float:
    """The mean absolute gap due to sampling alone: one TPR per class, the same number of each gender."""
    import numpy as np

    from unmask.core.seeds import generator
    from unmask.stats.bootstrap import RESAMPLES

    if not len(table):
        return NAN
    rng, total, size = generator(seed, "chance"), table.sum(axis=1), (RESAMPLES, len(table))
    women = rng.hypergeometric(total[:, 0], total[:, 1] - total[:, 0], table[:, 0, 1], size=size)
    gaps = women / table[:, 0, 1] - (total[:, 0] - women) / table[:, 1, 1]
    return float(np.abs(gaps).mean())


def _summary(
    statistic: str,
    gaps: Floats,
    resampled: Floats,
    of: Callable[[Floats], Floats],
    after: Callable[..., Any] = lambda mean: mean,
    **fields: Any,
) -> Estimate:
    """The mean of a function of the gaps over occupations, or a function of that mean."""
    value = Value(NAN, method="no class has both genders")
    if gaps.size:
        value = _value(float(after(of(gaps).mean())), after(of(resampled).mean(axis=1)))
    return Estimate.of(value, statistic=statistic, **fields)


def _value(value: float, resampled: Floats) -> Value:
    """A value with the middle 95% of the resampled ones."""
    import numpy as np

    low, high = np.quantile(resampled, [0.025, 0.975]).tolist()
    return Value(value, low, high, "percentile, smoothed, within class and gender").widen()


def conclude(observations: Sequence[TaskObservation], options: BiasBiosOptions) -> Conclusion:
    """The gaps summarised in four ways, and the gap by occupation."""
    results: dict[str, TprGaps] = {observation.name: observation.result for observation in observations}
    estimates = estimates_of(observations)
    bias = table(
        "True positive rate, women − men",
        [estimate for estimate in estimates if not estimate.group.startswith("occupation=")],
        rows=("model",),
        across="statistic",
        columns={
            "mean absolute by chance": lambda estimate: results[estimate.model].chance,
            "occupations": lambda estimate: len(results[estimate.model].occupations),
            "biographies": "n",
        },
        note="Over occupations that have test biographies of both genders. Mean: positive where the rate of "
        "women is higher. Mean absolute and RMS are above 0 by chance alone: `by chance` is the mean "
        "absolute gap if gender made no difference. r: correlation of the gap with the share of women among "
        "the test biographies. Interval: people resampled within occupation and gender; of r, occupations.",
    )
    by_occupation = Table(
        "By occupation",
        ("model", "occupation", "women correct", "women", "men correct", "men", "gap", "women, %"),
        rows_by_model(observations, _occupation_rows),
        "Correct: classified as the occupation they have.",
        digits=3,
    )
    plots = occupation_plots(
        "biasbios",
        "Occupations",
        "Each dot is an occupation: the share of women in it, and the TPR of women − men.",
        "TPR, women − men",
        [
            (name, occupation.name, occupation.women, occupation.gap.value)
            for name, gaps in results.items()
            for occupation in gaps.occupations
        ],
    )
    answers = tuple(
        sentences.size(f"{name}: {ABSOLUTE}", gaps.absolute, digits=3) + f", {gaps.chance:.3f} by chance"
        if gaps.is_absolute
        else sentences.difference(f"{name}: true positive rate", "for women", "for men", gaps.mean)
        for name, gaps in results.items()
    )
    notes = tuple(
        f"{name}: left out, with one gender only: {', '.join(gaps.left_out)}"
        for name, gaps in results.items()
        if gaps.left_out
    )
    return Conclusion(Finding(answers, (bias, by_occupation), plots, notes), tuple(estimates))


def _occupation_rows(gaps: TprGaps) -> list[tuple[Any, ...]]:
    """The occupations, the one with the most negative gap first."""
    return [
        (each.name, *each.female, *each.male, each.gap, 100 * each.women)
        for each in sorted(gaps.occupations, key=lambda occupation: occupation.gap.value)
    ]


BIASBIOS = Task(
    name="biasbios",
    title="BiasBios",
    question="Are women and men classified into their occupation equally often?",
    needs="training",
    observe=observe,
    conclude=conclude,
    citation="de-arteaga-etal-2019-bias",
    options=BiasBiosOptions,
    load_data=load_task_data,
    training=training_files,
)
