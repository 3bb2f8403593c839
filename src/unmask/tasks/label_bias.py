"""Label-related bias of training data: do labels go with the gender of what is labelled?

Kaneko et al. (2022, §5) name it beside the imbalance of gendered words: a classifier can learn gender from labels even
where words are balanced. The gender of an example is the one it is recorded with, else that of its gendered words if
all are of one gender; examples with words of both or of none are left out and counted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.stats import chi2_contingency
from scipy.stats.contingency import association

from unmask import data as datasets
from unmask.core.types import Floats
from unmask.data.examples import Example
from unmask.data.language import word_pattern
from unmask.findings import Cell, Table
from unmask.stats.corrections import holm
from unmask.stats.shares import Contrast, contrast, share_contrast

GENDERS = ("female", "male")
MEAN = "mean label"  # the row of a regression task


@dataclass(frozen=True, slots=True)
class LabelGap:
    """One label: its share among examples of each gender in percent (or the mean label), and the difference."""

    label: str
    female: float
    male: float
    gap: Contrast
    p_holm: float | None


@dataclass(frozen=True, slots=True)
class LabelBias:
    """The labels of training data by gender."""

    gaps: tuple[LabelGap, ...]  # the largest difference first
    counts: dict[str, int]  # examples by gender
    left_out: int  # examples with words of both genders, or of none
    association: float | None  # Cramér's V of label and gender; None for a regression
    p: float | None  # of no association


@cache
def _gendered_words() -> tuple[re.Pattern[str], dict[str, str]]:
    """A pattern of all gendered words of the package, and the gender of each in lower case."""
    pairs = [pair for pair in datasets.read("word-pairs").pairs if pair.swap]
    gender_of = {pair.masculine.lower(): "male" for pair in pairs} | {pair.feminine.lower(): "female" for pair in pairs}
    return word_pattern(gender_of, ignore_case=True, in_compounds=False), gender_of


def gender_of(example: Example) -> str | None:
    """`female` or `male`: as recorded, or of all gendered words of its texts; None if they are of both or none."""
    if (recorded := example.groups.get("gender")) in GENDERS:
        return recorded
    pattern, gender = _gendered_words()
    found = {gender[word.lower()] for text in (example.text, example.second or "") for word in pattern.findall(text)}
    return found.pop() if len(found) == 1 else None


def label_bias(examples: Sequence[Example], labels: Sequence[str]) -> LabelBias | None:
    """Compare the labels of examples about women and about men; None if one of them is missing."""
    by_gender: dict[str, list[Example]] = {gender: [] for gender in GENDERS}
    for example in examples:
        if (gender := gender_of(example)) is not None:
            by_gender[gender].append(example)
    female, male = by_gender.values()
    if not female or not male:
        return None
    counts = {gender: len(some) for gender, some in by_gender.items()}
    left_out = len(examples) - sum(counts.values())
    if not labels:
        women, men = (np.array([float(example.label) for example in some]) for some in (female, male))
        gap = LabelGap(MEAN, float(women.mean()), float(men.mean()), contrast(women, men), None)
        return LabelBias((gap,), counts, left_out, None, gap.gap.p)
    table = np.array([[sum(example.label == label for example in some) for label in labels] for some in (female, male)])
    gaps = _gaps(labels, table)
    used = table[:, table.sum(axis=0) > 0]
    varied = used.shape[1] > 1
    return LabelBias(
        tuple(sorted(gaps, key=lambda each: -abs(each.gap.value))),
        counts,
        left_out,
        float(association(used, method="cramer")) if varied else None,
        float(chi2_contingency(used).pvalue) if varied else None,
    )


def _gaps(labels: Sequence[str], table: Floats) -> list[LabelGap]:
    """The difference of every label, p-values corrected over all."""
    women, men = (int(total) for total in table.sum(axis=1))
    found = [share_contrast(int(a), women, int(b), men) for a, b in table.T]
    adjusted = holm([each.p for each in found])
    shares = 100 * table / np.array([[women], [men]])
    return [
        LabelGap(label, float(a), float(b), gap, p)
        for label, (a, b), gap, p in zip(labels, shares.T, found, adjusted, strict=True)
    ]


def label_table(found: LabelBias) -> Table:
    """The labels by gender, as a task shows them."""
    share = "" if found.gaps[0].label == MEAN else ", %"
    rows: list[tuple[Cell, ...]] = [
        (each.label, each.female, each.male, each.gap, each.gap.p if each.p_holm is None else each.p_holm)
        for each in found.gaps
    ]
    women, men = (found.counts[gender] for gender in GENDERS)
    strength = "" if found.association is None else f" Cramér's V of label and gender: {found.association:.3f}."
    return Table(
        "Labels of the training data, by gender",
        ("label", f"female{share}", f"male{share}", "female − male", "p Holm"),
        tuple(rows),
        f"{women:,} examples about women and {men:,} about men, by their record or, if all gendered words are of one "
        f"gender, by these; {found.left_out:,} others are left out.{strength} Intervals: Newcombe's; a mean: Welch's. "
        "p: Fisher's exact test; a mean: Mann-Whitney's.",
        digits=2,
    )
