"""Do all members of a family come out alike? The share that does, and what chance alone would give.

An outcome is a whole number (-1, 0, 1: against, undecided, towards the stereotype). Outcomes that had nothing
to do with families would agree now and then all the same, the more often the rarer one outcome is: chance
hands the outcomes seen within a stratum (a bias type) to its members anew, so that the margins stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import hypergeom

from unmask.core.errors import StatsError
from unmask.core.types import Floats, Ints
from unmask.stats.bootstrap import NO_SPREAD, Interval, bootstrap_ends, no_interval
from unmask.stats.shares import wilson

SHUFFLES = 2_000


@dataclass(frozen=True, slots=True)
class FamilyAgreement:
    """How many families agree, how many would by chance, and how rare what was seen is then."""

    families: int
    agreeing: int
    interval: Interval  # of the share in percent: Wilson's, over families
    chance: float
    low: float
    high: float
    p: float  # one-sided: so much agreement or more by chance

    @property
    def share(self) -> float:
        """In percent."""
        return 100 * self.agreeing / self.families


def count_agreeing(outcomes: Sequence[Ints]) -> int:
    """Families whose members all have one outcome."""
    return sum(bool((family == family[0]).all()) for family in outcomes)


def family_agreement(
    outcomes: Sequence[Ints], strata: Sequence[str], *, rng: np.random.Generator
) -> FamilyAgreement:
    """Agreement within families against that of outcomes shuffled among the members of each stratum."""
    if not outcomes or any(not family.size for family in outcomes):
        raise StatsError("no family of outcomes to compare: every one needs at least one member")
    if len(outcomes) != len(strata):
        raise StatsError(f"{len(outcomes)} families in {len(strata)} strata: name one for each family")
    parts = {name: [one for one, at in zip(outcomes, strata, strict=True) if at == name] for name in strata}
    shuffled = np.sum([_shuffled(part, rng) for part in parts.values()], axis=0)
    n, seen = len(outcomes), count_agreeing(outcomes)
    low, high = np.percentile(100 * shuffled / n, [2.5, 97.5])
    return FamilyAgreement(
        families=n,
        agreeing=seen,
        interval=wilson(seen, n),
        chance=100 * sum(map(_expected, parts.values())) / n,
        low=float(low),
        high=float(high),
        p=float((1 + (shuffled >= seen).sum()) / (1 + SHUFFLES)),
    )


def share_of_members(counted: Floats, sizes: Floats, *, rng: np.random.Generator) -> tuple[float, Interval]:
    """Percent of all members that count, and its interval: families are resampled, for members are alike."""
    value = 100 * float(counted.sum() / sizes.sum())
    if counted.size < 2:
        return value, no_interval(f"too few: {counted.size} families")
    if np.ptp(counted / sizes) == 0:
        return value, no_interval(f"{NO_SPREAD}: {counted.size} families alike")
    low, high, method = bootstrap_ends((counted, sizes), _ratio, rng=rng)
    return value, Interval(float(low), float(high), f"{method} over {counted.size} families").widen_to(value)


def _ratio(counted: Floats, sizes: Floats, axis: int = -1) -> Floats:
    return np.asarray(100 * np.sum(counted, axis=axis) / np.sum(sizes, axis=axis))


def _expected(families: Sequence[Ints]) -> float:
    """How many families would agree on average: all their members drawn from one outcome (hypergeometric)."""
    every = np.concatenate(families)
    sizes, counts = np.array([len(family) for family in families]), np.unique(every, return_counts=True)[1]
    return float(sum(np.sum(hypergeom.pmf(sizes, every.size, count, sizes)) for count in counts))


def _shuffled(families: Sequence[Ints], rng: np.random.Generator) -> Ints:
    """How many of these families agree, in each of many shuffles of all their outcomes."""
    every = np.concatenate(families).astype(np.int8)
    drawn = rng.permuted(np.tile(every, (SHUFFLES, 1)), axis=1)
    starts = np.cumsum([0, *(len(family) for family in families[:-1])])
    highest = np.maximum.reduceat(drawn, starts, axis=1)
    lowest = np.minimum.reduceat(drawn, starts, axis=1)
    return np.asarray((highest == lowest).sum(axis=1), dtype=np.int64)
