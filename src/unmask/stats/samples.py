"""How stable a score is with fewer pairs: scores of random samples and halves.

Pairs that share a unit (a writer, a stereotype) are sampled together: another study would have other writers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unmask.core.estimate import Value
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.stats.bootstrap import sum_by_unit
from unmask.stats.means import mean_interval
from unmask.stats.ranks import MIN_RANKED, spearman_rhos
from unmask.stats.shares import unit_share
from unmask.stats.table import ScoreTable, headline_statistic, item_values
from unmask.stats.units import INDEPENDENT, Units

Rng = np.random.Generator

STEPS = (20, 40, 60, 80, 100)  # of Barza (2023), Figure 6
HALVES = 1_000  # random splits


def sample_sizes(n: int) -> tuple[int, ...]:
    """20, 40, … 100, then doubling, and finally all units."""
    steps = [*STEPS]
    while steps[-1] * 2 < n:
        steps.append(steps[-1] * 2)
    return (*(size for size in steps if size < n), n)


def sample_means(values: Floats, size: int, draws: int, units: Units = INDEPENDENT, *, rng: Rng) -> Floats:
    """Means of `draws` random samples of `size` units, without replacement."""
    sums, counts = _by_unit(values, units)
    chosen = (rng.choice(sums.size, size, replace=False) for _ in range(draws))
    return np.array([sums[index].sum() / counts[index].sum() for index in chosen])


def half_differences(values: Floats, units: Units = INDEPENDENT, *, rng: Rng) -> Floats:
    """Mean of one half of the units minus mean of the other over random splits; an odd unit is left out."""
    if _by_unit(values, units)[0].size < 2:
        return np.full(0, np.nan)
    halves = _half_means(values, units, rng)
    return np.asarray(halves[:, 0] - halves[:, 1])


def half_rankings(groups: Sequence[tuple[Floats, Units]], *, rng: Rng) -> Floats:
    """Spearman's ρ between the rankings of groups by two random halves of the units of each, over many splits.

    Groups of one unit cannot be halved and are left out; empty if fewer than three groups remain.
    """
    kept = [(values, units) for values, units in groups if _by_unit(values, units)[0].size >= 2]
    if len(kept) < MIN_RANKED:
        return np.full(0, np.nan)
    halves = np.stack([_half_means(values, units, rng) for values, units in kept], axis=-1)
    rhos = spearman_rhos(halves[:, 0], halves[:, 1])
    return rhos[np.isfinite(rhos)]


def _half_means(values: Floats, units: Units, rng: Rng) -> Floats:
    """The means of both halves of the units, a row per random split."""
    sums, counts = _by_unit(values, units)
    half = sums.size // 2
    shuffled = np.array([rng.permutation(sums.size) for _ in range(HALVES)])
    halves = [(sums[part].sum(1), counts[part].sum(1)) for part in (shuffled[:, :half], shuffled[:, half : 2 * half])]
    return np.stack([total / count for total, count in halves], axis=-1)


def _by_unit(values: Floats, units: Units) -> tuple[Floats, Floats]:
    """The sum and the number of the values of each unit; words × templates are sampled by words."""
    whole = Units(units.name, units.codes[:1], units.counts[:1])
    return sum_by_unit(values, whole), sum_by_unit(np.ones(values.size), whole)


def spearman_brown(correlation: float) -> float:
    """Reliability at full length from the correlation of halves: 2ρ / (1 + ρ) (Spearman 1910, Brown 1910)."""
    return 2 * correlation / (1 + correlation) if correlation > -1 else float("nan")


@dataclass(frozen=True, slots=True)
class SampleScores:
    """One measure's headline score, and its values on samples and halves of the pairs."""

    measure: str
    statistic: str
    values: Floats  # one per counted pair; the score is their mean
    decided: int  # pairs that are not ties
    units: Units  # what the pairs share; samples and halves are of whole units
    by_size: Mapping[int, Floats]  # scores of samples, by their number of units
    halves: Floats  # one half's score minus the other's, by split
    rankings: Floats  # Spearman's ρ between the categories' scores of both halves, by split
    interval: Value  # the score with its interval and design effect

    @property
    def n(self) -> int:
        """Number of counted pairs."""
        return self.values.size

    @property
    def n_units(self) -> int:
        """Number of units that are sampled: of the pairs themselves if they share nothing."""
        return self.units.counts[0] if self.units.codes else self.n

    @property
    def score(self) -> float:
        """The score over all counted pairs."""
        return float(self.values.mean())


def sample_scores(table: ScoreTable, draws: int, *, seed: int) -> SampleScores | None:
    """Scores of samples and splits of one measure's pairs, by whole units; None if nothing is scored."""
    statistic, name = headline_statistic(table.measure), table.measure.name
    values, units = _counted(table, statistic)
    if not values.size:
        return None
    rng = generator(seed, f"samples {name}")
    count = _by_unit(values, units)[0].size
    return SampleScores(
        measure=name,
        statistic=statistic,
        values=values,
        decided=int(table.wins.sum() + table.losses.sum()),
        units=units,
        by_size={size: sample_means(values, size, draws, units, rng=rng) for size in sample_sizes(count)},
        halves=half_differences(values, units, rng=generator(seed, f"halves {name}")),
        rankings=half_rankings(
            [_counted(part, statistic) for _, part in table.split_by("category")],
            rng=generator(seed, f"rankings {name}"),
        ),
        interval=_interval(values, units, statistic, seed),
    )


def _interval(values: Floats, units: Units, statistic: str, seed: int) -> Value:
    """The score of all counted pairs with its interval over the unit that they share."""
    if statistic == "bias-score":
        return unit_share(values > 0, units)
    return mean_interval(values, rng=generator(seed, "all"), units=units)


def _counted(table: ScoreTable, statistic: str) -> tuple[Floats, Units]:
    """The values of the pairs that count, and their units."""
    values = item_values(table, statistic)
    kept = np.isfinite(values)
    return values[kept], table.take(kept).units
