"""An estimate of how often an error is large, from a sample of errors: an extreme-value fit.

The larger half of the sample is taken as the tail (peaks over threshold) and given a generalised Pareto distribution,
fitted by probability-weighted moments (Hosking & Wallis 1987). The scale is replaced by an upper confidence limit, and
a negative shape, for which errors would have a largest size, by zero: errors then fall off exponentially. So the
estimate errs upward for errors like those of the sample (tests/stats/test_tail.py). It is no bound: it knows nothing
of errors of another kind that the sample does not have.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unmask.core.types import Floats

Z = 2.0  # standard errors of the scale above its estimate
LEAST = 32  # fewest errors that are fitted


@dataclass(frozen=True, slots=True)
class ErrorTail:
    """The estimated probability that an error is larger than some size."""

    threshold: float  # the median size
    scale: float
    shape: float

    @classmethod
    def fit(cls, errors: Floats) -> ErrorTail:
        """Fit errors; their signs do not matter."""
        sizes = np.sort(np.abs(errors))
        n = sizes.size
        if n < LEAST:
            raise ValueError(f"{n} errors, expected at least {LEAST}")
        threshold = float(np.median(sizes))
        excess = sizes[n - n // 2 :] - threshold
        k, total = excess.size, float(excess.mean())
        shape = 0.0
        if total > 0:
            ranks = (np.arange(1, k + 1) - 0.35) / k
            half = float((excess * (1 - ranks)).mean())
            shape = min(max(0.0, 2 - total / (total - 2 * half)), 0.9)
        scale = total * (1 - shape) * (1 + Z / np.sqrt(k))
        return cls(threshold, scale, float(shape))

    def beyond(self, sizes: Floats) -> Floats:
        """The estimated probability of an error larger than each size."""
        excess = sizes - self.threshold
        if self.scale == 0:
            return np.where(excess > 0, 0.0, 1.0)
        inside = np.maximum(excess, 0) / self.scale
        tail = np.exp(-inside) if self.shape == 0 else (1 + self.shape * inside) ** (-1 / self.shape)
        return np.where(excess > 0, tail / 2, 1.0)

    def size_at(self, chance: float) -> float:
        """The size that an error exceeds with this estimated probability: the inverse of `beyond`."""
        ratio = 2 * chance
        if ratio >= 1 or self.scale == 0:
            return self.threshold
        excess = -np.log(ratio) if self.shape == 0 else (ratio**-self.shape - 1) / self.shape
        return self.threshold + self.scale * float(excess)
