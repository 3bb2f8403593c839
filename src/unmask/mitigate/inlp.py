"""`inlp`: iterative nullspace projection (Ravfogel et al. 2020): remove the directions of linear classifiers.

Each round fits a linear classifier of gender on the projected states and removes its direction, until a new
classifier is at chance on unseen words, or several rounds bring no gain. Published: a fixed number of rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.linear_model import LogisticRegression

from unmask.core.errors import StatsError
from unmask.core.types import Floats
from unmask.mitigate.erase import Facts, GenderedStates, accuracy_by_pair, apply, split_by_word, subspace_eraser
from unmask.mitigate.projection import remove_subspace
from unmask.mitigate.spec import Method
from unmask.models import Lm
from unmask.models.eraser import Eraser
from unmask.stats.means import mean_test
from unmask.vectors.static import WordVectors

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
    vectors: WordVectors, pairs: Sequence[tuple[str, str]], *, rounds: int = ROUNDS, seed: int = 0
) -> tuple[WordVectors, Nullspace]:
    """Static vectors without the directions that classifiers of the pairs' words use."""
    known = [pair for pair in pairs if not vectors.missing(pair)]
    first, second = (vectors.lookup([pair[side] for pair in known]) for side in (0, 1))
    space = nullspace(GenderedStates(first, second, tuple(known)), rounds=rounds, seed=seed)
    changed = remove_subspace(vectors.matrix, space.removed)
    return WordVectors(vectors.words, changed, f"{vectors.source}, inlp", vectors.unknown), space


def fit_inlp(_: Lm, fit: GenderedStates, layer: int, seed: int) -> tuple[Eraser, Facts]:
    """Remove directions until a linear classifier no longer predicts gender."""
    space = nullspace(fit, seed=seed)
    about = f"{len(space.removed)} directions that predict gender are removed"
    facts: Facts = {"directions": len(space.removed), "accuracies": list(space.accuracies)}
    return subspace_eraser("inlp", space.removed, layer, about), {**facts, "at chance": space.at_chance}


INLP = Method(
    name="inlp",
    title="Iterative nullspace projection",
    about="directions that predict gender are removed from the states of one layer until no probe reads it",
    apply=partial(apply, fit_function=fit_inlp),
    citation="ravfogel-etal-2020",
    trains=False,
)
