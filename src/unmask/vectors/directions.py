"""Measures of two groups of words, mostly along their direction: direct bias, RIPA, RND, nearest neighbours.

The direction is the first principal component of the pairs' differences, without centring; it points to the
first words of the pairs. For a single pair it is the difference itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import pearsonr
from sklearn.neighbors import NearestNeighbors

from unmask.core.errors import StatsError
from unmask.core.estimate import NAN, Value
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.stats.bootstrap import NO_SPREAD
from unmask.stats.intervals import mean, mean_interval
from unmask.vectors.association import unit
from unmask.vectors.static import WordVectors

Pairs = Sequence[tuple[str, str]]
GENDER: Pairs = (  # Bolukbasi et al. 2016, masculine words first
    ("man", "woman"),
    ("boy", "girl"),
    ("he", "she"),
    ("father", "mother"),
    ("son", "daughter"),
    ("guy", "gal"),
    ("male", "female"),
    ("his", "her"),
    ("himself", "herself"),
    ("John", "Mary"),
)


@dataclass(frozen=True, slots=True)
class Direction:
    """A unit vector, and the share of the pairs' variance that it explains."""

    vector: Floats
    explained: float
    pairs: int


@dataclass(frozen=True, slots=True)
class WordMean:
    """A mean over words with its interval, and each word's value; the pairs are treated as fixed."""

    mean: Value
    n: int
    values: Mapping[str, float]
    pairs: int
    explained: float | None  # share of the pairs' variance along their direction, for measures that use it


@dataclass(frozen=True, slots=True)
class NeighbourBias:
    """Share of each word's nearest neighbours that lean to the first side; its correlation with the lean."""

    shares: Mapping[str, float]  # among marked neighbours, 0 to 1; NaN if none is marked
    marked: Mapping[str, int]  # how many of the k are marked
    k: int
    correlation: Value  # Pearson's r between the share and the word's own lean
    p: float | None
    n: int  # words with a share and a lean


def direction(vectors: WordVectors, pairs: Pairs, *, unit_length: bool = True) -> Direction:
    """The direction of the pairs; with `unit_length`, vectors are normalised first."""
    if not pairs:
        raise StatsError("a direction needs at least one pair of words")
    first, second = (vectors.lookup([pair[side] for pair in pairs]) for side in (0, 1))
    differences = unit(first) - unit(second) if unit_length else first - second
    _, sizes, rows = np.linalg.svd(differences, full_matrices=False)
    if sizes[0] <= 1e-12 * max(np.abs(first).max(), np.abs(second).max()):
        raise StatsError("the words of every pair have the same vector: there is no direction between them")
    sign = 1.0 if (differences @ rows[0]).sum() >= 0 else -1.0
    return Direction(sign * rows[0], float(sizes[0] ** 2 / (sizes**2).sum()), len(pairs))


def direction_cosines(vectors: WordVectors, bias_direction: Direction) -> dict[str, float]:
    """The cosine of every word with a direction."""
    return dict(zip(vectors.words, (unit(vectors.matrix) @ bias_direction.vector).tolist(), strict=True))


def direct_bias(vectors: WordVectors, words: Sequence[str], pairs: Pairs = GENDER, *, seed: int = 0) -> WordMean:
    """Mean |cos(word, direction)| over words that should be neutral; from 0 (none) to 1."""
    bias_direction = direction(vectors, pairs)
    values = unit(_lookup_unique(vectors, words)) @ bias_direction.vector
    sizes = dict(zip(words, np.abs(values).tolist(), strict=True))
    return _over_words("direct-bias", sizes, pairs, seed, scale=(0.0, 1.0), along=bias_direction)


def ripa(
    vectors: WordVectors, words: Sequence[str], pairs: Pairs = GENDER, *, seed: int = 0
) -> tuple[WordMean, WordMean]:
    """Mean inner product of words with the pairs' direction, signed and absolute; lengths count."""
    bias_direction = direction(vectors, pairs, unit_length=False)
    leans = dict(zip(words, (_lookup_unique(vectors, words) @ bias_direction.vector).tolist(), strict=True))
    sizes = {word: abs(value) for word, value in leans.items()}
    lean = _over_words("ripa", leans, pairs, seed, along=bias_direction)
    return lean, _over_words("ripa-size", sizes, pairs, seed, scale=(0.0, np.inf), along=bias_direction)


def relative_norm_distance(
    vectors: WordVectors, words: Sequence[str], pairs: Pairs = GENDER, *, seed: int = 0
) -> WordMean:
    """Mean of ‖word − second‖ − ‖word − first‖: unit vectors, and the means of those of the pairs' words."""
    first, second = (unit(vectors.lookup([pair[side] for pair in pairs])).mean(0) for side in (0, 1))
    rows = unit(_lookup_unique(vectors, words))
    nearer = np.linalg.norm(rows - second, axis=1) - np.linalg.norm(rows - first, axis=1)
    return _over_words("rnd", dict(zip(words, nearer.tolist(), strict=True)), pairs, seed)


def knn_bias(vectors: WordVectors, words: Sequence[str], marks: Mapping[str, float], *, k: int = 100) -> NeighbourBias:
    """Share of first-leaning words among each word's k nearest neighbours (by cosine, itself left out).

    `marks`: the lean of each word, above 0 to the first side, below 0 to the other; words with 0 or without
    a mark are unmarked. Published: `direction_cosines` of the vectors before mitigation.
    """
    rows = _lookup_unique(vectors, words)
    if not 1 <= k < len(vectors.words):
        raise StatsError(f"k is {k}; expected 1 to {len(vectors.words) - 1} (the number of other words)")
    near = NearestNeighbors(n_neighbors=k + 1, metric="cosine", algorithm="brute").fit(vectors.matrix)
    shares, marked = {}, {}
    for word, neighbours in zip(words, near.kneighbors(rows, return_distance=False), strict=True):
        others = [vectors.words[row] for row in neighbours if vectors.words[row] != word][:k]
        signs = [marks[other] > 0 for other in others if marks.get(other, 0.0) != 0]
        shares[word], marked[word] = mean(np.array(signs, dtype=np.float64)), len(signs)
    known = [word for word in words if marked[word] and word in marks]
    both = np.array([[shares[word], marks[word]] for word in known], dtype=np.float64).reshape(-1, 2)
    return NeighbourBias(shares, marked, k, *correlation(both), n=len(known))


def correlation(both: Floats) -> tuple[Value, float | None]:
    """Pearson's correlation of two columns with Fisher's interval, and its p-value."""
    n = len(both)
    if n < 3:
        return Value(NAN, method=f"too few: {n} words"), None
    if (np.ptp(both, axis=0) <= 1e-12).any():
        return Value(NAN, method=f"{NO_SPREAD}: {n} words alike"), None
    found = pearsonr(both[:, 0], both[:, 1])
    value, p = float(found.statistic), float(found.pvalue)
    if n < 4:
        return Value(value, method=f"too few: {n} words"), p
    ends = found.confidence_interval()
    return Value(value, float(ends.low), float(ends.high), "fisher"), p


def _lookup_unique(vectors: WordVectors, words: Sequence[str]) -> Floats:
    if not words or len(set(words)) < len(words):
        raise StatsError(f"{len(words)} words, {len(set(words))} different; expected at least one, each once")
    return vectors.lookup(words)


def _over_words(
    label: str,
    values: Mapping[str, float],
    pairs: Pairs,
    seed: int,
    *,
    scale: tuple[float, float] = (-np.inf, np.inf),
    along: Direction | None = None,
) -> WordMean:
    found = mean_interval(np.array([*values.values()]), rng=generator(seed, label), unit="words")
    explained = None if along is None else along.explained
    return WordMean(found.clip(*scale), len(values), values, len(pairs), explained)
