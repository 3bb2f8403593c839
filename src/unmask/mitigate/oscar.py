"""`oscar`: rotate occupations so that they are orthogonal to gender (Dev et al. 2021).

Nothing is removed: the gender of gendered words can still be read. Only the correlation of occupations with
gender is undone. The rotation is graded (`unmask.models.eraser`): full at the direction of occupations, none
at that of gender.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from sklearn.decomposition import PCA

from unmask import data
from unmask.core.errors import StatsError
from unmask.core.types import Floats
from unmask.mitigate.erase import Facts, GenderedStates, word_states
from unmask.mitigate.projection import subspace
from unmask.mitigate.spec import StaticPlan
from unmask.models import Lm
from unmask.models.eraser import Eraser
from unmask.vectors.directions import GENDER, Pairs
from unmask.vectors.static import WordVectors


def axes(first: Floats, second: Floats, occupations: Floats) -> tuple[Floats, Floats]:
    """The direction of gender, and that in which occupations differ most, at most 90° apart."""
    if len(occupations) < 2:
        raise StatsError(f"{len(occupations)} occupations have a vector; expected at least 2")
    gender = subspace(first, second, 1)[0]
    other = np.asarray(PCA(1).fit(occupations).components_[0], dtype=np.float64)
    cosine = float(gender @ other)
    if abs(cosine) > 1 - 1e-9:
        raise StatsError("occupations differ only along gender: there is no plane to rotate them in")
    return gender, other if cosine >= 0 else -other


def oscar_eraser(first: Floats, second: Floats, occupations: Floats, *, layer: int = -1, about: str = "") -> Eraser:
    """The rotation as an eraser."""
    gender, other = axes(first, second, occupations)
    return Eraser("oscar", {"first": torch.from_numpy(gender), "second": torch.from_numpy(other)}, layer, about)


def debias_vectors(vectors: WordVectors, occupations: Sequence[str], pairs: Pairs = GENDER) -> WordVectors:
    """Static vectors with occupations (or other words) orthogonal to the pairs' direction."""
    first, second = (vectors.lookup([pair[side] for pair in pairs]) for side in (0, 1))
    rotation = oscar_eraser(first, second, vectors.lookup(occupations))
    changed = rotation(torch.from_numpy(vectors.matrix)).numpy()
    return WordVectors(vectors.words, changed, f"{vectors.source}, oscar", vectors.unknown)


def change_vectors(plan: StaticPlan) -> tuple[WordVectors, Facts]:
    """Rotate all words; those along the direction of gender hardly move."""
    first, second = (plan.vectors.lookup([pair[side] for pair in plan.pairs]) for side in (0, 1))
    gender, other = axes(first, second, plan.vectors.lookup(plan.neutral))
    changed = debias_vectors(plan.vectors, plan.neutral, plan.pairs)
    return changed, {"occupations": len(plan.neutral), "cosine before": float(gender @ other)}


def fit_oscar(lm: Lm, fit: GenderedStates, layer: int, _: int) -> tuple[Eraser, Facts]:
    """Rotate occupations so that they are orthogonal to gender."""
    names = [occupation.name for occupation in data.read("occupations")]
    occupation_states, known = word_states(lm, names, layer)
    gender, other = axes(fit.masculine, fit.feminine, occupation_states)
    about = "the direction of occupations is rotated to be orthogonal to that of gender"
    eraser = oscar_eraser(fit.masculine, fit.feminine, occupation_states, layer=layer, about=about)
    return eraser, {"occupations": len(known), "cosine before": float(gender @ other)}
