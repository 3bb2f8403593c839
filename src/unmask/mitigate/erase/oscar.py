"""`oscar`: turn occupations to a right angle from gender, and leave both as they are (Dev et al. 2021).

Nothing is taken away: gender can still be read of words that have one. What is undone is that occupations
lie along it. The rotation is graded (`unmask.models.eraser`): full at the occupations' direction, none at
that of gender.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from sklearn.decomposition import PCA

from unmask.core.errors import StatsError
from unmask.core.types import Floats
from unmask.mitigate.erase.projection import subspace
from unmask.models.eraser import Eraser
from unmask.vectors.directions import GENDER, Pairs
from unmask.vectors.static import WordVectors


def axes(first: Floats, second: Floats, things: Floats) -> tuple[Floats, Floats]:
    """The direction of gender, and that in which occupations differ most, less than a right angle apart."""
    if len(things) < 2:
        raise StatsError(f"{len(things)} occupations have a vector; expected at least 2")
    gender = subspace(first, second, 1)[0]
    other = np.asarray(PCA(1).fit(things).components_[0], dtype=np.float64)
    cosine = float(gender @ other)
    if abs(cosine) > 1 - 1e-9:
        raise StatsError("occupations differ only along gender: there is no plane to turn them in")
    return gender, other if cosine >= 0 else -other


def oscar_eraser(
    first: Floats, second: Floats, things: Floats, *, layer: int = -1, about: str = ""
) -> Eraser:
    """The rotation, ready to be applied."""
    gender, other = axes(first, second, things)
    tensors = {"first": torch.from_numpy(gender), "second": torch.from_numpy(other)}
    return Eraser("oscar", tensors, layer, about)


def debias_vectors(vectors: WordVectors, things: Sequence[str], pairs: Pairs = GENDER) -> WordVectors:
    """Static vectors with occupations (or other things) at a right angle to the pairs' direction."""
    first, second = (vectors.lookup([pair[side] for pair in pairs]) for side in (0, 1))
    turn = oscar_eraser(first, second, vectors.lookup(things))
    changed = turn(torch.from_numpy(vectors.matrix)).numpy()
    return WordVectors(vectors.words, changed, f"{vectors.source}, oscar", vectors.unknown)
