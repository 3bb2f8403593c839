"""Accuracy and perplexity on held-out text, and their changes, with confidence intervals."""

from __future__ import annotations

import numpy as np

from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.findings import Value
from unmask.stats.bootstrap import bootstrap_value
from unmask.stats.pooled import HitCounts, difference_interval, share_interval
from unmask.training.perplexity import Ability, measure_ability

__all__ = ["Ability", "accuracy", "accuracy_change", "measure_ability", "perplexity", "perplexity_change"]


def accuracy(ability: Ability, *, seed: int = 0) -> Value:
    """Percent of predicted tokens that are correct."""
    return share_interval(_counts(ability), rng=generator(seed, "accuracy"), unit="texts")


def accuracy_change(before: Ability, after: Ability, *, seed: int = 0) -> Value:
    """Change of accuracy in percentage points, over the same texts."""
    rng = generator(seed, "accuracy change")
    return difference_interval(_counts(after), _counts(before), rng=rng, unit="texts")


def perplexity(ability: Ability, *, seed: int = 0) -> Value:
    """Perplexity with a bootstrap interval over texts."""
    columns, rng = (ability.lost, ability.tokens), generator(seed, "perplexity")
    return bootstrap_value(ability.perplexity, columns, _perplexity, rng=rng, unit="texts")


def perplexity_change(before: Ability, after: Ability, *, seed: int = 0) -> Value:
    """Perplexity after minus before, over the same texts."""
    columns = (before.lost, after.lost, before.tokens)
    change, rng = after.perplexity - before.perplexity, generator(seed, "perplexity change")
    return bootstrap_value(change, columns, _perplexity_difference, rng=rng, unit="texts")


def _counts(ability: Ability) -> HitCounts:
    return HitCounts(ability.hits, ability.tries)


def _perplexity(lost: Floats, tokens: Floats, axis: int = -1) -> Floats:
    return np.asarray(np.exp(lost.sum(axis) / tokens.sum(axis)))


def _perplexity_difference(before: Floats, after: Floats, tokens: Floats, axis: int = -1) -> Floats:
    return _perplexity(after, tokens, axis) - _perplexity(before, tokens, axis)
