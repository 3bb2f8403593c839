"""`biasbios`: are women and men classified into their occupation equally often? (De-Arteaga et al. 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from unmask import data as datasets
from unmask.core.errors import DataError, ModelError
from unmask.data import biasbios
from unmask.data.examples import Example
from unmask.findings import Cell, Finding, Plot, Table
from unmask.models.classifier import Classifier
from unmask.tasks.gaps import TprGaps, tpr_gaps
from unmask.tasks.spec import Headline, Task, TaskData, TaskObservation, TaskSettings
from unmask.tasks.training_tables import not_learnt_notes, training_table

SMALL = 10_000  # biographies; with fewer a note says that it is a sample
PUBLISHED = 397_340


@dataclass(frozen=True, slots=True)
class BiasBiosResult:
    """The TPR gaps on the test split, its size and the accuracy."""

    gaps: TprGaps
    accuracy: float
    biographies: int
    classes: int


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
    if not {str(example.label) for example in test} <= set(classifier.labels):
        raise ModelError(
            f"the classifier knows {', '.join(classifier.labels[:6])} …; the data has other occupations"
        )
    predicted = classifier.logits([(example.text, None) for example in test]).argmax(axis=1)
    names = [classifier.labels[index] for index in predicted]
    true_labels = [str(example.label) for example in test]
    gaps = tpr_gaps(true_labels, names, [example.groups["gender"] for example in test], seed=settings.seed)
    right = sum(a == b for a, b in zip(true_labels, names, strict=True))
    return BiasBiosResult(gaps, right / len(test), len(test), len(classifier.labels))


def conclude(observations: Sequence[TaskObservation], settings: TaskSettings) -> Finding:
    """The gaps summarised in four ways, the task performance, and the gap by occupation."""
    from unmask.findings import charts

    bias = Table(
        "True positive rate, women − men",
        (
            "model",
            "mean",
            "mean size",
            "by chance",
            "RMS",
            "r with share of women",
            "occupations",
            "biographies",
        ),
        tuple(_row(observation) for observation in observations),
        "Over occupations that have test biographies of both genders. Mean: positive where the rate of "
        "women is higher. Mean size and RMS are above 0 by chance alone: `by chance` is the mean size if "
        "gender made no difference. r: correlation of the gap with the share of women among the test "
        "biographies. Interval: people resampled within occupation and gender; of r, occupations.",
        digits=3,
    )
    by_occupation = Table(
        "By occupation",
        ("model", "occupation", "women found", "women", "men found", "men", "gap", "women, %"),
        tuple(row for observation in observations for row in _occupations(observation)),
        "Found: classified as the occupation they have.",
        digits=3,
    )
    rows = [
        {
            "x": occupation.women,
            "y": occupation.gap.value,
            "label": occupation.name,
            "series": str(observation.model["id"]),
        }
        for observation in observations
        for occupation in observation.result.gaps.occupations
    ]
    description = "Each dot is an occupation: the share of women in it, and the TPR of women − men."
    plots = (
        [
            Plot(
                "biasbios",
                "Occupations",
                description,
                charts.scatter(rows, x="share of women", y="TPR, women − men"),
            )
        ]
        if rows
        else []
    )
    training = training_table(observations)
    return Finding(
        tuple(map(_answer, observations)),
        (bias, *((training,) if training.rows else ()), by_occupation),
        tuple(plots),
        (*not_learnt_notes(observations), *_notes(observations)),
    )


def headline(result: BiasBiosResult) -> Headline:
    """The mean gap."""
    return Headline("mean TPR gap, women − men", result.gaps.mean, result.biographies)


def _row(observation: TaskObservation) -> tuple[Cell, ...]:
    gaps: TprGaps = observation.result.gaps
    return (
        *(observation.model["id"], gaps.mean, gaps.absolute, gaps.chance, gaps.rms, gaps.r),
        *(len(gaps.occupations), observation.result.biographies),
    )


def _occupations(observation: TaskObservation) -> list[tuple[Cell, ...]]:
    return [
        (
            observation.model["id"],
            occupation.name,
            *occupation.female,
            *occupation.male,
            occupation.gap,
            100 * occupation.women,
        )
        for occupation in sorted(
            observation.result.gaps.occupations, key=lambda occupation: occupation.gap.value
        )
    ]


def _answer(observation: TaskObservation) -> str:
    gaps: TprGaps = observation.result.gaps
    return (
        f"{observation.model['id']}: mean TPR gap {gaps.mean.value:+.3f} "
        f"({gaps.mean.low:+.3f} to {gaps.mean.high:+.3f}), RMS {gaps.rms.value:.3f}, over "
        f"{len(gaps.occupations)} occupations and {observation.result.biographies:,} "
        f"biographies; test accuracy {observation.result.accuracy:.3f}"
    )


def _notes(observations: Sequence[TaskObservation]) -> list[str]:
    return [
        f"{observation.model['id']}: left out, with one gender only: "
        f"{', '.join(observation.result.gaps.left_out)}"
        for observation in observations
        if observation.result.gaps.left_out
    ]


BIASBIOS = Task(
    name="biasbios",
    title="BiasBios",
    question="Are women and men classified into their occupation equally often?",
    needs="training",
    observe=observe,
    conclude=conclude,
    headline=headline,
    citation="de-arteaga-etal-2019-bias",
    load_data=load_task_data,
)
