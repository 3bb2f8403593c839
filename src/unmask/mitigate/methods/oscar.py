"""`oscar`: rotate occupations so that they are orthogonal to gender (Dev et al. 2021).

Nothing is removed: the gender of gendered words can still be read. Only the correlation of occupations with
gender is undone. The rotation is graded (`unmask.models.eraser`): full at the direction of occupations, none
at that of gender.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from unmask.core.errors import StatsError
from unmask.mitigate.spec import EraserOptions, Method, VectorPlan, apply_eraser

if TYPE_CHECKING:
    from unmask.core.types import Floats
    from unmask.mitigate.erase import Facts, GenderedStates
    from unmask.models import Lm
    from unmask.models.eraser import Eraser
    from unmask.vectors.static import WordVectors


def axes(first: Floats, second: Floats, occupations: Floats) -> tuple[Floats, Floats]:
    """The direction of gender, and that in which occupations differ most, at most 90° apart."""
    import numpy as np
    from sklearn.decomposition import PCA

    from unmask.mitigate.erase import subspace

    if len(occupations) < 2:
        raise StatsError(f"{len(occupations)} occupations have a vector; expected at least 2")
    gender = subspace(first, second)[0]
    other = np.asarray(PCA(1).fit(occupations).components_[0], dtype=np.float64)
    cosine = float(gender @ other)
    if abs(cosine) > 1 - 1e-9:
        raise StatsError("occupations differ only along gender: there is no plane to rotate them in")
    return gender, other if cosine >= 0 else -other


def fit_rotation(first: Floats, second: Floats, occupations: Floats, layer: int = -1) -> tuple[Eraser, Facts]:
    """The rotation of occupations, as an eraser."""
    import torch

    from unmask.models.eraser import Eraser

    gender, other = axes(first, second, occupations)
    about = "the direction of occupations is rotated to be orthogonal to that of gender"
    tensors = {"first": torch.from_numpy(gender), "second": torch.from_numpy(other)}
    facts = {"occupations": len(occupations), "cosine before": float(gender @ other)}
    return Eraser("oscar", tensors, layer, about), facts


def fit_oscar(lm: Lm, fit: GenderedStates, layer: int, _: int) -> tuple[Eraser, Facts]:
    """Rotate occupations so that they are orthogonal to gender."""
    from unmask.mitigate.erase import occupations, word_states

    return fit_rotation(fit.masculine, fit.feminine, word_states(lm, occupations(), layer), layer)


def change_vectors(plan: VectorPlan) -> tuple[WordVectors, Facts]:
    """Rotate all words; those along the direction of gender hardly move."""
    from unmask.mitigate.erase import erase_states

    vectors = plan.vectors
    first, second = (vectors.lookup([pair[side] for pair in plan.pairs]) for side in (0, 1))
    rotation, facts = fit_rotation(first, second, vectors.lookup(plan.neutral))
    return replace(vectors, matrix=erase_states(rotation, vectors.matrix), source=f"{vectors.source}, oscar"), facts


OSCAR = Method(
    name="oscar",
    title="OSCaR",
    about="occupations are rotated to be orthogonal to gender in the states of one layer",
    apply=partial(apply_eraser, fit=fit_oscar),
    citation="dev-etal-2021",
    options=EraserOptions,
    change_vectors=change_vectors,
)
