"""True positive rates by gender and summaries of their gaps (De-Arteaga et al. 2019).

gap(y) = TPR(y, female) − TPR(y, male), over the biographies whose occupation is y.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unmask.core.estimate import NAN, Value
from unmask.core.seeds import generator
from unmask.core.types import Floats, Ints
from unmask.stats.bootstrap import RESAMPLES
from unmask.stats.regression import correlation

GENDERS = ("female", "male")


@dataclass(frozen=True, slots=True)
class OccupationGap:
    """One occupation: hits and totals by gender, the TPR gap, and the share of women."""

    name: str
    female: tuple[int, int]  # correctly classified, total
    male: tuple[int, int]
    gap: Value
    women: float  # share among the people of this class


@dataclass(frozen=True, slots=True)
class TprGaps:
    """The gaps of all occupations with both genders, and their summaries."""

    occupations: tuple[OccupationGap, ...]
    mean: Value  # signed: positive where the TPR of women is higher
    absolute: Value  # mean absolute gap: above 0 by chance alone
    rms: Value
    r: Value  # correlation of gap and share of women
    n: int
    left_out: tuple[str, ...]  # occupations with one gender only
    chance: float  # mean absolute gap when gender is permuted within each occupation


def tpr_gaps(truth: Sequence[str], predicted: Sequence[str], genders: Sequence[str], *, seed: int) -> TprGaps:
    """Compute all gaps; intervals resample people within occupation and gender."""
    right = np.array([a == b for a, b in zip(truth, predicted, strict=True)])
    true_labels, gender = np.array(truth), np.array(genders)
    names = sorted(set(truth))
    counts: dict[str, list[tuple[int, int]]] = {
        name: [
            (
                int(right[(true_labels == name) & (gender == side)].sum()),
                int(((true_labels == name) & (gender == side)).sum()),
            )
            for side in GENDERS
        ]
        for name in names
    }
    with_both = [name for name in names if all(n for _, n in counts[name])]
    table = np.array(
        [[counts[name][side] for side in range(2)] for name in with_both], dtype=np.int64
    ).reshape(-1, 2, 2)
    resampled = _resampled_gaps(table, seed)
    gaps = _gaps(table[..., 0], table[..., 1])
    people = table[..., 1]
    shares = people[:, 0] / people.sum(axis=1)
    return TprGaps(
        occupations=tuple(
            OccupationGap(
                name=name,
                female=counts[name][0],
                male=counts[name][1],
                gap=_value(float(gaps[at]), resampled[:, at]),
                women=float(shares[at]),
            )
            for at, name in enumerate(with_both)
        ),
        mean=_summary(gaps, resampled, lambda values: values),
        absolute=_summary(gaps, resampled, np.abs),
        rms=_summary(gaps, resampled, np.square, np.sqrt),
        r=_correlation(shares, gaps, seed),
        n=len(truth),
        left_out=tuple(name for name in names if name not in with_both),
        chance=_chance_gap(table, seed),
    )


def _resampled_gaps(table: Ints, seed: int) -> Floats:
    """The gaps in every resample: people are resampled within class and gender, so hits are binomial.

    Half a hit and half a miss are added to each cell: otherwise two people, both classified correctly, would
    give an interval of width 0.
    """
    rng = generator(seed, "gaps")
    share = (table[..., 0] + 0.5) / (table[..., 1] + 1)
    hits = rng.binomial(table[..., 1], share, size=(RESAMPLES, *share.shape))
    return np.asarray(_gaps(hits, table[..., 1]))


def _chance_gap(table: Ints, seed: int) -> float:
    """The mean absolute gap due to sampling alone: one TPR per class, the same number of each gender."""
    if not len(table):
        return NAN
    rng = generator(seed, "chance")
    total = table.sum(axis=1)
    women = rng.hypergeometric(
        total[:, 0], total[:, 1] - total[:, 0], table[:, 0, 1], size=(RESAMPLES, len(table))
    )
    gaps = women / table[:, 0, 1] - (total[:, 0] - women) / table[:, 1, 1]
    return float(np.abs(gaps).mean())


def _gaps(hits: Ints, of: Ints) -> Floats:
    rates = hits / of
    return np.asarray(rates[..., 0] - rates[..., 1], dtype=np.float64)


def _summary(
    gaps: Floats, resampled: Floats, of: Callable[[Floats], Floats], after: Callable[..., Any] = np.asarray
) -> Value:
    """The mean of a function of the gaps over occupations, or a function of that mean."""
    if not gaps.size:
        return Value(NAN, method="no class has both genders")
    return _value(float(after(of(gaps).mean())), after(of(resampled).mean(axis=1)))


def _value(value: float, resampled: Floats) -> Value:
    """A value with the middle 95% of the resampled ones."""
    low, high = np.quantile(resampled, [0.025, 0.975]).tolist()
    return Value(value, low, high, "percentile, smoothed, within class and gender").widen()


def _correlation(shares: Floats, gaps: Floats, seed: int) -> Value:
    """The correlation of the share of women with the gap, over occupations."""
    r = correlation([shares], [gaps], rng=generator(seed, "r"))
    return replace(r, method=f"{r.method}, classes resampled") if r.has_interval else r
