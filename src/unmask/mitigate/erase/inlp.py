"""`inlp`: iterative nullspace projection (Ravfogel et al. 2020): take away what classifiers read, one by one.

Each round fits a linear classifier of gender on what is left and takes its direction away, until a fresh
one is at chance on words it has not seen, or several rounds brought nothing. Published: a fixed number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.linear_model import LogisticRegression

from unmask.core.errors import StatsError
from unmask.core.types import Floats
from unmask.mitigate.erase.probe import accuracy_by_pair, split_by_word
from unmask.mitigate.erase.projection import remove_subspace
from unmask.mitigate.erase.states import GenderedStates
from unmask.stats.means import mean_test
from unmask.vectors.static import WordVectors

ROUNDS = 80  # at most; published: 80 for language models (Meade et al. 2022), 35 for GloVe
SURE = 0.05  # p above which a probe counts as at chance
ENOUGH = 0.5  # p above which another round is not worth its direction
PATIENCE, WORTH = 5, 0.5  # rounds without so many points less are enough


@dataclass(frozen=True, slots=True)
class Nullspace:
    """Orthonormal rows that are taken away, and how accurate each round's probe was on unseen words."""

    removed: Floats
    accuracies: tuple[float, ...]  # percent, before each round and after the last
    at_chance: bool


def nullspace(
    found: GenderedStates, *, rounds: int = ROUNDS, seed: int = 0, fixed: bool = False
) -> Nullspace:
    """Directions of as many classifiers as it takes; with `fixed` of exactly so many."""
    if rounds < 1:
        raise StatsError(f"{rounds} rounds; expected at least 1")
    fit, test = split_by_word(found, seed=seed)
    states, sexes = fit.both()
    removed = np.zeros((0, states.shape[1]))
    accuracies: list[float] = []
    most = min(rounds, states.shape[1] - 1)
    while True:
        values = accuracy_by_pair(fit, test, partial(remove_subspace, removed=removed))
        accuracies.append(float(values.mean()))
        p = mean_test(values, 50.0)
        below = bool(values.mean() <= 50.0)
        done = below or (p is not None and p > ENOUGH)
        if len(removed) >= most or (not fixed and (done or _idle(accuracies))):
            return _kept(removed, accuracies, below or (p is not None and p > SURE), fixed=fixed or done)
        reader = LogisticRegression(max_iter=2000).fit(remove_subspace(states, removed), sexes)
        removed = orthonormal(np.concatenate([removed, reader.coef_]))


def _idle(accuracies: Sequence[float]) -> bool:
    """Did the last rounds bring nothing?"""
    earlier = accuracies[:-PATIENCE]
    return bool(earlier) and min(accuracies[-PATIENCE:]) > min(earlier) - WORTH


def _kept(removed: Floats, accuracies: Sequence[float], chance: bool, *, fixed: bool) -> Nullspace:
    """All directions where a number was asked for or chance was reached, else the fewest that do as well."""
    near = next(at for at, one in enumerate(accuracies) if one <= min(accuracies) + WORTH)
    some = len(removed) if fixed else near
    return Nullspace(removed[:some], tuple(accuracies), chance)


def orthonormal(rows: Floats) -> Floats:
    """Rows of the same span, at right angles and of length one; the first so many span what the first did."""
    made = np.linalg.qr(rows.T)[0].T
    return np.asarray(made, dtype=np.float64)


def debias_vectors(
    vectors: WordVectors, pairs: Sequence[tuple[str, str]], *, rounds: int = ROUNDS, seed: int = 0
) -> tuple[WordVectors, Nullspace]:
    """Static vectors without what classifiers of the pairs' words read."""
    known = [pair for pair in pairs if not vectors.missing(pair)]
    first, second = (vectors.lookup([pair[side] for pair in known]) for side in (0, 1))
    found = GenderedStates(first, second, tuple(known))
    space = nullspace(found, rounds=rounds, seed=seed)
    changed = remove_subspace(vectors.matrix, space.removed)
    return WordVectors(vectors.words, changed, f"{vectors.source}, inlp", vectors.unknown), space
