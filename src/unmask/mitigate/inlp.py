"""`inlp`: iterative nullspace projection (Ravfogel et al. 2020): remove the directions of linear classifiers.

Each round fits a linear classifier of gender on the projected states and removes its direction, until a new
classifier is at chance on unseen words, or several rounds bring no gain. Published: a fixed number of rounds.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.linear_model import LogisticRegression

from unmask.core.errors import StatsError
from unmask.core.types import Floats
from unmask.mitigate.erase import Facts, GenderedStates, accuracy_by_pair, split_by_word, subspace_eraser
from unmask.mitigate.projection import remove_subspace
from unmask.mitigate.spec import StaticPlan
from unmask.models import Lm
from unmask.models.eraser import Eraser
from unmask.stats.intervals import mean_test
from unmask.vectors.directions import GENDER, Pairs, direction, direction_cosines
from unmask.vectors.static import WordVectors

EXTREME = 7500  # words of either gender that the classifiers of static vectors learn from, as published
MIN_WORDS = 20  # of either gender, at least
ROUNDS = 80  # at most; published: 80 for language models (Meade et al. 2022), 35 for GloVe
SURE = 0.05  # p above which a probe counts as at chance
ENOUGH = 0.5  # p above which no further round is run
PATIENCE, WORTH = 5, 0.5  # stop after so many rounds without a drop of so many points


@dataclass(frozen=True, slots=True)
class Nullspace:
    """Orthonormal rows that are removed, and the accuracy of each round's probe on unseen words."""

    removed: Floats
    accuracies: tuple[float, ...]  # percent, before each round and after the last
    at_chance: bool


def nullspace(gendered: GenderedStates, *, rounds: int = ROUNDS, seed: int = 0, fixed: bool = False) -> Nullspace:
    """Directions of as many classifiers as needed; with `fixed`, of exactly `rounds`."""
    if rounds < 1:
        raise StatsError(f"{rounds} rounds; expected at least 1")
    fit, test = split_by_word(gendered, seed=seed)
    states, genders = fit.both()
    removed = np.zeros((0, states.shape[1]))
    accuracies: list[float] = []
    max_directions = min(rounds, states.shape[1] - 1)
    while True:
        values = accuracy_by_pair(fit, test, partial(remove_subspace, removed=removed))
        accuracies.append(float(values.mean()))
        p = mean_test(values, 50.0)
        below = bool(values.mean() <= 50.0)
        at_goal = below or (p is not None and p > ENOUGH)
        earlier = accuracies[:-PATIENCE]
        no_gain = bool(earlier) and min(accuracies[-PATIENCE:]) > min(earlier) - WORTH
        if len(removed) >= max_directions or (not fixed and (at_goal or no_gain)):
            at_chance = below or (p is not None and p > SURE)
            fewest = next(n for n, accuracy in enumerate(accuracies) if accuracy <= min(accuracies) + WORTH)
            count = len(removed) if fixed or at_goal else fewest  # the fewest that do as well
            return Nullspace(removed[:count], tuple(accuracies), at_chance)
        classifier = LogisticRegression(max_iter=2000).fit(remove_subspace(states, removed), genders)
        removed = orthonormal(np.concatenate([removed, classifier.coef_]))


def orthonormal(rows: Floats) -> Floats:
    """Orthonormal rows with the same span; the first n span what the first n given rows span."""
    return np.asarray(np.linalg.qr(rows.T)[0].T, dtype=np.float64)


def debias_vectors(
    vectors: WordVectors,
    pairs: Pairs = GENDER,
    *,
    keep: Iterable[str] = (),
    extreme: int = EXTREME,
    rounds: int | None = None,
    seed: int = 0,
) -> tuple[WordVectors, Nullspace]:
    """Static vectors without the directions by which classifiers tell the most biased words of each gender apart.

    Args:
        vectors: all words are changed except those in `keep` and in the pairs.
        pairs: word pairs; the words are ordered by their cosine with the pairs' direction.
        keep: words that are not changed, nor learned from.
        extreme: how many words of either end to learn from.
        rounds: the number of classifiers; None: until one is at chance.
        seed: which words are held out to test the classifiers.
    """
    unchanged = {*keep, *(word for pair in pairs for word in pair)}
    neutral = np.array([word not in unchanged for word in vectors.words])
    biased = most_biased(vectors, pairs, unchanged, extreme)
    space = nullspace(biased, rounds=rounds or ROUNDS, seed=seed, fixed=rounds is not None)
    changed = vectors.matrix.copy()
    changed[neutral] = remove_subspace(changed[neutral], space.removed)
    return WordVectors(vectors.words, changed, f"{vectors.source}, inlp", vectors.unknown), space


def most_biased(vectors: WordVectors, pairs: Pairs, unchanged: Container[str], extreme: int) -> GenderedStates:
    """The words at either end of the pairs' direction, paired by rank; at most half of all words at each end."""
    leans = direction_cosines(vectors, direction(vectors, pairs))
    order = sorted((word for word in vectors.words if word not in unchanged), key=lambda word: -leans[word])
    count = min(extreme, len(order) // 2)
    if count < MIN_WORDS:
        raise StatsError(
            f"{vectors.source} has {len(order)} words that may be changed; expected at least {2 * MIN_WORDS}"
        )
    first, second = order[:count], order[::-1][:count]
    return GenderedStates(vectors.lookup(first), vectors.lookup(second), tuple(zip(first, second, strict=True)))


def change_vectors(plan: StaticPlan) -> tuple[WordVectors, Facts]:
    """Remove the directions from all words but those that have a gender."""
    changed, space = debias_vectors(
        *(plan.vectors, plan.pairs),
        keep=plan.keep,
        extreme=plan.options.extreme,
        rounds=plan.options.rounds,
        seed=plan.seed,
    )
    return changed, _facts(space)


def fit_inlp(_: Lm, fit: GenderedStates, layer: int, seed: int) -> tuple[Eraser, Facts]:
    """Remove directions until a linear classifier no longer predicts gender."""
    space = nullspace(fit, seed=seed)
    about = f"{len(space.removed)} directions that predict gender are removed"
    return subspace_eraser("inlp", space.removed, layer, about), _facts(space)


def _facts(space: Nullspace) -> Facts:
    found: Facts = {"directions": len(space.removed), "accuracies": list(space.accuracies)}
    return {**found, "at chance": space.at_chance}
