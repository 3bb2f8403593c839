"""The size of words' leans, whatever their direction: leans that cancel each other in a signed mean add up here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask.core.estimate import Value
from unmask.core.seeds import generator
from unmask.core.types import Floats, Row
from unmask.stats.means import mean_interval, mean_test


@dataclass(frozen=True, slots=True)
class WordLeans:
    """The mean difference of each word before and after; rows follow `words`."""

    words: tuple[str, ...]
    categories: tuple[str, ...]
    before: Floats
    after: Floats


def word_leans(before: Sequence[Row], after: Sequence[Row]) -> WordLeans:
    """The mean difference of each word over the templates scored in both evaluations."""
    scored_before = {row.item: row for row in before if row.scores}
    by_word: dict[str, list[tuple[float, float]]] = {}
    category: dict[str, str] = {}
    for row in after:
        if row.scores and row.item in scored_before:
            word, both = row.groups["word"], (scored_before[row.item].difference, row.difference)
            by_word.setdefault(word, []).append(both)
            category[word] = row.groups.get("category", "")
    means = np.array([np.mean(differences, axis=0) for differences in by_word.values()]).reshape(-1, 2)
    return WordLeans(tuple(by_word), tuple(category.values()), means[:, 0], means[:, 1])


@dataclass(frozen=True, slots=True)
class LeanSizes:
    """Mean absolute lean of words, before and after."""

    before: Value
    after: Value
    change: Value
    n: int
    p: float | None


def lean_size(leans: WordLeans, seed: int) -> LeanSizes:
    """Mean of |APPD| over words; the bootstrap resamples words."""
    a, b = np.abs(leans.before), np.abs(leans.after)
    return LeanSizes(
        mean_interval(a, rng=generator(seed, "size before")),
        mean_interval(b, rng=generator(seed, "size after")),
        mean_interval(b - a, rng=generator(seed, "size change")),
        len(leans.words),
        mean_test(b - a, 0.0),
    )
