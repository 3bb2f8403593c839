"""What a model can still do, with intervals: accuracy and perplexity on held-out text, before and after."""

from __future__ import annotations

import numpy as np

from unmask.core.types import Floats
from unmask.findings import Value
from unmask.stats.bootstrap import Statistic, bootstrap_ends, generator
from unmask.stats.pooled import HitCounts, difference_interval, share_interval
from unmask.training.perplexity import Ability, measure_ability

__all__ = ["Ability", "accuracy", "accuracy_change", "measure_ability", "perplexity", "perplexity_change"]


def accuracy(one: Ability, *, seed: int = 0) -> Value:
    """Percent of hidden tokens that are the first guess."""
    found = share_interval(_counts(one), rng=generator(seed, "accuracy"), unit="texts")
    return Value(one.accuracy, found.low, found.high, found.method)


def accuracy_change(before: Ability, after: Ability, *, seed: int = 0) -> Value:
    """Points by which accuracy rose, over the same texts."""
    rng = generator(seed, "accuracy change")
    found = difference_interval(_counts(after), _counts(before), rng=rng, unit="texts")
    return Value(after.accuracy - before.accuracy, found.low, found.high, found.method)


def perplexity(one: Ability, *, seed: int = 0) -> Value:
    """Perplexity, texts resampled."""
    return _ranged(one.perplexity, (one.lost, one.tokens), _perplexity, "perplexity", seed)


def perplexity_change(before: Ability, after: Ability, *, seed: int = 0) -> Value:
    """Perplexity after less before, over the same texts."""
    columns = (before.lost, after.lost, before.tokens)
    return _ranged(after.perplexity - before.perplexity, columns, _grown, "perplexity change", seed)


def _counts(one: Ability) -> HitCounts:
    return HitCounts(one.hits, one.tries)


def _ranged(value: float, columns: tuple[Floats, ...], statistic: Statistic, label: str, seed: int) -> Value:
    low, high, method = bootstrap_ends(columns, statistic, rng=generator(seed, label))
    return Value(value, float(low), float(high), f"{method} over {columns[0].size} texts")


def _perplexity(lost: Floats, tokens: Floats, axis: int = -1) -> Floats:
    return np.asarray(np.exp(lost.sum(axis) / tokens.sum(axis)))


def _grown(before: Floats, after: Floats, tokens: Floats, axis: int = -1) -> Floats:
    return _perplexity(after, tokens, axis) - _perplexity(before, tokens, axis)
