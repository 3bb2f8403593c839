"""Scores of samples and of halves of a dataset: what would have come out with fewer pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unmask.core.types import Floats
from unmask.stats.bootstrap import generator
from unmask.stats.items import headline_statistic, item_values
from unmask.stats.ranks import MIN_RANKED, spearman_rhos
from unmask.stats.table import ScoreTable

STEPS = (20, 40, 60, 80, 100)  # of Barza (2023), Figure 6
HALVES = 1_000  # random splits


def sample_sizes(n: int) -> tuple[int, ...]:
    """20, 40, … 100, then twice as many each time, and all of them at last."""
    found = [*STEPS]
    while found[-1] * 2 < n:
        found.append(found[-1] * 2)
    return (*(size for size in found if size < n), n)


def sample_means(values: Floats, size: int, draws: int, *, rng: np.random.Generator) -> Floats:
    """The mean of each of so many samples, drawn without replacement."""
    return np.array([rng.choice(values, size, replace=False).mean() for _ in range(draws)])


def half_differences(values: Floats, *, rng: np.random.Generator) -> Floats:
    """Mean of one half less mean of the other, for many random splits; of an odd number one is left out."""
    half = values.size // 2
    if not half:
        return np.full(0, np.nan)
    shuffled = (rng.permutation(values) for _ in range(HALVES))
    return np.array([one[:half].mean() - one[half : 2 * half].mean() for one in shuffled])


def half_rankings(groups: Sequence[Floats], *, rng: np.random.Generator) -> Floats:
    """Do two halves rank the groups alike? Spearman's ρ between them for many splits of every group.

    Groups of one item cannot be halved and are left out; empty with fewer than three others.
    """
    kept = [group for group in groups if group.size >= 2]
    if len(kept) < MIN_RANKED:
        return np.full(0, np.nan)
    first, second = np.empty((HALVES, len(kept))), np.empty((HALVES, len(kept)))
    for place, values in enumerate(kept):
        half = values.size // 2
        for split in range(HALVES):
            shuffled = rng.permutation(values)
            first[split, place] = shuffled[:half].mean()
            second[split, place] = shuffled[half : 2 * half].mean()
    found = spearman_rhos(first, second)
    return found[np.isfinite(found)]


def spearman_brown(correlation: float) -> float:
    """What halves that correlate so would reach at full length: 2ρ / (1 + ρ) (Spearman 1910, Brown 1910)."""
    return 2 * correlation / (1 + correlation) if correlation > -1 else float("nan")


@dataclass(frozen=True, slots=True)
class SampleScores:
    """One measure's headline score, and what it would have been on other pairs."""

    measure: str
    statistic: str
    values: Floats  # by pair that counts; the score is their mean
    decided: int  # pairs one side of which scores higher
    by_size: Mapping[int, Floats]  # scores of samples
    halves: Floats  # one half's score less the other's, by split
    rankings: Floats  # Spearman's ρ between the categories' scores of both halves, by split

    @property
    def n(self) -> int:
        """How many pairs count."""
        return self.values.size

    @property
    def score(self) -> float:
        """The score over all of them."""
        return float(self.values.mean())


def sample_scores(table: ScoreTable, draws: int, *, seed: int) -> SampleScores | None:
    """Samples and splits of the pairs of one measure; None where nothing is scored."""
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
            [_kept(part, statistic) for _, part in table.split_by("category")],
            rng=generator(seed, f"rankings {name}"),
        ),
    )


def _kept(table: ScoreTable, statistic: str) -> Floats:
    values = item_values(table, statistic)
    return values[np.isfinite(values)]
