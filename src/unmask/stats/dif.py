"""Differential item functioning: does an item mean the same for two groups of models with the same total score?

Regression (for scores): an item's scores on the mean of the other items and the group; a coefficient of the group is
uniform DIF, one of group × mean non-uniform. Mantel–Haenszel (for decisions): the odds of preferring the stereotype, by
group, within strata of the mean. Items with DIF are taken out of the mean and everything is done again (purification).
DIF is relative: the mean over items defines what is no DIF.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2
from scipy.stats import f as f_distribution
from scipy.stats import t as t_distribution

from unmask.core.errors import StatsError
from unmask.core.estimate import Value
from unmask.core.statistic import LEVEL
from unmask.core.types import Floats
from unmask.stats.corrections import false_discovery_rates, holm
from unmask.stats.regression import correlation

Flags = NDArray[np.bool_]
MIN_GROUP = 2  # models in each group
MIN_MODELS = 5  # a regression on the mean and the group has three coefficients
ROUNDS = 10  # of purification
MIN_ANCHORS = 10  # items that stay in the mean whatever is found
STRATA = 3
PERMUTATIONS = 999
ENUMERATED = 2_000  # permutations are all gone through if there are no more


@dataclass(frozen=True, slots=True)
class ItemDif:
    """The DIF of every item by regression."""

    effect: Floats  # score of the focal group above the other at the same mean, in standard deviations within groups
    t: Floats
    p: Floats  # of uniform DIF; NaN for items that all models score alike
    q: Floats  # corrected over items: false discovery rate
    p_holm: Floats  # corrected over items: family-wise
    p_slopes: Floats  # of non-uniform DIF: the item follows the mean more in one group
    q_slopes: Floats
    anchors: Flags  # items that the matching mean is made of, after purification
    rounds: int
    freedom: int  # degrees of freedom of t

    @property
    def has_dif(self) -> Flags:
        """Items with uniform DIF at a false discovery rate of 5%."""
        return np.asarray(np.nan_to_num(self.q, nan=1.0) < LEVEL)

    def value(self, item: int) -> Value:
        """The effect of one item with its interval over models, the standard deviation within groups taken as known."""
        effect, t = float(self.effect[item]), float(self.t[item])
        if not (math.isfinite(effect) and math.isfinite(t)) or t == 0:
            return Value(effect, method="none: no spread")
        half = float(t_distribution.ppf(0.975, self.freedom)) * abs(effect / t)
        return Value(effect, effect - half, effect + half, f"t over {self.freedom + 3} models")


def regression_dif(scores: Floats, focal: Flags, *, purify: bool = True) -> ItemDif:
    """DIF of every item of models × items, between the focal models and the others."""
    _check(scores, focal)
    anchors = np.ones(scores.shape[1], dtype=np.bool_)
    seen: set[bytes] = set()
    found, rounds = _fit(scores, focal, anchors), 1
    while purify and rounds < ROUNDS:
        seen.add(anchors.tobytes())
        kept = _without_dif(found["t"], len(scores) - 3)
        if kept.sum() < MIN_ANCHORS or kept.tobytes() in seen:
            break
        anchors, rounds = kept, rounds + 1
        found = _fit(scores, focal, anchors)
    family = holm([None if math.isnan(p) else p for p in found["p"].tolist()])
    return ItemDif(
        effect=found["effect"],
        t=found["t"],
        p=found["p"],
        q=false_discovery_rates(found["p"]),
        p_holm=np.array([math.nan if p is None else p for p in family]),
        p_slopes=found["p_slopes"],
        q_slopes=false_discovery_rates(found["p_slopes"]),
        anchors=anchors,
        rounds=rounds,
        freedom=len(scores) - 3,
    )


def _without_dif(t: Floats, freedom: int) -> Flags:
    """Items that do not stand out from most: where many differ in one direction, the mean moves, and all with it."""
    usual = float(np.nanmedian(t)) if np.isfinite(t).any() else 0.0
    q = false_discovery_rates(2 * t_distribution.sf(np.abs(t - usual), freedom))
    return np.asarray(~(np.nan_to_num(q, nan=1.0) < LEVEL))


def _check(scores: Floats, focal: Flags) -> None:
    sizes = int(focal.sum()), int((~focal).sum())
    if min(sizes) < MIN_GROUP or sum(sizes) < MIN_MODELS:
        raise StatsError(
            f"groups of {sizes[0]} and {sizes[1]} models: expected at least {MIN_GROUP} in each and {MIN_MODELS} in all"
        )
    if not np.isfinite(scores).all():
        raise StatsError("scores are missing: expected a score of every model for every item")


def matching_means(scores: Floats, anchors: Flags) -> Floats:
    """For each item, the models' means over the anchors other than itself."""
    total = scores[:, anchors].sum(axis=1, keepdims=True) - np.where(anchors, scores, 0.0)
    return np.asarray(total / np.maximum(anchors.sum() - anchors, 1))


def _fit(scores: Floats, focal: Flags, anchors: Flags) -> dict[str, Floats]:
    """Ordinary least squares of all items at once, predictors partialled out one after another."""
    models = scores.shape[0]
    match = _centre(matching_means(scores, anchors))
    group = _centre(np.broadcast_to(focal.astype(np.float64)[:, None], scores.shape))
    y = _centre(scores)
    group = _without(group, match)
    rest = _without(y, match)
    slope, spread = _slope(rest, group)
    rest_both = rest - slope * group
    variance = (rest_both**2).sum(axis=0) / (models - 3)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = slope / np.sqrt(variance / spread)
    p = 2 * t_distribution.sf(np.abs(t), models - 3)
    return {
        "effect": _standardised(slope, scores, focal),
        "t": np.where(variance > 0, t, np.nan),
        "p": np.where(variance > 0, p, np.nan),
        "p_slopes": _slope_test(rest_both, match, focal, group),
    }


def _slope_test(rest: Floats, match: Floats, focal: Flags, group: Floats) -> Floats:
    """p-values of the interaction of group and mean, given both; NaN with too few models."""
    models = rest.shape[0]
    if models < MIN_MODELS + 1:
        return np.full(rest.shape[1], np.nan)
    product = _centre(match * focal[:, None])
    product = _without(_without(product, match), group)
    slope, _ = _slope(rest, product)
    left = ((rest - slope * product) ** 2).sum(axis=0)
    whole = (rest**2).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (whole - left) / (left / (models - 4))
    return np.where(left > 0, f_distribution.sf(ratio, 1, models - 4), np.nan)


def _centre(values: Floats) -> Floats:
    return np.asarray(values - values.mean(axis=0))


def _slope(y: Floats, x: Floats) -> tuple[Floats, Floats]:
    """Least-squares slopes of columns without intercept, and the sums of squares of x."""
    spread = (x * x).sum(axis=0)
    tiny = 1e-12 * max(float(spread.max(initial=0.0)), 1e-300)
    slope = np.divide((x * y).sum(axis=0), spread, out=np.zeros(spread.shape), where=spread > tiny)
    return np.asarray(slope), spread


def _without(y: Floats, x: Floats) -> Floats:
    return np.asarray(y - _slope(y, x)[0] * x)


def _standardised(slope: Floats, scores: Floats, focal: Flags) -> Floats:
    """The difference in units of the standard deviation within groups."""
    parts = [_centre(scores[members]) for members in (focal, ~focal)]
    within = np.sqrt(sum((part**2).sum(axis=0) for part in parts) / (len(scores) - 2))
    return np.asarray(np.divide(slope, within, out=np.full(slope.shape, np.nan), where=within > 0))


# ---------------------------------------------------------------------------------- Mantel–Haenszel


@dataclass(frozen=True, slots=True)
class MantelHaenszel:
    """The common odds ratio of every item over strata, and its test."""

    log_odds: Floats  # log of the odds ratio, focal to the others; NaN where a group never or always prefers
    p: Floats  # without continuity correction
    q: Floats

    @property
    def delta(self) -> Floats:
        """The ETS delta scale, −2.35 log odds: below −1.5 or above 1.5 is large."""
        return -2.35 * self.log_odds


def mantel_haenszel(scores: Floats, focal: Flags, anchors: Flags) -> MantelHaenszel:
    """Preference of the stereotype (a positive score) by group, within strata of the mean share of the others."""
    _check(scores, focal)
    chosen = (scores > 0).astype(np.float64)
    strata = _strata(matching_means(chosen, anchors))
    numbers = np.zeros((4, scores.shape[1]))  # numerator, denominator, excess, variance
    for stratum in range(STRATA):
        inside = strata == stratum
        a, b, c, d = (
            (inside & member & (chosen == value)).sum(axis=0).astype(np.float64)
            for member in (focal[:, None], ~focal[:, None])
            for value in (1.0, 0.0)
        )
        n = a + b + c + d
        some = n > 1
        of = np.where(some, n, 2.0)
        variance = (a + b) * (c + d) * (a + c) * (b + d) / (of**2 * (of - 1))
        parts = (a * d / of, b * c / of, a - (a + b) * (a + c) / of, variance)
        numbers += np.array([np.where(some, part, 0.0) for part in parts])
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.log(numbers[0] / numbers[1])
        p = chi2.sf(numbers[2] ** 2 / numbers[3], 1)
    p = np.where(numbers[3] > 0, p, np.nan)
    return MantelHaenszel(np.where(np.isfinite(odds), odds, np.nan), p, false_discovery_rates(p))


def _strata(means: Floats) -> NDArray[np.int64]:
    """Strata of about equal numbers of models, for each item."""
    cuts = np.quantile(means, np.arange(1, STRATA) / STRATA, axis=0)
    return np.asarray((means[None] > cuts[:, None]).sum(axis=0), dtype=np.int64)


# -------------------------------------------------------------------------------------- all together


def invariance_test(scores: Floats, focal: Flags, *, rng: np.random.Generator) -> tuple[float, float]:
    """The mean squared t of uniform DIF over items, and its p-value if the groups were exchangeable.

    Freedman & Lane (1983): what the matching mean leaves of the scores is permuted over models, jointly for all items.
    """
    _check(scores, focal)
    match = _centre(matching_means(scores, np.ones(scores.shape[1], dtype=np.bool_)))
    group = _without(_centre(np.broadcast_to(focal.astype(np.float64)[:, None], scores.shape)), match)
    rest = _without(_centre(scores), match)
    observed = _mean_square(rest, match, group)
    drawn = [_mean_square(rest[order], match, group) for order in _orders(focal, rng)]
    return observed, (1 + sum(value >= observed * (1 - 1e-12) for value in drawn)) / (1 + len(drawn))


def _mean_square(rest: Floats, match: Floats, group: Floats) -> float:
    y = _without(_centre(rest), match)
    slope, spread = _slope(y, group)
    left = ((y - slope * group) ** 2).sum(axis=0) / (len(y) - 3)
    known = left > 0
    return float((slope[known] ** 2 * spread[known] / left[known]).mean()) if known.any() else 0.0


def _orders(focal: Flags, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Orders of the models: one for every other choice of a focal group if they are few, else random ones."""
    n, k = len(focal), int(focal.sum())
    inside, outside = np.flatnonzero(focal), np.flatnonzero(~focal)
    if math.comb(n, k) <= ENUMERATED:
        for chosen in combinations(range(n), k):
            if chosen != tuple(inside):
                order = np.empty(n, dtype=np.int64)
                order[inside] = chosen
                order[outside] = [place for place in range(n) if place not in chosen]
                yield order
        return
    for _ in range(PERMUTATIONS):
        yield rng.permutation(n)


@dataclass(frozen=True, slots=True)
class ItemAgreement:
    """How alike two groups of models order the items."""

    r: Value  # correlation of the items' means in the two groups, interval over items
    reliabilities: tuple[
        float, float
    ]  # of these means, focal first: how alike other models of the group would order them

    @property
    def corrected_r(self) -> float:
        """The correlation if both groups were endless (Spearman 1904); NaN if a group orders the items by chance."""
        both = self.reliabilities[0] * self.reliabilities[1]
        return min(self.r.value / math.sqrt(both), 1.0) if min(self.reliabilities) > 0 else math.nan


def item_agreement(scores: Floats, focal: Flags) -> ItemAgreement:
    """Correlate the means of items in the two groups."""
    groups = scores[focal], scores[~focal]
    r = correlation([groups[0].mean(axis=0)], [groups[1].mean(axis=0)])
    return ItemAgreement(r, (_mean_reliability(groups[0]), _mean_reliability(groups[1])))


def _mean_reliability(scores: Floats) -> float:
    """1 − MS(rest) / MS(item): the reliability of means of items over models."""
    models, items = scores.shape
    means = scores.mean(axis=0)
    rest = scores - means - scores.mean(axis=1, keepdims=True) + scores.mean()
    between = models * float(((means - means.mean()) ** 2).sum()) / (items - 1)
    within = float((rest**2).sum()) / ((models - 1) * (items - 1))
    return max(1 - within / between, 0.0) if between > 0 else 0.0
