"""How stable a score is with fewer pairs: scores of random samples and halves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unmask.core.estimate import Value
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.stats.means import mean_interval
from unmask.stats.ranks import MIN_RANKED, spearman_rhos
from unmask.stats.shares import unit_share
from unmask.stats.table import ScoreTable, headline_statistic, item_values

STEPS = (20, 40, 60, 80, 100)  # of Barza (2023), Figure 6
HALVES = 1_000  # random splits


def sample_sizes(n: int) -> tuple[int, ...]:
    """20, 40, … 100, then doubling, and finally all pairs."""
    steps = [*STEPS]
    while steps[-1] * 2 < n:
        steps.append(steps[-1] * 2)
    return (*(size for size in steps if size < n), n)


def sample_means(values: Floats, size: int, draws: int, *, rng: np.random.Generator) -> Floats:
    """Means of `draws` random samples of `size`, without replacement."""
    return np.array([rng.choice(values, size, replace=False).mean() for _ in range(draws)])


def half_differences(values: Floats, *, rng: np.random.Generator) -> Floats:
    """Mean of one half minus mean of the other over random splits; an odd item is left out."""
    if values.size < 2:
        return np.full(0, np.nan)
    halves = _half_means(values, rng)
    return np.asarray(halves[:, 0] - halves[:, 1])


def half_rankings(groups: Sequence[Floats], *, rng: np.random.Generator) -> Floats:
    """Spearman's ρ between the rankings of groups by two random halves of each group, over many splits.

    Groups of one item cannot be halved and are left out; empty if fewer than three groups remain.
    """
    kept = [group for group in groups if group.size >= 2]
    if len(kept) < MIN_RANKED:
        return np.full(0, np.nan)
    halves = np.stack([_half_means(values, rng) for values in kept], axis=-1)
    rhos = spearman_rhos(halves[:, 0], halves[:, 1])
    return rhos[np.isfinite(rhos)]


def _half_means(values: Floats, rng: np.random.Generator) -> Floats:
    """The means of both halves, a row per random split."""
    half = values.size // 2
    shuffled = (rng.permutation(values) for _ in range(HALVES))
    return np.array([(each[:half].mean(), each[half : 2 * half].mean()) for each in shuffled])


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
    by_size: Mapping[int, Floats]  # scores of samples
    halves: Floats  # one half's score minus the other's, by split
    rankings: Floats  # Spearman's ρ between the categories' scores of both halves, by split
    interval: Value  # the score with its interval and design effect

    @property
    def n(self) -> int:
        """Number of counted pairs."""
        return self.values.size

    @property
    def score(self) -> float:
        """The score over all counted pairs."""
        return float(self.values.mean())


def sample_scores(table: ScoreTable, draws: int, *, seed: int) -> SampleScores | None:
    """Scores of samples and splits of one measure's pairs; None if nothing is scored."""
    statistic, name = headline_statistic(table.measure), table.measure.name
    values = _kept(table, statistic)
    if not values.size:
        return None
    rng = generator(seed, f"samples {name}")
    return SampleScores(
        measure=name,
        statistic=statistic,
        values=values,
        decided=int(table.wins.sum() + table.losses.sum()),
        by_size={size: sample_means(values, size, draws, rng=rng) for size in sample_sizes(values.size)},
        halves=half_differences(values, rng=generator(seed, f"halves {name}")),
        rankings=half_rankings(
            [_kept(part, statistic) for _, part in table.split_by("category")], rng=generator(seed, f"rankings {name}")
        ),
        interval=_interval(table, statistic, seed),
    )


def _interval(table: ScoreTable, statistic: str, seed: int) -> Value:
    """The score of all counted pairs with its interval over the unit that they share."""
    values = item_values(table, statistic)
    counted = table.take(np.isfinite(values))
    if statistic == "bias-score":
        return unit_share(counted.wins, counted.units)
    return mean_interval(values[np.isfinite(values)], rng=generator(seed, "all"), units=counted.units)


def _kept(table: ScoreTable, statistic: str) -> Floats:
    values = item_values(table, statistic)
    return values[np.isfinite(values)]
