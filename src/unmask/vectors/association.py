"""WEAT and variants: are the targets X nearer to the attributes A than to B, and Y the other way round?

s(w) = mean cos(w, a) − mean cos(w, b). With distances instead of the cosine (Azarpanah and Farhadloo 2021) the nearer
is the more similar: s(w) = mean d(w, b) − mean d(w, a), of the vectors as they are. The statistic is
Σ s(x) − Σ s(y); the effect size is the difference of their means over the standard deviation of all s.
Positive: X is closer to A, and Y to B.

The permutation test over partitions of the targets is one-sided, ties counted, as published. All partitions
into sets of the given sizes are enumerated if there are few; otherwise distinct ones are sampled, including
the observed one, so that p is never 0. The interval resamples the units of each of the four sets: words; for
sentences their words of interest, if known, because sentences of one word are nearly identical.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from math import comb
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.stats import permutation_test
from sklearn.covariance import LedoitWolf

from unmask.core.errors import StatsError
from unmask.core.estimate import Value
from unmask.core.seeds import generator
from unmask.core.types import Floats, Ints
from unmask.models import Lm
from unmask.stats.bootstrap import NO_SPREAD, stratified_ends
from unmask.vectors.contextual import text_vectors, word_vectors
from unmask.vectors.questions import Question, Units
from unmask.vectors.spec import PermutedTest, Spread, VectorSettings
from unmask.vectors.static import WordVectors

VectorSets = Sequence[Floats]  # vectors of X, Y, A, B
Similarity = Callable[[Floats, Floats], Floats]  # of every row of the first with every row of the second
ENUMERABLE = 200_000  # partitions
SAMPLED = 100_000  # partitions sampled if there are more, including the observed one
BATCH = 4096  # partitions generated at a time
DIGITS = 12  # decimals compared, so that rounding in another order of summation is ignored


@dataclass(frozen=True, slots=True, kw_only=True)
class Association(PermutedTest):
    """Result of one association test: the effect size, with the units (words or sentences) of all sets resampled."""

    statistic: float  # which is permuted
    spread: Spread
    x: Floats  # s(w) of every target in X
    y: Floats


def weat(
    question: Question, vectors: WordVectors, settings: VectorSettings, similarity: Similarity | None = None
) -> Association:
    """WEAT on vectors of words without context; words without a vector are left out and listed."""
    reduced, missing = known_words(question, vectors)
    sets = [vectors.lookup(group.texts) for group in reduced.groups()]
    return association_test(question.name, sets, settings, left_out=missing, similarity=similarity)


def known_words(question: Question, vectors: WordVectors) -> tuple[Question, tuple[str, ...]]:
    """The question without the words that have no vector, and these; StatsError if a set has none left."""
    missing = vectors.missing(question.texts())
    reduced = question.without(missing)
    for group in reduced.groups():
        if not group.texts:
            raise StatsError(f"{question.name}: {vectors.source} has no vector for any word of {group.name}")
    return reduced, missing


def seat(question: Question, lm: Lm, settings: VectorSettings) -> Association:
    """SEAT: WEAT on vectors of whole sentences."""
    texts = question.texts()
    rows = dict(zip(texts, text_vectors(lm, texts, settings.layer, settings.pooling), strict=True))
    sets = [np.stack([rows[text] for text in group.texts]) for group in question.groups()]
    return association_test(question.name, sets, settings, units=question.units())


def cseat(question: Question, lm: Lm, settings: VectorSettings) -> Association:
    """C-SEAT: WEAT on vectors of the word of interest in each sentence."""
    spans = list(dict.fromkeys(span for group in question.groups() for span in group.word_spans()))
    rows = dict(zip(spans, word_vectors(lm, spans, settings.layer), strict=True))
    sets = [np.stack([rows[span] for span in group.word_spans()]) for group in question.groups()]
    return association_test(question.name, sets, settings, units=question.units())


def association_test(
    name: str,
    sets: VectorSets,
    settings: VectorSettings,
    *,
    left_out: tuple[str, ...] = (),
    units: Units | None = None,
    similarity: Similarity | None = None,
) -> Association:
    """Association test of four sets of vectors; rows with the same `units` are resampled together."""
    x, y, a, b = sets
    if min(len(x), len(y)) < 2 or min(len(a), len(b)) < 1:
        sizes = ", ".join(str(len(rows)) for rows in sets)
        raise StatsError(f"{name}: {sizes} vectors in X, Y, A, B; expected two targets and one attribute at least")
    near_a, near_b = ((similarity or cosines)(np.concatenate([x, y]), attributes) for attributes in (a, b))
    s = near_a.mean(1) - near_b.mean(1)
    rng, spread = generator(settings.seed, f"{name}/partitions"), settings.deviation
    p, partitions = permutation_p_value(s[: len(x)], s[len(x) :], rng=rng)
    units = units or [[str(number) for number in range(len(rows))] for rows in sets]  # every row its own
    return Association(
        question=name,
        effect=effect_interval(near_a, near_b, units, spread, rng=generator(settings.seed, f"{name}/words")),
        statistic=float(s[: len(x)].sum() - s[len(x) :].sum()),
        p=p,
        partitions=partitions,
        spread=spread,
        x=s[: len(x)],
        y=s[len(x) :],
        sizes=(len(x), len(y), len(a), len(b)),
        left_out=left_out,
    )


def cosines(rows: Floats, others: Floats) -> Floats:
    """The cosine of every row with every other one."""
    similarity: Floats = unit(rows) @ unit(others).T
    return similarity


def unit(rows: Floats) -> Floats:
    """Rows normalised to unit length; StatsError for a row of zeros."""
    length = np.linalg.norm(rows, axis=-1, keepdims=True)
    if (length == 0).any():
        raise StatsError("a vector has length zero and no direction; leave its word out")
    normalised: Floats = rows / length
    return normalised


def effect_size(x: Floats, y: Floats, spread: Spread) -> float:
    """Difference of means over the standard deviation of all values; NaN if all are equal."""
    return float(_effect(np.concatenate([x, y]), np.ones(x.size + y.size), x.size, spread))


def effect_interval(near_a: Floats, near_b: Floats, units: Units, spread: Spread, *, rng: np.random.Generator) -> Value:
    """The effect size with its interval, from the similarities of all targets (X, then Y) with A and B."""
    first, s = len(units[0]), near_a.mean(1) - near_b.mean(1)
    effect = effect_size(s[:first], s[first:], spread)
    if np.isnan(effect):
        return Value(effect, method=f"{NO_SPREAD}: {s.size} targets alike")
    codes = [np.unique(np.asarray(names), return_inverse=True)[1].astype(np.int64) for names in units]
    counts = [int(code.max()) + 1 for code in codes]
    sizes = "+".join(map(str, counts))
    if min(counts[:2]) < 2:
        return Value(effect, method=f"too few: {sizes} units")

    def effects(*resampled: Ints, axis: int) -> Floats:
        remaining, single = iter(resampled), np.zeros_like(resampled[0][..., :1])
        x, y, a, b = (
            _weights(next(remaining) if count > 1 else single, code) for count, code in zip(counts, codes, strict=True)
        )
        return _effect(_mean(near_a, a) - _mean(near_b, b), np.concatenate([x, y], axis=axis), first, spread)

    resampled_units = tuple(np.arange(count) for count in counts if count > 1)
    low, high, method = stratified_ends(
        resampled_units, effects, methods=("BCa", "percentile"), rng=rng, cells=sum(code.size for code in codes)
    )
    if np.isfinite(low):
        return Value(effect, low, high, f"{method} over {sizes}").widen()
    return Value(effect, method=f"resamples of {sizes} units without spread")


def _effect(values: Floats, weights: Floats, first: int, spread: Spread) -> Floats:
    """The weighted effect size along the last axis."""
    total = weights.sum(-1)
    mean = (weights * values).sum(-1) / total
    squares = (weights * (values - mean[..., None]) ** 2).sum(-1)
    deviation = np.sqrt(squares / (total - (1 if spread == "sample" else 0)))
    x, y = weights[..., :first], weights[..., first:]
    difference = (x * values[..., :first]).sum(-1) / x.sum(-1) - (y * values[..., first:]).sum(-1) / y.sum(-1)
    effect: Floats = difference / np.where(deviation <= 1e-12 * np.abs(values).max(-1), np.nan, deviation)
    return effect


def _mean(near: Floats, weights: Floats) -> Floats:
    """The weighted mean similarity of every target with the attributes."""
    mean: Floats = (weights / weights.sum(-1, keepdims=True)) @ near.T
    return mean


def _weights(resampled: Ints, codes: Ints) -> Floats:
    """How often the unit of each member was sampled, for each row."""
    size = int(codes.max()) + 1
    rows = resampled.astype(np.intp).reshape(-1, resampled.shape[-1])
    flat = (rows + size * np.arange(len(rows))[:, None]).ravel()
    counts = np.bincount(flat, minlength=size * len(rows)).reshape(*resampled.shape[:-1], size)
    return counts[..., codes].astype(np.float64)


def permutation_p_value(x: Floats, y: Floats, *, rng: np.random.Generator) -> tuple[float, int]:
    """P(Σx − Σy at least as large as observed) over partitions into sets of these sizes, and their number."""
    total = comb(x.size + y.size, x.size)
    both = np.concatenate([x, y])
    scaled = both / (np.abs(both).max() or 1.0)
    if total <= ENUMERABLE:
        test = permutation_test(
            (scaled[: x.size], scaled[x.size :]),
            _difference,
            permutation_type="independent",
            vectorized=True,
            n_resamples=total,
            batch=BATCH,
            alternative="greater",
        )
        return float(test.pvalue), total
    observed = np.round(2 * scaled[: x.size].sum() - scaled.sum(), DIGITS)
    sums = np.round(2 * (sample_partitions(x.size, y.size, SAMPLED - 1, rng=rng) @ scaled) - scaled.sum(), DIGITS)
    return (1 + int((sums >= observed).sum())) / SAMPLED, SAMPLED


def sample_partitions(first: int, second: int, count: int, *, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Sample distinct partitions other than the observed one; True marks the first set."""
    observed = np.arange(first + second) < first
    seen = {np.packbits(observed).tobytes(): None}
    while len(seen) <= count:
        rows = rng.permuted(np.tile(observed, (BATCH, 1)), axis=1)
        seen.update(dict.fromkeys(row.tobytes() for row in np.packbits(rows, axis=1)))
    packed = np.frombuffer(b"".join(islice(seen, 1, count + 1)), dtype=np.uint8).reshape(count, -1)
    return np.unpackbits(packed, axis=1, count=observed.size).astype(np.bool_)


def _difference(x: Floats, y: Floats, axis: int) -> Floats:
    difference: Floats = np.round(x.sum(axis) - y.sum(axis), DIGITS)
    return difference


# ------------------------------------------------------------------------------------ distances

EUCLIDEAN, MANHATTAN, MAHALANOBIS = "weat-euclidean", "weat-manhattan", "weat-mahalanobis"
_Metric = Literal["euclidean", "cityblock"]  # as scipy calls them
_METRICS: dict[str, _Metric] = {EUCLIDEAN: "euclidean", MANHATTAN: "cityblock"}


def similarity_by(measure: str, vocabulary: Floats | None = None) -> Similarity | None:
    """The similarity of a variant of WEAT; None for the cosine. Mahalanobis needs the vectors of a vocabulary."""
    if measure == MAHALANOBIS:
        assert vocabulary is not None
        return partial(_nearness, whiten=whitening(vocabulary), metric="euclidean")
    return partial(_nearness, metric=_METRICS[measure]) if measure in _METRICS else None


def whitening(rows: Floats) -> Floats:
    """A matrix after which the Euclidean distance is Mahalanobis', by Ledoit and Wolf's estimate of the covariance.

    The sample's covariance has no inverse where there are fewer words than dimensions; this estimate always has
    one, and equals the sample's in the limit of many words.
    """
    if len(rows) < 2 or np.ptp(rows, axis=0).max() <= 1e-12 * np.abs(rows).max():
        raise StatsError(f"{len(rows)} vectors without spread have no covariance: give more words")
    factor: Floats = np.linalg.cholesky(LedoitWolf().fit(rows).precision_)
    return factor


def _nearness(rows: Floats, others: Floats, *, metric: _Metric, whiten: Floats | None = None) -> Floats:
    """Minus the distance of every row to every other one."""
    if whiten is not None:
        rows, others = rows @ whiten, others @ whiten
    nearness: Floats = -cdist(rows, others, metric)
    return nearness
