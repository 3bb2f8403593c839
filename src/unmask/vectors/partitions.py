"""Permutation test of an association over partitions of the targets.

One-sided, ties counted, as published. All partitions into sets of the given sizes are enumerated if there
are few; otherwise distinct ones are sampled, the observed included, so that p is never 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.stats import permutation_test

from unmask.core.types import Floats

ENUMERABLE = 200_000  # partitions
SAMPLED = 100_000  # partitions sampled if there are more, including the observed one
BATCH = 4096  # partitions generated at a time
DIGITS = 12  # decimals compared, so that rounding in another order of summation is ignored


@dataclass(frozen=True, slots=True)
class PermutationResult:
    """A one-sided p-value, the number of partitions, and whether all were enumerated."""

    p: float
    partitions: int
    exact: bool


def permutation_p_value(x: Floats, y: Floats, *, rng: np.random.Generator) -> PermutationResult:
    """P(Σx − Σy at least as large as observed) over partitions into sets of these sizes."""
    total = comb(x.size + y.size, x.size)
    both = np.concatenate([x, y])
    scaled = both / (np.abs(both).max() or 1.0)
    if total <= ENUMERABLE:
        parts = scaled[: x.size], scaled[x.size :]
        test = permutation_test(
            parts,
            _difference,
            permutation_type="independent",
            vectorized=True,
            n_resamples=total,
            batch=BATCH,
            alternative="greater",
        )
        return PermutationResult(float(test.pvalue), total, exact=True)
    others = sample_partitions(x.size, y.size, SAMPLED - 1, rng=rng)
    observed = np.round(2 * scaled[: x.size].sum() - scaled.sum(), DIGITS)
    sums = np.round(2 * (others @ scaled) - scaled.sum(), DIGITS)
    return PermutationResult((1 + int((sums >= observed).sum())) / SAMPLED, SAMPLED, exact=False)


def sample_partitions(first: int, second: int, count: int, *, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Sample distinct partitions other than the observed one; True marks the first set."""
    observed = np.arange(first + second) < first
    seen = {np.packbits(observed).tobytes(): None}
    while len(seen) <= count:
        rows = rng.permuted(np.tile(observed, (BATCH, 1)), axis=1)
        seen.update(dict.fromkeys(row.tobytes() for row in np.packbits(rows, axis=1)))
    packed = np.frombuffer(b"".join(islice(seen, 1, count + 1)), dtype=np.uint8).reshape(count, -1)
    return np.unpackbits(packed, axis=1, count=observed.size).astype(np.bool_)


def _difference(x: Floats, y: Floats, axis: int) -> Floats:
    difference: Floats = np.round(x.sum(axis) - y.sum(axis), DIGITS)
    return difference
