"""Agreement of outcomes within families, and the agreement expected by chance.

An outcome is an integer (-1, 0, 1: against, undecided, towards the stereotype). Outcomes independent of
families agree by chance as well, the more often the less balanced they are. The null distribution permutes
the outcomes within each stratum (a bias type), which keeps the margins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import hypergeom

from unmask.core.errors import StatsError
from unmask.core.estimate import Value
from unmask.core.types import Floats, Ints
from unmask.stats.bootstrap import NO_SPREAD, bootstrap_value
from unmask.stats.shares import wilson

SHUFFLES = 2_000


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
