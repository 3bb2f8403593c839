"""Rank correlations: of one pair of rankings by scipy, and of thousands of resampled ones vectorised."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from scipy.special import stdtrit
from scipy.stats import kendalltau, permutation_test, rankdata, spearmanr

from unmask.core.estimate import Value
from unmask.core.types import Floats, Ints
from unmask.stats.table import Flags

ALPHA = 0.05
MIN_RANKED = 3  # fewest items that can be ranked
MAX_ENUMERATED = 7  # tied rankings of up to so many items are permuted exhaustively (5,040 ways)


@dataclass(frozen=True, slots=True)
class RankTest:
    """A rank correlation, its two-sided p-value and the test's method; NaN and None for constant rankings."""

    value: float
    p: float | None
    method: str


def kendall(x: Floats, y: Floats) -> RankTest:
    """Kendall's τ-b; p exact without ties, by all permutations for few tied items, else asymptotic."""
    if _flat(x) or _flat(y):
        return RankTest(float("nan"), None, "none: a ranking without differences")
    tied = _tied(x) or _tied(y)
    if tied and x.size <= MAX_ENUMERATED:
        whole = permutation_test(
            (x,),
            lambda permuted, axis: kendall_taus(permuted, y),
            permutation_type="pairings",
            n_resamples=math.factorial(MAX_ENUMERATED),
            vectorized=True,
        )
        return RankTest(float(kendalltau(x, y).statistic), float(whole.pvalue), "all permutations")
    method: Literal["asymptotic", "exact"] = "asymptotic" if tied else "exact"
    test = kendalltau(x, y, method=method)
    return RankTest(float(test.statistic), float(test.pvalue), method)


def spearman(x: Floats, y: Floats) -> float:
    """Spearman's ρ; NaN if a ranking is constant."""
    return float("nan") if _flat(x) or _flat(y) else float(spearmanr(x, y).statistic)


@dataclass(frozen=True, slots=True)
class RankAgreement:
    """How alike two measures rank the same models or bias types."""

    a: str
    b: str
    tau: Value  # Kendall's τ-b
    test: RankTest
    n: int  # items ranked


@dataclass(frozen=True, slots=True)
class Rankings:
    """Scores by which several measures rank the same models or bias types, and how far they vary by chance."""

    names: Sequence[str]  # measures
    scores: Floats  # measures × what is ranked; NaN where a measure has no score
    resampled: Floats  # the same in every resample of the units, along the first axis
    counts: Ints  # how many units the score of each model or bias type is made of
    over: str  # what is resampled, for the method: `77 writers`
    unit: str = ""  # its name: `writer`; empty for single items


def rank_agreements(rankings: Rankings) -> list[RankAgreement]:
    """Kendall's τ-b for every two rankings with at least three items in common."""
    agreements = []
    for a, b in combinations(range(len(rankings.names)), 2):
        both = np.isfinite(rankings.scores[a]) & np.isfinite(rankings.scores[b])
        if both.sum() < MIN_RANKED:
            continue
        test = kendall(rankings.scores[a][both], rankings.scores[b][both])
        tau = _with_interval(test.value, rankings, np.array([a, b]), both)
        agreements.append(RankAgreement(rankings.names[a], rankings.names[b], tau, test, int(both.sum())))
    return agreements


def _with_interval(tau: float, rankings: Rankings, pair: Ints, kept: Flags) -> Value:
    """τ with the least and the greatest that the data leave possible.

    The order of two models is decided by a measure if the 95% interval of the difference of their scores excludes 0:
    Student's, over units. Every order that is not decided by both measures may be the same in both, or the reverse.
    Percentiles of resampled τ do not contain a true τ near ±1, because noise alone moves them towards 0.
    """
    few = rankings.counts[kept].min() < 2
    if few or not np.isfinite(tau):
        why = f"too few: {rankings.over}" if few else "none: a ranking without differences"
        return Value(tau, method=why, unit=rankings.unit)
    first, second = np.triu_indices(int(kept.sum()), 1)
    units = np.minimum(rankings.counts[kept][first], rankings.counts[kept][second])
    scores, resampled = rankings.scores[pair][:, kept], rankings.resampled[:, pair][..., kept]
    differences = scores[:, first] - scores[:, second]
    errors = np.nanstd(resampled[..., first] - resampled[..., second], axis=0) * np.sqrt(units / (units - 1))
    decided = (np.abs(differences) > stdtrit(units - 1, 1 - ALPHA / 2) * errors).all(axis=0)
    alike = np.where(decided, np.sign(differences).prod(axis=0), 0.0)
    low, high = ((alike.sum() + side * (~decided).sum()) / alike.size for side in (-1, 1))
    method = f"decided orders over {rankings.over}"
    return Value(tau, float(low), float(high), method, unit=rankings.unit).widen()


def kendall_taus(x: Floats, y: Floats, times: Floats | None = None) -> Floats:
    """Kendall's τ-b along the last axis, which must be short; equals scipy's, which is not vectorised.

    `times` weights the items by their multiplicity in a resample.
    """
    first, second = np.triu_indices(x.shape[-1], 1)
    a, b = (np.sign(values[..., first] - values[..., second]) for values in (x, y))
    if times is None:
        return _cosine(a, b)
    weights = np.sqrt(times[..., first] * times[..., second])
    return _cosine(a * weights, b * weights)


def spearman_rhos(x: Floats, y: Floats) -> Floats:
    """Spearman's ρ along the last axis; equals scipy's, which is not vectorised."""
    a, b = (rankdata(values, axis=-1) for values in (x, y))
    return _cosine(a - a.mean(axis=-1, keepdims=True), b - b.mean(axis=-1, keepdims=True))


def _cosine(a: Floats, b: Floats) -> Floats:
    """Cosine of vectors along the last axis; NaN if one is zero."""
    size = np.sqrt((a * a).sum(axis=-1) * (b * b).sum(axis=-1))
    dot = (a * b).sum(axis=-1)
    return np.asarray(np.divide(dot, size, out=np.full(dot.shape, np.nan), where=size > 0))


def _flat(values: Floats) -> bool:
    return values.size < 2 or not np.isfinite(values).all() or bool(np.ptp(values) == 0)


def _tied(values: Floats) -> bool:
    return np.unique(values).size < values.size
