"""Agreement: of rankings, of outcomes within families of items, and of annotators.

Rank correlations are scipy's for one pair of rankings, and vectorised for thousands of resampled ones.

Outcomes of a family are integers (-1, 0, 1: against, undecided, towards the stereotype). Outcomes independent of
families agree by chance as well, the more often the less balanced they are. The null distribution permutes the
outcomes within each stratum (a bias type), which keeps the margins.

Labels of annotators are counts with a row for each unit (an item, a prompt) and a column for each label; Fleiss' κ and
Krippendorff's α are corrected for chance.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from scipy.special import stdtrit
from scipy.stats import hypergeom, kendalltau, permutation_test, rankdata, spearmanr
from statsmodels.stats.inter_rater import fleiss_kappa

from unmask.core.errors import StatsError
from unmask.core.estimate import NAN, Value
from unmask.core.statistic import LEVEL
from unmask.core.types import Floats, Ints
from unmask.stats.bootstrap import NO_SPREAD, RESAMPLES, bootstrap_value
from unmask.stats.shares import wilson
from unmask.stats.table import Flags

MIN_RANKED = 3  # fewest items that can be ranked
MAX_ENUMERATED = 7  # tied rankings of up to so many items are permuted exhaustively (5,040 ways)
SHUFFLES = 2_000
ALIKE = "none: every label is the same, so chance alone would agree as well"


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
    decided = (np.abs(differences) > stdtrit(units - 1, 1 - LEVEL / 2) * errors).all(axis=0)
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


@dataclass(frozen=True, slots=True)
class FamilyAgreement:
    """How many families agree, how many would by chance, and a p-value."""

    families: int
    agreeing: int
    share: Value  # of families that agree, in percent; Wilson's interval
    chance: Value  # the share expected, and the middle 95% of shuffles
    p: float  # one-sided: at least as much agreement by chance


def count_agreeing(outcomes: Sequence[Ints]) -> int:
    """Number of families whose members all have the same outcome."""
    return sum(bool((family == family[0]).all()) for family in outcomes)


def family_agreement(outcomes: Sequence[Ints], strata: Sequence[str], *, rng: np.random.Generator) -> FamilyAgreement:
    """Agreement within families against outcomes permuted within each stratum."""
    if not outcomes or any(not family.size for family in outcomes):
        raise StatsError("no families, or an empty one: every family needs at least one outcome")
    if len(outcomes) != len(strata):
        raise StatsError(f"{len(outcomes)} families but {len(strata)} strata: expected one stratum per family")
    by_stratum = {name: [family for family, at in zip(outcomes, strata, strict=True) if at == name] for name in strata}
    shuffled = np.sum([_shuffled(part, rng) for part in by_stratum.values()], axis=0)
    n, agreeing = len(outcomes), count_agreeing(outcomes)
    low, high = np.percentile(100 * shuffled / n, [2.5, 97.5])
    expected = 100 * sum(map(_expected, by_stratum.values())) / n
    return FamilyAgreement(
        families=n,
        agreeing=agreeing,
        share=wilson(agreeing, n),
        chance=Value(expected, float(low), float(high), "shuffled"),
        p=float((1 + (shuffled >= agreeing).sum()) / (1 + SHUFFLES)),
    )


def share_of_members(counted: Floats, sizes: Floats, *, rng: np.random.Generator) -> Value:
    """Percent of all members that count, with its interval over families, as members are dependent."""
    value = 100 * float(counted.sum() / sizes.sum())
    if counted.size < 2:
        return Value(value, method=f"too few: {counted.size} families")
    if np.ptp(counted / sizes) == 0:
        return Value(value, method=f"{NO_SPREAD}: {counted.size} families alike")
    return bootstrap_value(value, (counted, sizes), _ratio, rng=rng, unit="families")


def _ratio(counted: Floats, sizes: Floats, axis: int = -1) -> Floats:
    return np.asarray(100 * np.sum(counted, axis=axis) / np.sum(sizes, axis=axis))


def _expected(families: Sequence[Ints]) -> float:
    """Expected number of agreeing families: all members drawn from one outcome (hypergeometric)."""
    every = np.concatenate(families)
    sizes, counts = np.array([len(family) for family in families]), np.unique(every, return_counts=True)[1]
    return float(sum(np.sum(hypergeom.pmf(sizes, every.size, count, sizes)) for count in counts))


def _shuffled(families: Sequence[Ints], rng: np.random.Generator) -> Ints:
    """Number of agreeing families in each permutation of all outcomes."""
    shuffled = rng.permuted(np.tile(np.concatenate(families).astype(np.int8), (SHUFFLES, 1)), axis=1)
    starts = np.cumsum([0, *(len(family) for family in families[:-1])])
    highest = np.maximum.reduceat(shuffled, starts, axis=1)
    lowest = np.minimum.reduceat(shuffled, starts, axis=1)
    return np.asarray((highest == lowest).sum(axis=1), dtype=np.int64)


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
