"""`biasbios`: are women and men found equally often in the occupation they have? (De-Arteaga et al. 2019)."""

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

SMALL = 10_000  # biographies; fewer are a sample for trying things out
PUBLISHED = 397_340


@dataclass(frozen=True, slots=True)
class BiasBiosResult:
    """The gaps on the test part, and what they rest on."""

    gaps: TprGaps
    accuracy: float
    biographies: int
    classes: int


def load_biographies(settings: TaskSettings) -> tuple[Example, ...]:
    """All of them, gender words taken out where that was asked for."""
    found = biasbios.load(
        biasbios.files(settings.train, settings.data_dir), allow_pickle=settings.allow_pickle
    )[: settings.limit]
    if not settings.scrub:
        return found
    words = datasets.read("word-pairs")
    scrub = biasbios.scrubber(word for pair in words.pairs for word in (pair.masculine, pair.feminine))
    return tuple(replace(one, text=scrub(one.text)) for one in found)


def load_task_data(settings: TaskSettings) -> TaskData:
    """Eight tenths to learn from, one to choose by, one to test with, by the hash of the text."""
    sources = biasbios.files(settings.train, settings.data_dir)
    every = load_biographies(settings)
    labels = tuple(sorted({str(one.label) for one in every}))
    if len(labels) < 2:
        raise DataError(f"the biographies are of {len(labels)} occupation: a classifier needs two at least")
    parts: dict[str, list[Example]] = {"train": [], "dev": [], "test": []}
    for one in every:
        parts[biasbios.part_of(one.text)].append(one)
    if not all(parts.values()):
        raise DataError(f"{len(every)} biographies are too few to be divided by 80, 10 and 10 per cent")
    notes = []
    if len(every) < SMALL:
        notes.append(
            f"{len(every):,} biographies are a sample for trying things out, not the {PUBLISHED:,} of the "
            "published dataset: figures on it are not comparable"
        )
    train, dev, test = (tuple(part) for part in parts.values())
    return TaskData(labels, train, dev, test, sources, tuple(notes))


def observe(judge: Classifier, settings: TaskSettings) -> BiasBiosResult:
    """The gaps on the test part."""
    every = load_biographies(settings)
    test = [one for one in every if biasbios.part_of(one.text) == "test"]
    if not {str(one.label) for one in test} <= set(judge.labels):
        raise ModelError(
            f"the classifier knows {', '.join(judge.labels[:6])} …; the data has other occupations"
        )
    said = judge.logits([(one.text, None) for one in test]).argmax(axis=1)
    names = [judge.labels[place] for place in said]
    truth = [str(one.label) for one in test]
    gaps = tpr_gaps(truth, names, [one.groups["gender"] for one in test], seed=settings.seed)
    right = sum(a == b for a, b in zip(truth, names, strict=True))
    return BiasBiosResult(gaps, right / len(test), len(test), len(judge.labels))


def conclude(seen: Sequence[TaskObservation], settings: TaskSettings) -> Finding:
    """The gap as one number four ways, how well the task was learnt, and by occupation."""
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
        tuple(_row(one) for one in seen),
        "Over occupations that have test biographies of both genders. Mean: positive where women are found "
        "more often. Mean size and RMS are above 0 by chance alone: `by chance` is the mean size if "
        "gender made no "
        "difference. r: of the gap with the share of women among the test biographies. Interval: people "
        "resampled within occupation and gender; of r, occupations.",
        digits=3,
    )
    by = Table(
        "By occupation",
        ("model", "occupation", "women found", "women", "men found", "men", "gap", "women, %"),
        tuple(row for one in seen for row in _occupations(one)),
        "Found: classified as the occupation they have.",
        digits=3,
    )
    rows = [
        {"x": one.women, "y": one.gap.value, "label": one.name, "series": str(each.model["id"])}
        for each in seen
        for one in each.result.gaps.occupations
    ]
    told = "Each dot an occupation: the share of women in it, and how much oftener women are found than men."
    drawn = (
        [
            Plot(
                "biasbios",
                "Occupations",
                told,
                charts.scatter(rows, x="share of women", y="TPR, women − men"),
            )
        ]
        if rows
        else []
    )
    taught = training_table(seen)
    return Finding(
        tuple(map(_answer, seen)),
        (bias, *((taught,) if taught.rows else ()), by),
        tuple(drawn),
        (*not_learnt_notes(seen), *_notes(seen)),
    )


def headline(found: BiasBiosResult) -> Headline:
    """The mean gap."""
    return Headline("mean TPR gap, women − men", found.gaps.mean, found.biographies)


def _row(one: TaskObservation) -> tuple[Cell, ...]:
    gaps: TprGaps = one.result.gaps
    return (
        *(one.model["id"], gaps.mean, gaps.absolute, gaps.chance, gaps.rms, gaps.r),
        *(len(gaps.occupations), one.result.biographies),
    )


def _occupations(one: TaskObservation) -> list[tuple[Cell, ...]]:
    return [
        (one.model["id"], each.name, *each.female, *each.male, each.gap, 100 * each.women)
        for each in sorted(one.result.gaps.occupations, key=lambda each: each.gap.value)
    ]


def _answer(one: TaskObservation) -> str:
    gaps: TprGaps = one.result.gaps
    return (
        f"{one.model['id']}: mean TPR gap {gaps.mean.value:+.3f} "
        f"({gaps.mean.low:+.3f} to {gaps.mean.high:+.3f}), RMS {gaps.rms.value:.3f}, over "
        f"{len(gaps.occupations)} occupations and {one.result.biographies:,} "
        f"biographies; test accuracy {one.result.accuracy:.3f}"
    )


def _notes(seen: Sequence[TaskObservation]) -> list[str]:
    return [
        f"{one.model['id']}: left out, having one gender only: {', '.join(one.result.gaps.left_out)}"
        for one in seen
        if one.result.gaps.left_out
    ]


BIASBIOS = Task(
    name="biasbios",
    title="BiasBios",
    question="Are women and men found equally often in the occupation they have?",
    needs="training",
    observe=observe,
    conclude=conclude,
    headline=headline,
    citation="de-arteaga-etal-2019-bias",
    load_data=load_task_data,
)
