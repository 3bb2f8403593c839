"""Bootstrap interval of an effect size: the units of each of the four sets are resampled.

A unit is a word; for sentences it is their word of interest, if known, because sentences of one word are
nearly identical.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from unmask.core.estimate import Value
from unmask.core.types import Floats, Ints
from unmask.stats.bootstrap import NO_SPREAD, stratified_ends

Spread = Literal["sample", "population"]  # which standard deviation; published is the sample's
Units = tuple[Sequence[str], Sequence[str], Sequence[str], Sequence[str]]  # of the members of X, Y, A, B


def effect_size(x: Floats, y: Floats, spread: Spread) -> float:
    """Difference of means over the standard deviation of all values; NaN if all are equal."""
    weights = np.ones(x.size + y.size)
    return float(_effect(np.concatenate([x, y]), weights, x.size, spread))


def effect_interval(
    near_a: Floats, near_b: Floats, units: Units, spread: Spread, *, rng: np.random.Generator
) -> Value:
    """The effect size with its interval, from the cosines of all targets (X, then Y) with A and with B."""
    first, s = len(units[0]), near_a.mean(1) - near_b.mean(1)
    effect = effect_size(s[:first], s[first:], spread)
    if np.isnan(effect):
        return Value(effect, method=f"{NO_SPREAD}: {s.size} targets alike")
    codes = [np.unique(np.asarray(names), return_inverse=True)[1].astype(np.int64) for names in units]
    counts = [int(code.max()) + 1 for code in codes]
    sizes = "+".join(map(str, counts))
    if min(counts[:2]) < 2:
        return Value(effect, method=f"too few: {sizes} units")

    def effects(*resampled: Ints, axis: int) -> Floats:
        remaining, single = iter(resampled), np.zeros_like(resampled[0][..., :1])
        x, y, a, b = (
            _weights(next(remaining) if count > 1 else single, code)
            for count, code in zip(counts, codes, strict=True)
        )
        values = _mean(near_a, a) - _mean(near_b, b)
        return _effect(values, np.concatenate([x, y], axis=axis), first, spread)

    resampled_units = tuple(np.arange(count) for count in counts if count > 1)
    low, high, method = stratified_ends(
        resampled_units,
        effects,
        methods=("BCa", "percentile"),
        rng=rng,
        cells=sum(code.size for code in codes),
    )
    if np.isfinite(low):
        return Value(effect, low, high, f"{method} over {sizes}").widen()
    return Value(effect, method=f"resamples of {sizes} units without spread")


def _effect(values: Floats, weights: Floats, first: int, spread: Spread) -> Floats:
    """The weighted effect size along the last axis."""
    total = weights.sum(-1)
    mean = (weights * values).sum(-1) / total
    squares = (weights * (values - mean[..., None]) ** 2).sum(-1)
    deviation = np.sqrt(squares / (total - (1 if spread == "sample" else 0)))
    constant = deviation <= 1e-12 * np.abs(values).max(-1)
    x, y = weights[..., :first], weights[..., first:]
    difference = (x * values[..., :first]).sum(-1) / x.sum(-1) - (y * values[..., first:]).sum(-1) / y.sum(-1)
    effect: Floats = difference / np.where(constant, np.nan, deviation)
    return effect


def _mean(near: Floats, weights: Floats) -> Floats:
    """The weighted mean cosine of every target with the attributes."""
    mean: Floats = (weights / weights.sum(-1, keepdims=True)) @ near.T
    return mean


def _weights(resampled: Ints, codes: Ints) -> Floats:
    """How often the unit of each member was sampled, for each row."""
    size = int(codes.max()) + 1
    rows = resampled.astype(np.intp).reshape(-1, resampled.shape[-1])
    flat = (rows + size * np.arange(len(rows))[:, None]).ravel()
    counts = np.bincount(flat, minlength=size * len(rows)).reshape(*resampled.shape[:-1], size)
    return counts[..., codes].astype(np.float64)
