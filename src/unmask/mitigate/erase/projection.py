"""`projection`: take the gender subspace away; make pairs of static vectors equal (Bolukbasi et al. 2016).

The subspace is spanned by the first principal components, about zero, of the differences between words and
their counterparts; within a model, of their states in the same sentence (SentenceDebias, Liang et al. 2020).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from unmask.core.errors import DataError, StatsError
from unmask.core.types import Floats
from unmask.vectors.association import unit
from unmask.vectors.directions import GENDER, Pairs
from unmask.vectors.static import WordVectors

COMPONENTS = 1  # published: 1 for the gender of words and of sentences


def subspace(first: Floats, second: Floats, components: int = COMPONENTS) -> Floats:
    """Orthonormal rows: the directions in which the pairs differ most."""
    _, sizes, rows = np.linalg.svd(first - second, full_matrices=False)
    if not 1 <= components <= int((sizes > 1e-9 * max(1e-12, sizes[0])).sum()):
        raise StatsError(
            f"{components} components of {len(first)} pairs; expected 1 to {len(sizes)}, and no pair alike"
        )
    return np.asarray(rows[:components], dtype=np.float64)


def remove_subspace(states: Floats, removed: Floats) -> Floats:
    """States less their part in the subspace."""
    made: Floats = states - (states @ removed.T) @ removed
    return made


def debias_vectors(
    vectors: WordVectors,
    pairs: Pairs = GENDER,
    *,
    components: int = COMPONENTS,
    keep: Iterable[str] = (),
    equalise: Pairs = (),
) -> WordVectors:
    """Static vectors without the pairs' subspace: words made of length one, neutralised, pairs made equal.

    Args:
        vectors: the words; all are changed but those of `keep` (words that have a gender) and of the pairs.
        pairs: what the subspace is made of.
        components: how many directions are taken away.
        keep: words that stay as they are.
        equalise: pairs that end at the same distance from every neutralised word.
    """
    whole = unit(vectors.matrix)
    rows = {word: row for row, word in enumerate(vectors.words)}
    lacking = vectors.missing([word for pair in (*pairs, *equalise) for word in pair])
    if lacking:
        raise DataError(f"{vectors.source} has no vector of {', '.join(lacking[:10])}: leave these pairs out")
    at = [[rows[pair[side]] for pair in pairs] for side in (0, 1)]
    removed = subspace(whole[at[0]], whole[at[1]], components)
    stay = {*keep, *(word for pair in (*pairs, *equalise) for word in pair)}
    neutral = np.array([word not in stay for word in vectors.words])
    made = whole.copy()
    made[neutral] = unit(remove_subspace(whole[neutral], removed))
    for pair in equalise:
        both = [rows[word] for word in pair]
        made[both] = equalise_pair(whole[both], removed)
    return WordVectors(vectors.words, made, f"{vectors.source}, projection", vectors.unknown)


def equalise_pair(both: Floats, removed: Floats) -> Floats:
    """Two unit vectors made alike outside the subspace, and opposite inside it, again of length one."""
    centre = both.mean(0)
    outside = remove_subspace(centre, removed)
    inside = (both - centre) @ removed.T @ removed
    length = np.linalg.norm(inside, axis=1, keepdims=True)
    if (length == 0).any():
        raise StatsError("a pair has no part in the subspace: it cannot be made equal; leave it out")
    made: Floats = outside + np.sqrt(max(0.0, 1 - float(outside @ outside))) * inside / length
    return made
