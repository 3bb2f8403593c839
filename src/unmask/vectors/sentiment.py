"""RNSB: is negative sentiment spread evenly over the terms of groups (Sweeney and Najafian 2019)?

A logistic regression learns to tell the vectors of positive words (A) from those of negative words (B). Its
probabilities that each term of X and Y is negative are normalised to sum to one; RNSB is the Kullback-Leibler
divergence of this distribution from the uniform one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import entropy
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from unmask.core.errors import StatsError
from unmask.core.estimate import Value
from unmask.core.seeds import generator
from unmask.core.types import Floats, Ints
from unmask.stats.bootstrap import stratified_ends
from unmask.vectors.association import known_words, permutation_p_value
from unmask.vectors.questions import Question
from unmask.vectors.spec import PermutedTest, VectorSettings
from unmask.vectors.static import WordVectors

RESAMPLES = 200  # each fits a classifier
MAX_BCA_WORDS = 200  # above this BCa, which leaves out one word at a time, takes too long
FOLDS = 5  # of the cross-validated accuracy


@dataclass(frozen=True, slots=True, kw_only=True)
class SentimentBias(PermutedTest):
    """Result of RNSB for one question: the divergence in nats, with the words of A and B resampled.

    The permutation test is whether the terms of Y are more negative than those of X.
    """

    negative: Mapping[str, float]  # by term: the probability that it is negative
    means: tuple[float, float]  # of X, of Y
    accuracy: float  # of the classifier on unseen words of A and B, in percent


def rnsb(question: Question, vectors: WordVectors, settings: VectorSettings) -> SentimentBias:
    """RNSB on vectors of words without context; words without a vector are left out and listed."""
    reduced, missing = known_words(question, vectors)
    x, y, a, b = sets = [vectors.lookup(group.texts) for group in reduced.groups()]
    sizes = (len(x), len(y), len(a), len(b))
    if min(sizes) < 2:
        raise StatsError(f"{question.name}: {sizes} vectors in X, Y, A, B; expected at least two of each")
    terms = np.concatenate([x, y])
    negative = negative_probabilities(a, b, terms)
    rng = generator(settings.seed, f"{question.name}/partitions")
    p, partitions = permutation_p_value(-negative[: len(x)], -negative[len(x) :], rng=rng)
    return SentimentBias(
        question=question.name,
        effect=_interval(sets, divergence(negative), settings.seed, question.name),
        p=p,
        partitions=partitions,
        negative=dict(zip((*reduced.x.texts, *reduced.y.texts), negative.tolist(), strict=True)),
        means=(float(negative[: len(x)].mean()), float(negative[len(x) :].mean())),
        accuracy=_accuracy(a, b),
        sizes=sizes,
        left_out=missing,
    )


def negative_probabilities(positive: Floats, negative: Floats, terms: Floats) -> Floats:
    """The probability that each term is negative, by a classifier of the two sets."""
    return np.asarray(
        _classifier().fit(*_label_vectors(positive, negative)).predict_proba(terms)[:, 1], dtype=np.float64
    )


def divergence(negative: Floats) -> float:
    """The Kullback-Leibler divergence, in nats, of the normalised probabilities from the uniform distribution."""
    return float(entropy(negative, np.ones_like(negative)))


def _classifier() -> LogisticRegression:
    return LogisticRegression(max_iter=2000)


def _label_vectors(positive: Floats, negative: Floats) -> tuple[Floats, Ints]:
    return np.concatenate([positive, negative]), np.repeat([0, 1], [len(positive), len(negative)])


def _accuracy(positive: Floats, negative: Floats) -> float:
    """The mean share of unseen words of both sets that are classified correctly, in percent."""
    folds = min(FOLDS, len(positive), len(negative))
    scores = cross_val_score(_classifier(), *_label_vectors(positive, negative), cv=folds, scoring="balanced_accuracy")
    return 100 * float(scores.mean())


def _interval(sets: list[Floats], value: float, seed: int, name: str) -> Value:
    """The divergence with its interval: positive and negative words are resampled, and the classifier fitted again."""
    x, y, a, b = sets
    terms = np.concatenate([x, y])

    def divergences(positive: Ints, negative: Ints, axis: int) -> Floats:
        assert axis == -1
        rows = np.broadcast_shapes(positive.shape[:-1], negative.shape[:-1])
        drawn = [
            np.broadcast_to(part, (*rows, part.shape[-1])).reshape(-1, part.shape[-1]) for part in (positive, negative)
        ]
        found = [divergence(negative_probabilities(a[i], b[j], terms)) for i, j in zip(*drawn, strict=True)]
        return np.array(found).reshape(rows)

    low, high, method = stratified_ends(
        (np.arange(len(a)), np.arange(len(b))),
        divergences,
        methods=("BCa", "percentile") if len(a) + len(b) <= MAX_BCA_WORDS else ("percentile",),
        rng=generator(seed, f"{name}/words"),
        resamples=RESAMPLES,
    )
    return Value(value, low, high, f"{method} over {len(a)}+{len(b)} words").widen()
