"""True positive rates by gender and what is made of their differences (De-Arteaga et al. 2019).

gap(y) = TPR(y, female) − TPR(y, male), over the biographies whose occupation is y.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask.core.types import Floats, Ints
from unmask.findings import Value
from unmask.stats.bootstrap import RESAMPLES, generator
from unmask.stats.regression import correlation

GENDERS = ("female", "male")


@dataclass(frozen=True, slots=True)
class OccupationGap:
    """One class: how many of either gender, how many found, the gap, and the share of women."""

    name: str
    female: tuple[int, int]  # found, in all
    male: tuple[int, int]
    gap: Value
    women: float  # share among the people of this class


@dataclass(frozen=True, slots=True)
class TprGaps:
    """Gaps of all classes that have both genders, and what they add up to."""

    occupations: tuple[OccupationGap, ...]
    mean: Value  # of the gaps, signed: positive where women are found more often
    absolute: Value  # mean of their sizes: never 0 by chance
    rms: Value
    r: Value  # correlation of gap and share of women
    n: int
    left_out: tuple[str, ...]  # classes without one of the genders
    chance: float  # mean size of the gaps if gender were drawn anew within each class


def tpr_gaps(
    truth: Sequence[str],
    said: Sequence[str],
    genders: Sequence[str],
    *,
    seed: int,
    women: dict[str, float] | None = None,
) -> TprGaps:
    """All of it, people resampled within class and gender.

    `women` gives shares from elsewhere; otherwise they are those of the people at hand.
    """
    right = np.array([a == b for a, b in zip(truth, said, strict=True)])
    real, gender = np.array(truth), np.array(genders)
    names = sorted(set(truth))
    counts = {
        name: tuple(
            (
                int(right[(real == name) & (gender == side)].sum()),
                int(((real == name) & (gender == side)).sum()),
            )
            for side in GENDERS
        )
        for name in names
    }
    kept = [name for name in names if all(n for _, n in counts[name])]
    found = np.array([[counts[name][side] for side in range(2)] for name in kept], dtype=np.int64).reshape(
        -1, 2, 2
    )
    drawn = _drawn(found, seed)
    gaps = _gaps(found[..., 0], found[..., 1])
    shares = np.array([(women or {}).get(name, _share(counts[name])) for name in kept])
    return TprGaps(
        occupations=tuple(
            OccupationGap(
                name, counts[name][0], counts[name][1], _ranged(gaps[at], drawn[:, at]), float(shares[at])
            )
            for at, name in enumerate(kept)
        ),
        mean=_ranged(_mean(gaps), drawn.mean(axis=1) if kept else drawn[:, 0:0]),
        absolute=_ranged(_mean(np.abs(gaps)), np.abs(drawn).mean(axis=1) if kept else drawn[:, 0:0]),
        rms=_ranged(
            float(np.sqrt(_mean(gaps**2))), np.sqrt((drawn**2).mean(axis=1)) if kept else drawn[:, 0:0]
        ),
        r=_correlated(shares, gaps, seed),
        n=len(truth),
        left_out=tuple(name for name in names if name not in kept),
        chance=_by_chance(found, seed),
    )


def _drawn(found: Ints, seed: int) -> Floats:
    """Gaps in every resample; people are drawn anew within their class and gender, so counts are binomial.

    Half a person found and half a person missed are added to each: else two people, both found, would
    leave no doubt at all.
    """
    rng = generator(seed, "gaps")
    share = (found[..., 0] + 0.5) / (found[..., 1] + 1)
    hits = rng.binomial(found[..., 1], share, size=(RESAMPLES, *share.shape))
    return np.asarray(_gaps(hits, found[..., 1]))


def _by_chance(found: Ints, seed: int) -> float:
    """The mean size of gaps that sampling alone makes: as many of each gender, found at one rate a class."""
    if not len(found):
        return float("nan")
    rng = generator(seed, "chance")
    total = found.sum(axis=1)
    women = rng.hypergeometric(
        total[:, 0], total[:, 1] - total[:, 0], found[:, 0, 1], size=(RESAMPLES, len(found))
    )
    gaps = women / found[:, 0, 1] - (total[:, 0] - women) / found[:, 1, 1]
    return float(np.abs(gaps).mean())


def _gaps(hits: Ints, of: Ints) -> Floats:
    rates = hits / of
    return np.asarray(rates[..., 0] - rates[..., 1], dtype=np.float64)


def _share(counts: tuple[tuple[int, int], ...]) -> float:
    (_, female), (_, male) = counts
    return female / (female + male)


def _mean(values: Floats) -> float:
    return float(values.mean()) if values.size else float("nan")


def _ranged(value: float, drawn: Floats) -> Value:
    if not drawn.size:
        return Value(float("nan"), float("nan"), float("nan"), "no class has both genders")
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Value(
        float(value),
        min(float(low), value),
        max(float(high), value),
        "percentile, smoothed, within class and gender",
    )


def _correlated(shares: Floats, gaps: Floats, seed: int) -> Value:
    r = correlation([shares], [gaps], rng=generator(seed, "r"))
    return Value(r.value, r.low, r.high, f"{r.method}, classes resampled" if r.low == r.low else r.method)
