"""Item discrimination, and short forms of a benchmark.

An item discriminates if models with a high score on the other items score high on it (the corrected item–total
correlation). With few models such correlations are noise for a large part, which `by_noise` and `truly_negative`
separate. A short form is made of the items that discriminate best among some models, and judged on others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import false_discovery_control, norm, t

from unmask.core.errors import StatsError
from unmask.core.estimate import Value
from unmask.core.types import Floats, Ints
from unmask.stats.ranks import kendall_taus

SPLITS = 200  # halves of the models
MIN_MODELS = 4  # Fisher's z of fewer has no variance
MIN_HALF = 3  # models in each half of a split
ENOUGH = 0.9  # Kendall's τ that a short form must keep
SIZES = (5, 10, 20, 40, 60, 100, 200, 400, 800, 1600, 3200)
LARGEST = 1 - 1e-12  # a correlation of 1 has no finite z


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
    q = np.full(r.shape, np.nan)
    q[known] = false_discovery_control(p[known])
    z, error = np.arctanh(bounded[known]), 1 / np.sqrt(models - 3)
    spread = max(float(z.var(ddof=1)) - error**2, 0.0) if z.size > 1 else 0.0
    return Discrimination(
        r=r,
        p=p,
        q=q,
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
