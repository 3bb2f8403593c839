"""`projection`: remove the gender subspace; equalise pairs of static vectors (Bolukbasi et al. 2016).

The subspace is spanned by the first principal components, about zero, of the differences between words and
their counterparts; within a model, of their states in the same sentence (SentenceDebias, Liang et al. 2020).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from unmask.core.errors import DataError, StatsError
from unmask.core.options import option
from unmask.mitigate.spec import EraserOptions, Method, VectorPlan, apply_eraser

if TYPE_CHECKING:
    from unmask.core.types import Floats
    from unmask.mitigate.erase import Facts, GenderedStates
    from unmask.models import Lm
    from unmask.models.eraser import Eraser
    from unmask.vectors.static import WordVectors


@dataclass(frozen=True)
class ProjectionOptions(EraserOptions):
    """Options of `projection`."""

    equalise: Path | None = option(None, "Word vectors: pairs to equalise, CSV or JSON.", shown="the package's pairs")
    neutralise_only: bool = option(False, "Word vectors: equalise no pairs.")

    def __post_init__(self) -> None:
        """Refuse invalid values."""
        super().__post_init__()
        if self.neutralise_only and self.equalise is not None:
            raise DataError("equalise and neutralise_only exclude each other: give one of them")


def fit_projection(_: Lm, fit: GenderedStates, layer: int, __: int) -> tuple[Eraser, Facts]:
    """Remove the first principal direction of the differences."""
    from unmask.mitigate.erase import subspace, subspace_eraser

    removed = subspace(fit.masculine, fit.feminine)
    about = f"the direction in which {len(set(fit.pairs))} pairs of words differ most is removed"
    return subspace_eraser("projection", removed, layer, about), {"directions": len(removed)}


def change_vectors(plan: VectorPlan) -> tuple[WordVectors, Facts]:
    """Normalise all words, neutralise those that have no gender, and equalise the pairs."""
    from unmask.mitigate.erase import change_neutral, pairs_with_vectors, remove_subspace, subspace, word_pairs
    from unmask.mitigate.swap import read_word_pairs
    from unmask.vectors.association import unit

    pairs = word_pairs() if plan.options.equalise is None else read_word_pairs(plan.options.equalise)
    pairs = () if plan.options.neutralise_only else pairs
    equalised = pairs_with_vectors(plan.vectors, pairs, lower=plan.options.lower)
    normalised = replace(plan.vectors, matrix=unit(plan.vectors.matrix))
    first, second = (normalised.lookup([pair[side] for pair in plan.pairs]) for side in (0, 1))
    removed = subspace(first, second)
    kept = plan.keep.union(*equalised)
    neutralised = replace(plan, vectors=normalised, keep=kept)
    changed = change_neutral(neutralised, "projection", lambda rows: unit(remove_subspace(rows, removed)))
    rows = {word: row for row, word in enumerate(changed.words)}
    for pair in equalised:
        changed.matrix[[rows[word] for word in pair]] = equalise_pair(normalised.lookup(pair), removed)
    return changed, {"directions": len(removed), "equalised pairs": len(equalised)}


def equalise_pair(both: Floats, removed: Floats) -> Floats:
    """Make two unit vectors equal outside the subspace and opposite inside it, of unit length."""
    import numpy as np

    from unmask.mitigate.erase import remove_subspace

    centre = both.mean(0)
    outside = remove_subspace(centre, removed)
    inside = (both - centre) @ removed.T @ removed
    length = np.linalg.norm(inside, axis=1, keepdims=True)
    if (length == 0).any():
        raise StatsError("a pair has no component in the subspace and cannot be equalised; leave it out")
    changed: Floats = outside + np.sqrt(max(0.0, 1 - float(outside @ outside))) * inside / length
    return changed


PROJECTION = Method(
    name="projection",
    title="Projection",
    about="the direction in which gendered words differ is removed from the states of one layer",
    apply=partial(apply_eraser, fit=fit_projection),
    citation="liang-etal-2020",
    options=ProjectionOptions,
    change_vectors=change_vectors,
)
