"""`projection`: remove the gender subspace; equalise pairs of static vectors (Bolukbasi et al. 2016).

The subspace is spanned by the first principal components, about zero, of the differences between words and
their counterparts; within a model, of their states in the same sentence (SentenceDebias, Liang et al. 2020).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from unmask.core.errors import DataError, StatsError
from unmask.core.types import Floats
from unmask.mitigate.erase import Facts, GenderedStates, subspace_eraser
from unmask.mitigate.spec import StaticPlan
from unmask.models import Lm
from unmask.models.eraser import Eraser
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
    """Subtract the projection of the states onto the subspace."""
    projected: Floats = states - (states @ removed.T) @ removed
    return projected


def debias_vectors(
    vectors: WordVectors,
    pairs: Pairs = GENDER,
    *,
    components: int = COMPONENTS,
    keep: Iterable[str] = (),
    equalise: Pairs = (),
) -> WordVectors:
    """Static vectors without the pairs' subspace: normalised, neutralised, and with pairs equalised.

    Args:
        vectors: all words are changed except those in `keep` (gendered words) and in the pairs.
        pairs: word pairs that define the subspace.
        components: how many directions are removed.
        keep: words that are not changed.
        equalise: pairs that end at the same distance from every neutralised word.
    """
    normalised = unit(vectors.matrix)
    rows = {word: row for row, word in enumerate(vectors.words)}
    if missing := vectors.missing([word for pair in (*pairs, *equalise) for word in pair]):
        raise DataError(f"{vectors.source} has no vector for {', '.join(missing[:10])}: leave these pairs out")
    at = [[rows[pair[side]] for pair in pairs] for side in (0, 1)]
    removed = subspace(normalised[at[0]], normalised[at[1]], components)
    unchanged = {*keep, *(word for pair in (*pairs, *equalise) for word in pair)}
    neutral = np.array([word not in unchanged for word in vectors.words])
    changed = normalised.copy()
    changed[neutral] = unit(remove_subspace(normalised[neutral], removed))
    for pair in equalise:
        both = [rows[word] for word in pair]
        changed[both] = equalise_pair(normalised[both], removed)
    return WordVectors(vectors.words, changed, f"{vectors.source}, projection", vectors.unknown)


def change_vectors(plan: StaticPlan) -> tuple[WordVectors, Facts]:
    """Neutralise all words but those that have a gender, and equalise the pairs."""
    changed = debias_vectors(plan.vectors, plan.pairs, keep=plan.keep, equalise=plan.equalise)
    return changed, {"directions": COMPONENTS, "equalised pairs": len(plan.equalise)}


def equalise_pair(both: Floats, removed: Floats) -> Floats:
    """Make two unit vectors equal outside the subspace and opposite inside it, of unit length."""
    centre = both.mean(0)
    outside = remove_subspace(centre, removed)
    inside = (both - centre) @ removed.T @ removed
    length = np.linalg.norm(inside, axis=1, keepdims=True)
    if (length == 0).any():
        raise StatsError("a pair has no component in the subspace and cannot be equalised; leave it out")
    changed: Floats = outside + np.sqrt(max(0.0, 1 - float(outside @ outside))) * inside / length
    return changed


def fit_projection(_: Lm, fit: GenderedStates, layer: int, __: int) -> tuple[Eraser, Facts]:
    """Remove the first principal direction of the differences."""
    removed = subspace(fit.masculine, fit.feminine)
    about = f"the direction in which {len(set(fit.pairs))} pairs of words differ most is removed"
    return subspace_eraser("projection", removed, layer, about), {"directions": len(removed)}
