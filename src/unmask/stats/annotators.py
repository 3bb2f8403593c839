"""Agreement of annotators corrected for chance: Fleiss' κ and Krippendorff's α of counts by unit and label.

`counts` has a row for each unit (an item, a prompt) and a column for each label: how many annotators gave it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np
from statsmodels.stats.inter_rater import fleiss_kappa

from unmask.core.estimate import NAN, Value
from unmask.core.types import Floats
from unmask.stats.bootstrap import RESAMPLES

ALIKE = "none: every label is the same, so chance alone would agree as well"


def label_counts(labels: Sequence[Sequence[str]]) -> Floats:
    """Counts of the labels that the annotators of each unit gave."""
    known = sorted({label for unit in labels for label in unit})
    return np.array([[list(unit).count(label) for label in known] for unit in labels], dtype=np.float64)


def fleiss(counts: Floats) -> float:
    """Fleiss' κ; every unit needs the same number of annotators. NaN when only one label occurs."""
    return quietly(lambda: fleiss_kappa(counts))


def alpha(counts: Floats) -> float:
    """Krippendorff's α for nominal values: one less observed over expected disagreement.

    Units with fewer than two values are left out (Krippendorff 2011). NaN when only one value occurs.
    """
    kept = counts[counts.sum(axis=1) > 1]
    sizes, totals = kept.sum(axis=1), kept.sum(axis=0)
    n = float(totals.sum())
    expected = n * n - float((totals * totals).sum())
    if not expected:
        return float("nan")
    disagreeing = sizes * sizes - (kept * kept).sum(axis=1)  # ordered pairs of different values within a unit
    return 1 - (n - 1) * float((disagreeing / (sizes - 1)).sum()) / expected


def resampled_agreement(
    coefficient: Callable[[Floats], float], units: Floats, *, rng: np.random.Generator, unit: str
) -> Value:
    """A coefficient with percentiles over resampled units (rows), or why it has no interval."""
    value, low, high, method = coefficient(units), NAN, NAN, f"too few: 1 {unit.removesuffix('s')}"
    if not np.isfinite(value):
        method = ALIKE
    elif len(units) > 1:
        resamples = rng.integers(len(units), size=(RESAMPLES, len(units)))
        values = np.array([coefficient(units[rows]) for rows in resamples])
        kept, method = values[np.isfinite(values)], "none: in most resamples every label is the same"
        if kept.size >= RESAMPLES / 2:
            low, high = np.quantile(kept, [0.025, 0.975]).tolist()
            method = f"percentile over {len(units)} {unit}"
    return Value(value, low, high, method).widen()


def quietly(coefficient: Callable[[], float]) -> float:
    """The coefficient; NaN instead of a warning if all labels are the same."""
    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            value = float(coefficient())
        except ZeroDivisionError:
            return float("nan")
    return value if np.isfinite(value) else float("nan")
