"""`inlp`: iterative nullspace projection (Ravfogel et al. 2020): remove the directions of linear classifiers.

Each round fits a linear classifier of gender on the projected states and removes its direction, until a new
classifier is at chance on unseen words, or several rounds bring no gain. Published: a fixed number of rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from unmask.core.errors import StatsError
from unmask.core.options import option
from unmask.mitigate.methods.leace import LeaceOptions
from unmask.mitigate.spec import Method, VectorPlan, apply_eraser

if TYPE_CHECKING:
    from unmask.core.types import Floats
    from unmask.mitigate.erase import Facts, GenderedStates
    from unmask.models import Lm
    from unmask.models.eraser import Eraser
    from unmask.vectors.static import WordVectors

ROUNDS = 80  # at most; published: 80 for language models (Meade et al. 2022), 35 for GloVe
SURE = 0.05  # p above which a probe counts as at chance
ENOUGH = 0.5  # p above which no further round is run
PATIENCE, WORTH = 5, 0.5  # stop after so many rounds without a drop of so many points


@dataclass(frozen=True)
class InlpOptions(LeaceOptions):
    """Options of `inlp`."""

    rounds: int | None = option(
        None, "Word vectors: number of classifiers (published: 35).", shown="until one is at chance", least=1
    )


@dataclass(frozen=True, slots=True)
class Nullspace:
    """Orthonormal rows that are removed, and the accuracy of each round's probe on unseen words."""

    removed: Floats
    accuracies: tuple[float, ...]  # percent, before each round and after the last
    at_chance: bool

    @property
    def facts(self) -> Facts:
        """What a result records."""
        accuracies = list(self.accuracies)
        return {"directions": len(self.removed), "accuracies": accuracies, "at chance": self.at_chance}


def nullspace(gendered: GenderedStates, *, rounds: int = ROUNDS, seed: int = 0, fixed: bool = False) -> Nullspace:
    """Directions of as many classifiers as needed; with `fixed`, of exactly `rounds`."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    from unmask.mitigate.erase import accuracy_by_pair, remove_subspace, split_by_word
    from unmask.stats.intervals import mean_test

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
        directions = np.concatenate([removed, classifier.coef_])
        removed = np.asarray(np.linalg.qr(directions.T)[0].T, dtype=np.float64)  # the earlier rows keep their span


def fit_inlp(_: Lm, fit: GenderedStates, layer: int, seed: int) -> tuple[Eraser, Facts]:
    """Remove directions until a linear classifier no longer predicts gender."""
    from unmask.mitigate.erase import subspace_eraser

    space = nullspace(fit, seed=seed)
    about = f"{len(space.removed)} directions that predict gender are removed"
    return subspace_eraser("inlp", space.removed, layer, about), space.facts


def change_vectors(plan: VectorPlan) -> tuple[WordVectors, Facts]:
    """Remove directions that tell the most biased words of each gender apart, from words without a gender."""
    from unmask.mitigate.erase import change_neutral, most_biased, remove_subspace

    biased, rounds = most_biased(plan, plan.options.extreme), plan.options.rounds
    space = nullspace(biased, rounds=rounds or ROUNDS, seed=plan.options.seed, fixed=rounds is not None)
    return change_neutral(plan, "inlp", partial(remove_subspace, removed=space.removed)), space.facts


INLP = Method(
    name="inlp",
    title="Iterative nullspace projection",
    about="directions that predict gender are removed from the states of one layer until no probe reads it",
    apply=partial(apply_eraser, fit=fit_inlp),
    citation="ravfogel-etal-2020",
    options=InlpOptions,
    change_vectors=change_vectors,
)
