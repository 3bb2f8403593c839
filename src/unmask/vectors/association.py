"""WEAT and variants: are the targets X nearer to the attributes A than to B, and Y the other way round?

s(w) = mean cos(w, a) − mean cos(w, b). The statistic is Σ s(x) − Σ s(y); the effect size is the difference
of their means over the standard deviation of all s. Positive: X is closer to A, and Y to B.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from unmask.core.errors import StatsError
from unmask.core.estimate import Value
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.models import Lm
from unmask.vectors.contextual import Pooling, text_vectors, word_vectors
from unmask.vectors.intervals import Spread, Units, effect_interval
from unmask.vectors.partitions import permutation_p_value
from unmask.vectors.questions import Question
from unmask.vectors.static import WordVectors, format_words

Unknown = Literal["refuse", "leave-out"]
VectorSets = tuple[Floats, Floats, Floats, Floats]  # vectors of X, Y, A, B


@dataclass(frozen=True, slots=True)
class Association:
    """Result of one association test."""

    question: str
    effect: Value  # effect size; units (words or sentences) of all four sets are resampled
    statistic: float
    p: float  # one-sided permutation test of the statistic
    partitions: int  # number of partitions, including the observed one
    exact: bool  # all partitions were enumerated
    spread: Spread
    x: Floats  # s(w) of every target in X
    y: Floats
    sizes: tuple[int, int, int, int]  # of X, Y, A, B
    left_out: tuple[str, ...] = ()  # words without a vector


def weat(
    question: Question,
    vectors: WordVectors,
    *,
    unknown: Unknown = "refuse",
    spread: Spread = "sample",
    seed: int = 0,
) -> Association:
    """WEAT on static vectors; words without a vector raise an error or are left out and listed."""
    missing = vectors.missing(question.texts())
    if missing and unknown == "refuse":
        raise StatsError(
            f"{question.name}: {vectors.source} has no vector for {format_words(missing)}; "
            "leave them out with unknown='leave-out'"
        )
    reduced = question.without(missing)
    for group in reduced.groups():
        if not group.texts:
            raise StatsError(f"{question.name}: {vectors.source} has no vector for any word of {group.name}")
    x, y, a, b = (vectors.lookup(group.texts) for group in reduced.groups())
    return association_test(question.name, (x, y, a, b), spread=spread, seed=seed, left_out=missing)


def seat(
    question: Question,
    lm: Lm,
    *,
    layer: int = -1,
    pooling: Pooling | None = None,
    spread: Spread = "sample",
    seed: int = 0,
) -> Association:
    """SEAT: WEAT on vectors of whole sentences."""
    texts = question.texts()
    rows = dict(zip(texts, text_vectors(lm, texts, layer=layer, pooling=pooling), strict=True))
    x, y, a, b = (np.stack([rows[text] for text in group.texts]) for group in question.groups())
    return association_test(question.name, (x, y, a, b), spread=spread, seed=seed, units=question.units())


def cseat(
    question: Question, lm: Lm, *, layer: int = -1, spread: Spread = "sample", seed: int = 0
) -> Association:
    """C-SEAT: WEAT on vectors of the word of interest in each sentence."""
    spans = list(dict.fromkeys(span for group in question.groups() for span in group.word_spans()))
    rows = dict(zip(spans, word_vectors(lm, spans, layer=layer), strict=True))
    x, y, a, b = (np.stack([rows[span] for span in group.word_spans()]) for group in question.groups())
    return association_test(question.name, (x, y, a, b), spread=spread, seed=seed, units=question.units())


def association_test(
    name: str,
    sets: VectorSets,
    *,
    spread: Spread = "sample",
    seed: int = 0,
    left_out: tuple[str, ...] = (),
    units: Units | None = None,
) -> Association:
    """Association test of four sets of vectors; rows with the same `units` are resampled together."""
    x, y, a, b = sets
    if min(len(x), len(y)) < 2 or min(len(a), len(b)) < 1:
        sizes = ", ".join(str(len(rows)) for rows in sets)
        raise StatsError(
            f"{name}: {sizes} vectors in X, Y, A, B; expected two targets and one attribute at least"
        )
    near_a, near_b = cosines(np.concatenate([x, y]), a), cosines(np.concatenate([x, y]), b)
    s = near_a.mean(1) - near_b.mean(1)
    permutation = permutation_p_value(s[: len(x)], s[len(x) :], rng=generator(seed, f"{name}/partitions"))
    resampled_units = units or (_own_units(x), _own_units(y), _own_units(a), _own_units(b))
    return Association(
        question=name,
        effect=effect_interval(near_a, near_b, resampled_units, spread, rng=generator(seed, f"{name}/words")),
        statistic=float(s[: len(x)].sum() - s[len(x) :].sum()),
        p=permutation.p,
        partitions=permutation.partitions,
        exact=permutation.exact,
        spread=spread,
        x=s[: len(x)],
        y=s[len(x) :],
        sizes=(len(x), len(y), len(a), len(b)),
        left_out=left_out,
    )


def cosines(rows: Floats, others: Floats) -> Floats:
    """The cosine of every row of `rows` with every row of `others`."""
    return unit(rows) @ unit(others).T


def unit(rows: Floats) -> Floats:
    """Rows normalised to unit length; StatsError for a row of zeros."""
    length = np.linalg.norm(rows, axis=-1, keepdims=True)
    if (length == 0).any():
        raise StatsError("a vector has length zero and no direction; leave its word out")
    normalised: Floats = rows / length
    return normalised


def _own_units(rows: Floats) -> tuple[str, ...]:
    """Every row as its own unit."""
    return tuple(map(str, range(len(rows))))
