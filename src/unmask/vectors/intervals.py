"""Bootstrap interval of an effect size: the units of each of the four sets are drawn anew.

A unit is a word; of sentences it is the word they are about, where that is known, because sentences of one
word are nearly alike.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Literal

import numpy as np
from scipy.stats import DegenerateDataWarning, bootstrap

from unmask.core.types import Floats, Ints
from unmask.stats.bootstrap import BATCH_CELLS, NO_SPREAD, RESAMPLES, Interval, no_interval

Spread = Literal["sample", "population"]  # which standard deviation; published is the sample's
Units = tuple[Sequence[str], Sequence[str], Sequence[str], Sequence[str]]  # of the members of X, Y, A, B


def effect_size(x: Floats, y: Floats, spread: Spread) -> float:
    """Difference of means over the deviation of all; NaN where all are alike."""
    weights = np.ones(x.size + y.size)
    return float(_effect(np.concatenate([x, y]), weights, x.size, spread))


def effect_interval(
    near_a: Floats, near_b: Floats, units: Units, spread: Spread, *, rng: np.random.Generator
) -> Interval:
    """Of the effect size had from the cosines of all targets (X, then Y) with A and with B."""
    first, s = len(units[0]), near_a.mean(1) - near_b.mean(1)
    effect = effect_size(s[:first], s[first:], spread)
    if np.isnan(effect):
        return no_interval(f"{NO_SPREAD}: {s.size} targets alike")
    codes = [np.unique(np.asarray(names), return_inverse=True)[1].astype(np.int64) for names in units]
    counts = [int(one.max()) + 1 for one in codes]
    sizes = "+".join(map(str, counts))
    if min(counts[:2]) < 2:
        return no_interval(f"too few: {sizes} units")

    def effects(*drawn: Ints, axis: int) -> Floats:
        left, alone = iter(drawn), np.zeros_like(drawn[0][..., :1])
        x, y, a, b = (
            _weights(next(left) if count > 1 else alone, one)
            for count, one in zip(counts, codes, strict=True)
        )
        values = _mean(near_a, a) - _mean(near_b, b)
        return _effect(values, np.concatenate([x, y], axis=axis), first, spread)

    several = tuple(np.arange(count) for count in counts if count > 1)
    batch = max(1, BATCH_CELLS // sum(one.size for one in codes))
    for method in ("BCa", "percentile"):
        with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
            warnings.simplefilter("ignore", DegenerateDataWarning)
            ends = bootstrap(
                several,
                effects,
                n_resamples=RESAMPLES,
                batch=batch,
                vectorized=True,
                axis=-1,
                method=method,
                rng=rng,
            ).confidence_interval
        if np.isfinite([ends.low, ends.high]).all():
            found = Interval(float(ends.low), float(ends.high), f"{method.lower()} over {sizes}")
            return found.widen_to(effect)
    return no_interval(f"resamples of {sizes} units without spread")


def _effect(values: Floats, weights: Floats, first: int, spread: Spread) -> Floats:
    """The effect size along the last axis, each value counted as often as its weight says."""
    total = weights.sum(-1)
    middle = (weights * values).sum(-1) / total
    squares = (weights * (values - middle[..., None]) ** 2).sum(-1)
    deviation = np.sqrt(squares / (total - (1 if spread == "sample" else 0)))
    alike = deviation <= 1e-12 * np.abs(values).max(-1)
    x, y = weights[..., :first], weights[..., first:]
    apart = (x * values[..., :first]).sum(-1) / x.sum(-1) - (y * values[..., first:]).sum(-1) / y.sum(-1)
    effect: Floats = apart / np.where(alike, np.nan, deviation)
    return effect


def _mean(near: Floats, weights: Floats) -> Floats:
    """The mean cosine of every target with the attributes, weighted."""
    mean: Floats = (weights / weights.sum(-1, keepdims=True)) @ near.T
    return mean


def _weights(drawn: Ints, codes: Ints) -> Floats:
    """How often the unit of each member was drawn, row by row."""
    size = int(codes.max()) + 1
    rows = drawn.astype(np.intp).reshape(-1, drawn.shape[-1])
    flat = (rows + size * np.arange(len(rows))[:, None]).ravel()
    counts = np.bincount(flat, minlength=size * len(rows)).reshape(*drawn.shape[:-1], size)
    return counts[..., codes].astype(np.float64)
