"""WEAT and its kin: are the targets X nearer to the attributes A than to B, and Y the other way round?

s(w) = mean cos(w, a) − mean cos(w, b). The statistic is Σ s(x) − Σ s(y); the effect size is the difference
of their means over the standard deviation of all s. Positive: X goes with A, and Y with B.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from unmask.core.errors import StatsError
from unmask.core.types import Floats
from unmask.models import Lm
from unmask.stats.bootstrap import Interval, generator
from unmask.vectors.contextual import Pooling, text_vectors, word_vectors
from unmask.vectors.intervals import Spread, Units, effect_interval, effect_size
from unmask.vectors.partitions import permutation_p_value
from unmask.vectors.questions import Question
from unmask.vectors.static import WordVectors, format_words

Unknown = Literal["refuse", "leave-out"]
VectorSets = tuple[Floats, Floats, Floats, Floats]  # vectors of X, Y, A, B


@dataclass(frozen=True, slots=True)
class Association:
    """The answer to one question, and what it rests on."""

    question: str
    effect: float
    interval: Interval  # of the effect size, over the units of all four sets: words, or sentences
    statistic: float
    p: float  # one-sided: is the statistic larger than chance makes it?
    partitions: int  # that p is a share of, the observed one included
    exact: bool  # were these all the partitions there are?
    spread: Spread
    x: Floats  # s of every target in X
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
    """WEAT on static vectors; words without a vector are an error, or left out and named."""
    lacking = vectors.missing(question.texts())
    if lacking and unknown == "refuse":
        raise StatsError(
            f"{question.name}: {vectors.source} has no vector of {format_words(lacking)}; leave them out knowingly"
        )
    kept = question.without(lacking)
    for group in kept.groups():
        if not group.texts:
            raise StatsError(f"{question.name}: {vectors.source} has no vector of any word of {group.name}")
    x, y, a, b = (vectors.lookup(group.texts) for group in kept.groups())
    return association_test(question.name, (x, y, a, b), spread=spread, seed=seed, left_out=lacking)


def seat(
    question: Question,
    lm: Lm,
    *,
    layer: int = -1,
    pooling: Pooling | None = None,
    spread: Spread = "sample",
    seed: int = 0,
) -> Association:
    """SEAT: the same over vectors of whole sentences."""
    texts = question.texts()
    rows = dict(zip(texts, text_vectors(lm, texts, layer=layer, pooling=pooling), strict=True))
    x, y, a, b = (np.stack([rows[text] for text in group.texts]) for group in question.groups())
    return association_test(question.name, (x, y, a, b), spread=spread, seed=seed, units=question.units())


def cseat(
    question: Question, lm: Lm, *, layer: int = -1, spread: Spread = "sample", seed: int = 0
) -> Association:
    """C-SEAT: the same over vectors of the word of interest in each sentence."""
    placed = list(dict.fromkeys(one for group in question.groups() for one in group.word_spans()))
    rows = dict(zip(placed, word_vectors(lm, placed, layer=layer), strict=True))
    x, y, a, b = (np.stack([rows[one] for one in group.word_spans()]) for group in question.groups())
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
    """The association of four sets of vectors; `units` says which rows belong together, else none do."""
    x, y, a, b = sets
    if min(len(x), len(y)) < 2 or min(len(a), len(b)) < 1:
        sizes = ", ".join(str(len(rows)) for rows in sets)
        raise StatsError(
            f"{name}: {sizes} vectors in X, Y, A, B; expected two targets and one attribute each"
        )
    near_a, near_b = cosines(np.concatenate([x, y]), a), cosines(np.concatenate([x, y]), b)
    s = near_a.mean(1) - near_b.mean(1)
    chance = permutation_p_value(s[: len(x)], s[len(x) :], rng=generator(seed, f"{name}/partitions"))
    each = units or (_each(x), _each(y), _each(a), _each(b))
    return Association(
        question=name,
        effect=effect_size(s[: len(x)], s[len(x) :], spread),
        interval=effect_interval(near_a, near_b, each, spread, rng=generator(seed, f"{name}/words")),
        statistic=float(s[: len(x)].sum() - s[len(x) :].sum()),
        p=chance.p,
        partitions=chance.partitions,
        exact=chance.exact,
        spread=spread,
        x=s[: len(x)],
        y=s[len(x) :],
        sizes=(len(x), len(y), len(a), len(b)),
        left_out=left_out,
    )


def cosines(rows: Floats, others: Floats) -> Floats:
    """The cosine of every row with every other."""
    return unit(rows) @ unit(others).T


def unit(rows: Floats) -> Floats:
    """The rows, made of length one; a row of zeros has no direction."""
    length = np.linalg.norm(rows, axis=-1, keepdims=True)
    if (length == 0).any():
        raise StatsError("a vector has length zero, so it has no direction; leave its word out")
    made: Floats = rows / length
    return made


def _each(rows: Floats) -> tuple[str, ...]:
    """Every row a unit of its own."""
    return tuple(map(str, range(len(rows))))
