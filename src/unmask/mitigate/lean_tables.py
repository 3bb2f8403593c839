"""How far each word leans, and how far words lean on average, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask.core.types import Floats, Row
from unmask.findings import Value
from unmask.stats.bootstrap import generator
from unmask.stats.means import mean_interval, mean_test


@dataclass(frozen=True, slots=True)
class WordLeans:
    """The mean difference of every word before and after, in the order of the words."""

    words: tuple[str, ...]
    categories: tuple[str, ...]
    before: Floats
    after: Floats


def word_leans(before: Sequence[Row], after: Sequence[Row]) -> WordLeans:
    """The mean difference of each word over the templates that both runs could score."""
    pairs = {one.item: one for one in before if one.scores}
    gathered: dict[str, list[tuple[float, float]]] = {}
    category: dict[str, str] = {}
    for one in after:
        if one.scores and one.item in pairs:
            gathered.setdefault(one.groups["word"], []).append((pairs[one.item].difference, one.difference))
            category[one.groups["word"]] = one.groups["category"]
    means = np.array([np.mean(some, axis=0) for some in gathered.values()]).reshape(-1, 2)
    return WordLeans(tuple(gathered), tuple(category.values()), means[:, 0], means[:, 1])


@dataclass(frozen=True, slots=True)
class LeanSizes:
    """How far words lean on average, whichever way, before and after."""

    before: Value
    after: Value
    change: Value
    n: int
    p: float | None


def lean_size(leans: WordLeans, seed: int) -> LeanSizes:
    """Mean of |APPD| over words, words resampled."""
    a, b = np.abs(leans.before), np.abs(leans.after)
    return LeanSizes(
        mean_with_interval(a, "size before", seed),
        mean_with_interval(b, "size after", seed),
        mean_with_interval(b - a, "size change", seed),
        len(leans.words),
        mean_test(b - a, 0.0),
    )


def mean_with_interval(values: Floats, label: str, seed: int) -> Value:
    """Their mean with its interval."""
    found = mean_interval(values, rng=generator(seed, label))
    return Value(float(values.mean()), found.low, found.high, found.method)
