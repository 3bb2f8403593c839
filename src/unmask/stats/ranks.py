"""Rank correlations, for one pair of rankings by scipy and for thousands of resampled ones at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from scipy.stats import kendalltau, permutation_test, rankdata, spearmanr

from unmask.core.types import Floats
from unmask.stats.bootstrap import BATCH_CELLS, RESAMPLES, Interval, no_interval

MIN_RANKED = 3  # things that can be ranked
MAX_ENUMERATED = 7  # tied rankings of up to so many are permuted in all their 5,040 ways


@dataclass(frozen=True, slots=True)
class RankTest:
    """A rank correlation, its two-sided p-value, and how that was had; NaN and None for flat rankings."""

    value: float
    p: float | None
    method: str


def kendall(x: Floats, y: Floats) -> RankTest:
    """Kendall's τ-b; p exact without ties, by all permutations where few are tied, else asymptotic."""
    if _flat(x) or _flat(y):
        return RankTest(float("nan"), None, "none: a ranking without differences")
    tied = _tied(x) or _tied(y)
    if tied and x.size <= MAX_ENUMERATED:
        whole = permutation_test(
            (x,),
            lambda one, axis: kendall_taus(one, y),
            permutation_type="pairings",
            n_resamples=math.factorial(MAX_ENUMERATED),
            vectorized=True,
        )
        return RankTest(float(kendalltau(x, y).statistic), float(whole.pvalue), "all permutations")
    method: Literal["asymptotic", "exact"] = "asymptotic" if tied else "exact"
    found = kendalltau(x, y, method=method)
    return RankTest(float(found.statistic), float(found.pvalue), method)


def spearman(x: Floats, y: Floats) -> float:
    """Spearman's ρ; NaN where a ranking is flat."""
    return float("nan") if _flat(x) or _flat(y) else float(spearmanr(x, y).statistic)


@dataclass(frozen=True, slots=True)
class RankAgreement:
    """How alike two measures rank the same models or bias types."""

    a: str
    b: str
    test: RankTest
    interval: Interval
    n: int  # what is ranked


def rank_agreements(names: Sequence[str], scores: Floats, drawn: Floats, *, unit: str) -> list[RankAgreement]:
    """Kendall's τ-b for every two rankings that have three things in common.

    `scores` has a row for each name, NaN where it has no score; `drawn` the same for every resample of
    `unit`, along its first axis.
    """
    found = []
    for a, b in combinations(range(len(names)), 2):
        both = np.isfinite(scores[a]) & np.isfinite(scores[b])
        if both.sum() < MIN_RANKED:
            continue
        test = kendall(scores[a][both], scores[b][both])
        values = kendall_taus(drawn[:, a][:, both], drawn[:, b][:, both])
        interval = percentile_interval(values, test.value, unit)
        found.append(RankAgreement(names[a], names[b], test, interval, int(both.sum())))
    return found


def kendall_taus(x: Floats, y: Floats, times: Floats | None = None) -> Floats:
    """Kendall's τ-b along the last axis, which must be short; equal to scipy's, which takes one at a time.

    With `times` every thing counts so many times: a resample without the trouble of drawing it.
    """
    first, second = np.triu_indices(x.shape[-1], 1)
    a, b = (np.sign(each[..., first] - each[..., second]) for each in (x, y))
    if times is None:
        return _cosine(a, b)
    often = np.sqrt(times[..., first] * times[..., second])
    return _cosine(a * often, b * often)


def spearman_rhos(x: Floats, y: Floats) -> Floats:
    """Spearman's ρ along the last axis; equal to scipy's, which takes one at a time."""
    a, b = (rankdata(each, axis=-1) for each in (x, y))
    return _cosine(a - a.mean(axis=-1, keepdims=True), b - b.mean(axis=-1, keepdims=True))


def resampled_means(totals: Floats, counts: Floats, *, rng: np.random.Generator) -> Floats:
    """Means in every resample of the units along the last axis, drawn for all rows together.

    A unit is an item, or a word with all its templates: `totals` are the sums of its values, `counts` how
    many there are. The first axis of the result runs over resamples; NaN where a row has nothing left.
    """
    units = totals.shape[-1]
    chance, found = np.full(units, 1 / units), []
    step = max(1, BATCH_CELLS // units)
    for begin in range(0, RESAMPLES, step):
        drawn = rng.multinomial(units, chance, size=min(step, RESAMPLES - begin)).astype(np.float64)
        sums, sizes = (np.einsum("ru,...u->r...", drawn, each, optimize=True) for each in (totals, counts))
        found.append(np.divide(sums, sizes, out=np.full_like(sums, np.nan), where=sizes > 0))
    return np.concatenate(found)


def resampled_items(values: Floats, *, rng: np.random.Generator) -> Floats:
    """The same where every unit is one item; NaN marks an item that does not count in a row."""
    kept = np.isfinite(values)
    return resampled_means(np.where(kept, values, 0.0), kept.astype(np.float64), rng=rng)


def percentile_interval(drawn: Floats, value: float, unit: str) -> Interval:
    """The middle 95% of what the resamples gave, those without a value left out."""
    kept = drawn[np.isfinite(drawn)]
    if kept.size < drawn.size / 2 or not np.isfinite(value):
        return no_interval(f"none: most resamples of {unit} leave nothing to rank")
    low, high = np.quantile(kept, [0.025, 0.975]).tolist()
    return Interval(low, high, f"percentile over {unit}").widen_to(value)


def _cosine(a: Floats, b: Floats) -> Floats:
    """Of vectors along the last axis; NaN where one is zero."""
    size = np.sqrt((a * a).sum(axis=-1) * (b * b).sum(axis=-1))
    dot = (a * b).sum(axis=-1)
    return np.asarray(np.divide(dot, size, out=np.full(dot.shape, np.nan), where=size > 0))


def _flat(values: Floats) -> bool:
    return values.size < 2 or not np.isfinite(values).all() or bool(np.ptp(values) == 0)


def _tied(values: Floats) -> bool:
    return np.unique(values).size < values.size
