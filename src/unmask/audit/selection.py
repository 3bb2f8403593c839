"""Which pairs must be scored again in a higher precision: a sample, those near zero, and random ones as a guard.

1. The sample shows the errors of the lower precision: half of it at random, in proportion to the lengths, an eighth
   from the longest tenth of the pairs, the rest near zero, where most pairs must be scored again anyway.
2. An extreme-value fit (`ErrorTail`) to the errors, one for the longest tenth and one for the others, estimates for
   each pair how often an error turns its decision. The pairs near zero are scored again, until the expected number of
   wrong decisions among the others is at most the target. Pairs with too few errors for a fit all are.
3. Rare large errors are in no fit to a sample that has none of them. So the guard, random pairs of those left, is
   scored again too. One error beyond what the fit expects of 1 pair in 1,000, there, near zero or in the sample (by a
   fit to its other errors), and all pairs are scored again.

The guard is as large as it takes for the chance that it has no large error, and yet one turns a decision, to be at most
`UNSEEN`, whatever share of the pairs has large errors (`unseen_risk`). `tools/certified_rates.py` simulates all this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
from numpy.typing import NDArray

from unmask.core.types import Floats

Flags = NDArray[np.bool_]
Index = NDArray[np.intp]

TARGET = 0.001  # expected wrong decisions by the fit
STATED = 10  # times the fit's value is stated, because it is only a fit
MARGIN = 0.9  # of a difference; the rest is for the error of the next precision, which is several times smaller
LONGEST = 0.1  # of the pairs have a fit of their own
GUARD = 64  # fewest pairs of the guard
RARE = 0.001  # chance by the fit of an error that refutes it
UNSEEN = 0.03  # chance that large errors turn a decision and no pair scored again has one
UPPER = 2.0  # standard errors of the scale of a fit above its estimate
FEWEST_FITTED = 32  # errors


@dataclass(frozen=True, slots=True)
class Differences:
    """What one measure has in the lower precision, by pair."""

    gaps: Floats  # smallest difference between two sides; -inf: must be scored again; NaN: not in this precision
    scales: Floats  # what independent errors of one in every logit add up to

    @property
    def present(self) -> Flags:
        """The pairs that are in this precision."""
        return ~np.isnan(self.gaps)


@dataclass(frozen=True, slots=True)
class Selection:
    """What was scored again for one measure, and what it showed."""

    errors: Floats  # of the sample
    left: Index  # the pairs that were not scored again
    expected: float  # wrong decisions among them, by the fit
    guard: int  # pairs of the guard
    clean: int  # random pairs scored again, whose errors the fit expects
    fell_back: bool  # everything was scored again, because an error refuted the fit

    @property
    def estimate(self) -> float:
        """The chance that a decision left is wrong, estimated by the fit."""
        return min(1.0, STATED * self.expected)

    @property
    def unseen(self) -> float:
        """The same for large errors that no random pair has."""
        return unseen_risk(self.left.size, self.clean)


Oracle = Callable[[Sequence[Index]], Sequence[Floats]]  # scores pairs of each measure again; NaN: no error to measure


def select(
    columns: Sequence[Differences],
    lengths: Floats,
    asked: int,
    *,
    part: float,
    rng: np.random.Generator,
    oracle: Oracle,
) -> list[Selection]:
    """Score again what the lower precision may decide otherwise; `part` of the targets is for these pairs."""
    present = np.flatnonzero(np.any([column.present for column in columns], axis=0))
    order = present[np.argsort(lengths[present], kind="stable")]
    longest = np.isin(np.arange(lengths.size), order[order.size - ceil(LONGEST * order.size) :])
    at_random = _random_pairs(order, longest, asked, rng)
    sample = np.concatenate([at_random, _near_zero(columns, np.setdiff1d(order, at_random), asked - at_random.size)])
    samples = [sample[column.present[sample]] for column in columns]
    errors = oracle(samples)
    promotions = [_Promotion.of(*each, longest) for each in zip(columns, samples, errors, strict=True)]
    ranks, more, selections = rng.permutation(lengths.size), [], []
    for promotion, measured in zip(promotions, errors, strict=True):
        band, left = promotion.divide(TARGET * part)
        clean = int(promotion.column.present[at_random].sum())
        size = guard_size(left.size, clean, UNSEEN * part)
        guard, rest = np.split(left[np.argsort(ranks[left])], [size])
        more.append(np.concatenate([band, guard]))
        expected = float(promotion.chances(rest).sum())
        selections.append(Selection(measured, rest, expected, size, clean + size, fell_back=False))
    errors = oracle(more)
    for number, promotion in enumerate(promotions):
        refuted = promotion.has_outlier or promotion.is_refuted(more[number], errors[number])
        selections[number] = replace(selections[number], fell_back=refuted)
    oracle([each.left if each.fell_back else each.left[:0] for each in selections])
    return [replace(each, left=each.left[:0], expected=0.0) if each.fell_back else each for each in selections]


def unseen_risk(left: int, clean: int) -> float:
    """The chance that no clean pair has a large error and one turns a decision left, at the worst share of such errors.

    With a share q it is (1 - q)^clean (1 - (1 - q/2)^left): half of them have the sign that turns a decision. It is
    largest near q = log(1 + x) / (x clean), x = left / (2 clean).
    """
    if not left or not clean:
        return float(left > 0)
    ratio = left / (2 * clean)
    return float((1 + ratio) ** (-1 / ratio) * ratio / (1 + ratio))


def guard_size(left: int, clean: int, limit: float) -> int:
    """The fewest pairs to score again of those left, with some already clean, for an `unseen_risk` in the limit."""
    sizes = range(min(GUARD, left), left + 1)
    return next(size for size in sizes if unseen_risk(left - size, clean + size) <= limit)


@dataclass(frozen=True, slots=True)
class ErrorTail:
    """The estimated probability that an error is larger than some size, from a sample of errors: an extreme-value fit.

    The larger half of the sample is taken as the tail (peaks over threshold) and given a generalised Pareto
    distribution, fitted by probability-weighted moments (Hosking & Wallis 1987). The scale is replaced by an upper
    confidence limit, and a negative shape, for which errors would have a largest size, by zero: errors then fall off
    exponentially. So the estimate errs upward for errors like those of the sample (tests/audit/test_tail.py). It is no
    bound: it knows nothing of errors of another kind that the sample does not have.
    """

    threshold: float  # the median size
    scale: float
    shape: float

    @classmethod
    def fit(cls, errors: Floats) -> ErrorTail:
        """Fit errors; their signs do not matter."""
        sizes = np.sort(np.abs(errors))
        n = sizes.size
        if n < FEWEST_FITTED:
            raise ValueError(f"{n} errors, expected at least {FEWEST_FITTED}")
        threshold = float(np.median(sizes))
        excess = sizes[n - n // 2 :] - threshold
        k, total = excess.size, float(excess.mean())
        shape = 0.0
        if total > 0:
            ranks = (np.arange(1, k + 1) - 0.35) / k
            half = float((excess * (1 - ranks)).mean())
            shape = min(max(0.0, 2 - total / (total - 2 * half)), 0.9)
        scale = total * (1 - shape) * (1 + UPPER / np.sqrt(k))
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


@dataclass(frozen=True, slots=True)
class _Promotion:
    """The fits to the errors of one measure, from the lower precision to the higher one."""

    column: Differences
    sample: Index
    longest: Flags
    fits: dict[bool, ErrorTail]  # for the longest pairs and for the others; none where errors are few
    has_outlier: bool  # the largest error of the sample is beyond a fit to the others

    @classmethod
    def of(cls, column: Differences, sample: Index, errors: Floats, longest: Flags) -> _Promotion:
        """Fit the errors of the sample in units of their scales."""
        fits, has_outlier = {}, False
        for which in (True, False):
            units = np.abs(errors / column.scales[sample])[(longest[sample] == which) & ~np.isnan(errors)]
            if units.size > FEWEST_FITTED:
                fits[which] = ErrorTail.fit(units)
                *others, largest = np.sort(units)
                has_outlier |= bool(largest > ErrorTail.fit(np.array(others)).size_at(RARE))
        return cls(column, sample, longest, fits, has_outlier)

    def chances(self, pairs: Index) -> Floats:
        """How often an error turns the decision of each pair."""
        sizes = MARGIN * self.column.gaps[pairs] / self.column.scales[pairs]
        chances = np.ones(pairs.size)
        for which, fit in self.fits.items():
            own = self.longest[pairs] == which
            chances[own] = fit.beyond(sizes[own])
        return chances

    def divide(self, target: float) -> tuple[Index, Index]:
        """The pairs beside the sample that must be scored again, and those left."""
        others = np.setdiff1d(np.flatnonzero(self.column.present), self.sample)
        chances = self.chances(others)
        order = np.argsort(-chances, kind="stable")
        kept = np.cumsum(chances[order][::-1])[::-1] <= target  # the sum from each on
        return others[order[~kept]], others[order[kept]]

    def is_refuted(self, pairs: Index, errors: Floats) -> bool:
        """Whether one of these errors is larger than the fit expects of 1 pair in 1,000."""
        units = np.abs(errors) / self.column.scales[pairs]
        return any(
            bool(np.any(units[self.longest[pairs] == which] > fit.size_at(RARE))) for which, fit in self.fits.items()
        )


def _random_pairs(order: Index, longest: Flags, asked: int, rng: np.random.Generator) -> Index:
    """Half of the sample, one of each of as many lengths, and an eighth from the longest."""
    at_random = np.array([rng.choice(part) for part in np.array_split(order, asked // 2) if part.size], dtype=np.intp)
    others = np.setdiff1d(order[longest[order]], at_random)
    return np.concatenate([at_random, rng.permutation(others)[: asked // 8]])


def _near_zero(columns: Sequence[Differences], candidates: Index, asked: int) -> Index:
    """The pairs nearest to zero by any measure, in units of its median difference."""
    near = np.full(candidates.size, np.inf)
    for column in columns:
        gaps = column.gaps[candidates]
        finite = np.abs(gaps[np.isfinite(gaps)])
        unit = float(np.median(finite)) if finite.size else 1.0
        near = np.fmin(near, gaps / (unit or 1.0))
    return candidates[np.argsort(near, kind="stable")][:asked]
