"""`biasbios`: are women and men classified into their occupation equally often? (De-Arteaga et al. 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from unmask import data as datasets
from unmask.core.errors import DataError, ModelError
from unmask.core.estimate import Estimate, Value
from unmask.data import biasbios
from unmask.data.examples import Example
from unmask.findings import Finding, Plot, Table
from unmask.findings.numbers import signed_value
from unmask.models.classifier import Classifier
from unmask.tasks.gaps import TprGaps, tpr_gaps
from unmask.tasks.performance import accuracy
from unmask.tasks.spec import Task, TaskData, TaskObservation, TaskSettings

SMALL = 10_000  # biographies; with fewer a note says that it is a sample
PUBLISHED = 397_340


@dataclass(frozen=True, slots=True)
class BiasBiosResult:
    """The TPR gaps on the test split, its size and the accuracy."""

    gaps: TprGaps
    accuracy: Value
    biographies: int


def load_biographies(settings: TaskSettings) -> tuple[Example, ...]:
    """Load the biographies; with `settings.scrub` gendered words are replaced."""
    biographies = biasbios.load(
        biasbios.files(settings.train, settings.data_dir), allow_pickle=settings.allow_pickle
    )[: settings.limit]
    if not settings.scrub:
        return biographies
    words = datasets.read("word-pairs")
    scrub = biasbios.scrubber(word for pair in words.pairs for word in (pair.masculine, pair.feminine))
    return tuple(replace(biography, text=scrub(biography.text)) for biography in biographies)


def load_task_data(settings: TaskSettings) -> TaskData:
    """Split the biographies 80/10/10 by the hash of their text."""
    sources = biasbios.files(settings.train, settings.data_dir)
    examples = load_biographies(settings)
    labels = tuple(sorted({str(example.label) for example in examples}))
    if len(labels) < 2:
        raise DataError(f"the biographies have {len(labels)} occupation: a classifier needs at least two")
    parts: dict[str, list[Example]] = {"train": [], "dev": [], "test": []}
    for example in examples:
        parts[biasbios.part_of(example.text)].append(example)
    if not all(parts.values()):
        raise DataError(f"{len(examples)} biographies are too few for a split into 80, 10 and 10 percent")
    notes = []
    if len(examples) < SMALL:
        notes.append(
            f"{len(examples):,} biographies are a small sample, not the {PUBLISHED:,} of the "
            "published dataset: results are not comparable"
        )
    train, dev, test = (tuple(part) for part in parts.values())
    return TaskData(labels, train, dev, test, sources, tuple(notes))


def observe(classifier: Classifier, settings: TaskSettings) -> BiasBiosResult:
    """The TPR gaps on the test split."""
    examples = load_biographies(settings)
    test = [example for example in examples if biasbios.part_of(example.text) == "test"]
    if not test:
        raise DataError(
            f"none of {len(examples):,} biographies is in the test split (a tenth, by the hash of the text): "
            "give more"
        )
    if not {str(example.label) for example in test} <= set(classifier.labels):
        raise ModelError(
            f"the classifier knows {', '.join(classifier.labels[:6])} …; the data has other occupations"
        )
    predicted = classifier.logits([(example.text, None) for example in test]).argmax(axis=1)
    names = [classifier.labels[index] for index in predicted]
    true_labels = [str(example.label) for example in test]
    gaps = tpr_gaps(true_labels, names, [example.groups["gender"] for example in test], seed=settings.seed)
    right = np.array([float(a == b) for a, b in zip(true_labels, names, strict=True)])
    return BiasBiosResult(gaps, accuracy(right, seed=settings.seed), len(test))


def conclude(observations: Sequence[TaskObservation], settings: TaskSettings) -> Finding:
    """The gaps summarised in four ways, and the gap by occupation."""
    from unmask.findings import charts

    gaps: dict[str, TprGaps] = {each.name: each.result.gaps for each in observations}
    bias = Table(
        "True positive rate, women − men",
        (
            *("model", "mean", "mean absolute", "by chance", "RMS", "r with share of women"),
            *("occupations", "biographies"),
        ),
        tuple(
            (name, each.mean, each.absolute, each.chance, each.rms, each.r, len(each.occupations), each.n)
            for name, each in gaps.items()
        ),
        "Over occupations that have test biographies of both genders. Mean: positive where the rate of "
        "women is higher. Mean absolute and RMS are above 0 by chance alone: `by chance` is the mean "
        "absolute gap if gender made no difference. r: correlation of the gap with the share of women among "
        "the test biographies. Interval: people resampled within occupation and gender; of r, occupations.",
        digits=3,
    )
    by_occupation = Table(
        "By occupation",
        ("model", "occupation", "women correct", "women", "men correct", "men", "gap", "women, %"),
        tuple(
            (name, each.name, *each.female, *each.male, each.gap, 100 * each.women)
            for name, of_model in gaps.items()
            for each in sorted(of_model.occupations, key=lambda occupation: occupation.gap.value)
        ),
        "Correct: classified as the occupation they have.",
        digits=3,
    )
    rows = [
        {"x": each.women, "y": each.gap.value, "label": each.name, "series": name}
        for name, of_model in gaps.items()
        for each in of_model.occupations
    ]
    plot = (
        Plot(
            "biasbios",
            "Occupations",
            "Each dot is an occupation: the share of women in it, and the TPR of women − men.",
            charts.scatter(rows, x="share of women", y="TPR, women − men"),
        )
        if rows
        else None
    )
    notes = [
        f"{name}: left out, with one gender only: {', '.join(each.left_out)}"
        for name, each in gaps.items()
        if each.left_out
    ]
    return Finding(
        tuple(map(_answer, observations)), (bias, by_occupation), (plot,) if plot else (), tuple(notes)
    )


def estimates(result: BiasBiosResult) -> list[Estimate]:
    """The mean gap, its other summaries, the gap of each occupation, and the accuracy."""
    gaps, n = result.gaps, result.biographies
    return [
        Estimate.of(gaps.mean, statistic="mean TPR gap, women − men", null=0.0, n=n),
        Estimate.of(gaps.absolute, statistic="mean absolute TPR gap", n=n),
        Estimate.of(gaps.rms, statistic="RMS TPR gap", n=n),
        Estimate.of(gaps.r, statistic="r with share of women", null=0.0, n=len(gaps.occupations)),
        *(
            Estimate.of(
                each.gap,
                statistic="TPR gap, women − men",
                group=f"occupation={each.name}",
                null=0.0,
                n=each.female[1] + each.male[1],
            )
            for each in gaps.occupations
        ),
        Estimate.of(result.accuracy, statistic="accuracy", group="split=test", n=n),
    ]


def _answer(observation: TaskObservation) -> str:
    """The answer in one sentence."""
    result: BiasBiosResult = observation.result
    gaps = result.gaps
    return (
        f"{observation.name}: mean TPR gap {signed_value(gaps.mean, 3)}, RMS {gaps.rms.value:.3f}, over "
        f"{len(gaps.occupations)} occupations and {result.biographies:,} biographies; "
        f"test accuracy {result.accuracy.value:.3f}"
    )


BIASBIOS = Task(
    name="biasbios",
    title="BiasBios",
    question="Are women and men classified into their occupation equally often?",
    needs="training",
    observe=observe,
    conclude=conclude,
    estimates=estimates,
    citation="de-arteaga-etal-2019-bias",
    load_data=load_task_data,
)
