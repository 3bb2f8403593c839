"""How stable a score is with fewer pairs: samples, halves, item discrimination, and short forms of a benchmark.

Pairs that share a unit (a writer, a stereotype) are sampled together: another study would have other writers.

An item discriminates if models with a high score on the other items score high on it (the corrected item–total
correlation). With few models such correlations are noise for a large part, which `by_noise` and `truly_negative`
separate. A short form is made of the items that discriminate best among some models, and judged on others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm, t

from unmask.core.errors import StatsError
from unmask.core.estimate import Value
from unmask.core.seeds import generator
from unmask.core.types import Floats, Ints
from unmask.stats.agreement import MIN_RANKED, kendall_taus, spearman_rhos
from unmask.stats.bootstrap import sum_by_unit
from unmask.stats.corrections import false_discovery_rates
from unmask.stats.intervals import mean_interval
from unmask.stats.shares import unit_share
from unmask.stats.table import ScoreTable, headline_statistic, item_values
from unmask.stats.units import INDEPENDENT, Units

Rng = np.random.Generator

STEPS = (20, 40, 60, 80, 100)  # of Barza (2023), Figure 6
HALVES = 1_000  # random splits
SPLITS = 200  # halves of the models
MIN_MODELS = 4  # Fisher's z of fewer has no variance
MIN_HALF = 3  # models in each half of a split
ENOUGH = 0.9  # Kendall's τ that a short form must keep
SIZES = (5, 10, 20, 40, 60, 100, 200, 400, 800, 1600, 3200)
LARGEST = 1 - 1e-12  # a correlation of 1 has no finite z


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


@dataclass(frozen=True, slots=True)
class Discrimination:
    """The correlation of each item with the others, over models."""

    r: Floats  # by item; NaN if all models have one score
    p: Floats  # one-sided: no better than chance at discriminating the wrong way
    q: Floats  # corrected for the number of items (Benjamini & Hochberg 1995)
    negative: Value  # percent of items with r < 0
    by_noise: float  # percent of items that would be negative if all discriminated alike
    truly_negative: float  # percent of items whose correlation over many models would be negative, by a normal model


def item_rest_correlations(scores: Floats) -> Floats:
    """Pearson's correlation of each item with the sum of the others; models × items → items."""
    rest = scores.sum(axis=-1, keepdims=True) - scores
    a = scores - scores.mean(axis=-2, keepdims=True)
    b = rest - rest.mean(axis=-2, keepdims=True)
    size = np.sqrt((a * a).sum(axis=-2) * (b * b).sum(axis=-2))
    dot = (a * b).sum(axis=-2)
    tiny = np.finfo(np.float64).eps * np.abs(scores).max(initial=0.0) ** 2
    return np.asarray(np.divide(dot, size, out=np.full(dot.shape, np.nan), where=size > tiny))


def discrimination(scores: Floats) -> Discrimination:
    """Discrimination of every item over the models, which are the rows of `scores`."""
    models = scores.shape[0]
    if models < MIN_MODELS:
        raise StatsError(f"{models} models: expected at least {MIN_MODELS} to correlate items over them")
    r = item_rest_correlations(scores)
    known = np.isfinite(r)
    if not known.any():
        raise StatsError("every item has one score of all models: nothing discriminates")
    bounded = np.clip(r, -LARGEST, LARGEST)
    p = t.cdf(bounded * np.sqrt((models - 2) / (1 - bounded**2)), models - 2)
    z, error = np.arctanh(bounded[known]), 1 / np.sqrt(models - 3)
    spread = max(float(z.var(ddof=1)) - error**2, 0.0) if z.size > 1 else 0.0
    return Discrimination(
        r=r,
        p=p,
        q=false_discovery_rates(p),
        negative=_jackknifed(scores),
        by_noise=100 * float(norm.cdf(-z.mean() / error)),
        truly_negative=100 * float(norm.cdf(-z.mean() / np.sqrt(spread))) if spread else 100.0 * float(z.mean() < 0),
    )


def _jackknifed(scores: Floats) -> Value:
    """The percentage of negative items, with Student's interval over models left out one at a time."""
    n = len(scores)
    left_out = np.array([_negative(np.delete(scores, model, axis=0)) for model in range(n)])
    value = _negative(scores)
    error = np.sqrt((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum())
    half = float(t.ppf(0.975, n - 1) * error)
    return Value(value, value - half, value + half, f"jackknife over {n} models").clip(0.0, 100.0)


def _negative(scores: Floats) -> float:
    """Percent of items with a negative correlation, of those that have one."""
    r = item_rest_correlations(scores)
    known = np.isfinite(r)
    return 100 * float((r[known] < 0).mean()) if known.any() else float("nan")


@dataclass(frozen=True, slots=True)
class ShortForms:
    """How well fewer items rank models that had no part in choosing them, by the number of items."""

    sizes: tuple[int, ...]
    chosen: tuple[Value, ...]  # Kendall's τ with the ranking by all items; middle 95% of the splits
    random: tuple[Value, ...]  # of as many items drawn at random
    enough: int | None  # the smallest number of chosen items from which on the mean τ is at least `ENOUGH`
    enough_random: int | None
    best: Ints  # the items that discriminate best among all models, the best first

    @property
    def is_worth_choosing(self) -> bool:
        """Whether fewer items are enough if they are chosen than if they are drawn at random."""
        return self.enough is not None and (self.enough_random is None or self.enough < self.enough_random)


def short_forms(scores: Floats, *, rng: np.random.Generator) -> ShortForms | None:
    """Choose items on one half of the models, rank the other half by them; None with too few models or items."""
    models, items = scores.shape
    sizes = tuple(size for size in SIZES if size < items)
    if models < 2 * MIN_HALF or not sizes:
        return None
    best, drawn = np.full((2, SPLITS, len(sizes)), np.nan)
    for split in range(SPLITS):
        order = rng.permutation(models)
        half, other = order[: models // 2], order[models // 2 :]
        best[split] = _agreement(scores[other], _order(scores[half]), sizes)
        drawn[split] = _agreement(scores[other], rng.permutation(items), sizes)
    chosen, random = _middle(best), _middle(drawn)
    return ShortForms(sizes, chosen, random, _enough(sizes, chosen), _enough(sizes, random), _order(scores))


def _enough(sizes: tuple[int, ...], taus: tuple[Value, ...]) -> int | None:
    """The smallest size from which on τ is large enough; None if it is not before all items."""
    kept = [size for place, size in enumerate(sizes) if all(tau.value >= ENOUGH for tau in taus[place:])]
    return kept[0] if kept else None


def _order(scores: Floats) -> Ints:
    """The items by discrimination, the best first; items without one last."""
    return np.argsort(-np.nan_to_num(item_rest_correlations(scores), nan=-2.0), kind="stable")


def _agreement(scores: Floats, order: Ints, sizes: tuple[int, ...]) -> Floats:
    """Kendall's τ between the ranking of models by the first items of an order and that by all, for each size."""
    sums = np.cumsum(scores[:, order], axis=1)[:, np.array(sizes) - 1]
    return kendall_taus(sums.T, np.broadcast_to(scores.sum(axis=1), (len(sizes), len(scores))))


def _middle(taus: Floats) -> tuple[Value, ...]:
    """The mean over splits with their middle 95%."""
    means = np.nanmean(taus, axis=0).tolist()
    low, high = np.nanquantile(taus, [0.025, 0.975], axis=0).tolist()
    method = f"middle 95% of {SPLITS} splits"
    return tuple(Value(*ends, method) for ends in zip(means, low, high, strict=True))
