"""`leace`: least-squares concept erasure (Belrose et al. 2023): no linear probe can read gender, at the least change.

With W the inverse square root of the covariance of the states and u the direction of W times their covariance with
gender, the map x − W⁻¹ u uᵀ W (x − mean) makes that covariance zero; of all affine maps that do, it changes the states
least (Theorem 4.3). The covariance of the states is estimated with shrinkage (Ledoit & Wolf 2004), for there may be
fewer words than dimensions; the covariance with gender is zero whatever the estimate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from unmask.core.errors import StatsError
from unmask.core.options import option
from unmask.mitigate.spec import EraserOptions, Method, VectorPlan, apply_eraser

if TYPE_CHECKING:
    from unmask.core.types import Floats
    from unmask.mitigate.erase import Facts, GenderedStates
    from unmask.models import Lm
    from unmask.models.eraser import Eraser
    from unmask.vectors.static import WordVectors


@dataclass(frozen=True)
class LeaceOptions(EraserOptions):
    """Options of `leace`."""

    extreme: int = option(7500, "Word vectors: most biased words per gender to fit on.", least=20)


def erasing_map(states: Floats, labels: Floats, covariance: Floats | None = None) -> dict[str, Floats]:
    """`left`, `right` and `mean` of the map; the default covariance is that of the states, with shrinkage."""
    import numpy as np
    from sklearn.covariance import ledoit_wolf

    mean = states.mean(0)
    cross = (states - mean).T @ (labels - labels.mean()) / len(states)
    if covariance is None:
        covariance = ledoit_wolf(states)[0]
    sizes, axes = np.linalg.eigh(covariance)
    if not cross.any() or not sizes[0] > 0:
        raise StatsError("the states of both genders have equal means, or do not vary: there is nothing to erase")
    direction = (axes / np.sqrt(sizes)) @ (axes.T @ cross)
    direction /= np.linalg.norm(direction)
    left, right = ((axes * np.sqrt(sizes) ** power) @ (axes.T @ direction) for power in (1, -1))
    return {"left": left[None], "right": right[None], "mean": mean}


def leace_eraser(gendered: GenderedStates, layer: int = -1) -> Eraser:
    """An eraser of the gender of these states."""
    import torch

    from unmask.models.eraser import Eraser

    states, genders = gendered.both()
    tensors = {name: torch.from_numpy(array) for name, array in erasing_map(states, genders.astype(float)).items()}
    return Eraser("leace", tensors, layer, "gender is erased with the least change (LEACE)")


def fit_leace(_: Lm, fit: GenderedStates, layer: int, __: int) -> tuple[Eraser, Facts]:
    """Erase what a linear probe reads of gender."""
    import numpy as np

    from unmask.mitigate.erase import erase_states

    eraser = leace_eraser(fit, layer)
    states, genders = fit.both()
    erased = erase_states(eraser, states)
    cross = (erased - erased.mean(0)).T @ (genders - genders.mean()) / len(states)
    change = np.linalg.norm(erased - states) / np.linalg.norm(states - states.mean(0))
    return eraser, {"directions": 1, "covariance with gender": float(np.abs(cross).max()), "change": float(change)}


def change_vectors(plan: VectorPlan) -> tuple[WordVectors, Facts]:
    """Erase gender, fitted on the most biased words, from all words but those that have a gender."""
    from unmask.mitigate.erase import change_neutral, erase_states, most_biased

    biased = most_biased(plan, plan.options.extreme)
    changed = change_neutral(plan, "leace", partial(erase_states, leace_eraser(biased)))
    return changed, {"directions": 1, "words fitted on": 2 * len(biased.pairs)}


LEACE = Method(
    name="leace",
    title="Least-squares concept erasure",
    about="what a linear probe reads of gender is erased from the states of one layer, at the least change",
    apply=partial(apply_eraser, fit=fit_leace),
    citation="belrose-etal-2023-leace",
    options=LeaceOptions,
    change_vectors=change_vectors,
)
