"""Which way a model leans in template data: the mean difference by category, by goal and by word.

And the probability of a template's third word, such as they, by the same groups.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unmask.core.estimate import NAN, Estimate, Value
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.stats.bootstrap import bootstrap_value
from unmask.stats.crossed import crossed_mean
from unmask.stats.items import STATISTICS, item_values
from unmask.stats.table import ScoreTable

MIN_WORDS = 3  # fewest words for which an effect size is computed


def lean_estimates(table: ScoreTable, seed: int) -> list[Estimate]:
    """Mean over words whose goal is no lean; by category, goal, word, and template with several rows."""
    (statistic,) = STATISTICS[table.measure.summary]
    return [_estimate(part, statistic, group, seed) for group, part in _groups(table)]


def effect_estimates(table: ScoreTable, seed: int) -> list[Estimate]:
    """`effect-size` overall and by category: mean of the words' means over their standard deviation."""
    return [_effect(part, group, seed) for group, part in table.all_and_categories()]


def third_estimates(table: ScoreTable, seed: int) -> list[Estimate]:
    """`third`, the third word's mean probability, overall and by category; empty if no item has one."""
    if not np.isfinite(table.unrelated).any():
        return []
    return [_third(part, group, seed) for group, part in table.all_and_categories()]


def _groups(table: ScoreTable) -> Iterator[tuple[str, ScoreTable]]:
    yield from table.all_and_categories()
    yield from ((group, part) for group, part in table.split_by("goal") if group != "goal=zero")
    yield from table.split_by("word")
    yield from ((group, part) for group, part in table.split_by("template") if part.items.size > 1)


def _estimate(table: ScoreTable, statistic: str, group: str, seed: int) -> Estimate:
    values = item_values(table, statistic)[table.is_scored]
    value, p = crossed_mean(values, table, rng=generator(seed, group))
    return table.estimate(value, statistic, group, null=0.0, p=p)


def _effect(table: ScoreTable, group: str, seed: int) -> Estimate:
    words = np.array(
        [part.difference[part.is_scored].mean() for _, part in table.split_by("word") if part.is_scored.any()]
    )
    value = Value(NAN, method=f"too few: {words.size} words")
    if words.size >= MIN_WORDS and np.ptp(words) > 0:
        rng = generator(seed, f"effect {group}")
        found = bootstrap_value(float(_size(words)), (words,), _size, rng=rng, unit="words")
        # A resample of one word has no standard deviation: no interval then.
        value = found if found.has_interval else Value(found.value, method=value.method)
    return table.estimate(value, "effect-size", group, null=0.0, n=words.size)


def _third(table: ScoreTable, group: str, seed: int) -> Estimate:
    held = table.take(np.isfinite(table.unrelated))
    values = held.unrelated[held.is_scored]
    value, _ = crossed_mean(values, held, rng=generator(seed, f"third {group}"))
    return table.estimate(
        value, "third", group, n=values.size, ties=0, unscored=len(table.items) - values.size
    )


def _size(words: Floats, axis: int = -1) -> Floats:
    spread = np.where(np.ptp(words, axis) > 0, words.std(axis, ddof=1), np.nan)
    return np.asarray(words.mean(axis) / spread)
