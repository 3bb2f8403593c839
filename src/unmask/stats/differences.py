"""Mean score differences: within pairs, signed and absolute; in template data by category, goal and word.

And the probability of a template's third word, such as they, by the same groups; and the size of words' leans, whatever
their direction: leans that cancel each other in a signed mean add up in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import f_oneway

from unmask.core.estimate import NAN, Estimate, Value
from unmask.core.seeds import generator
from unmask.core.statistic import BALANCED, OF_WORDS
from unmask.core.types import Floats, Row
from unmask.stats.bootstrap import bootstrap_value
from unmask.stats.directions import balance_directions, is_directed, is_unbalanced
from unmask.stats.intervals import crossed_mean, mean_interval, mean_test
from unmask.stats.table import STATISTICS, ScoreTable, item_values
from unmask.stats.units import WORD

MIN_WORDS = 3  # fewest words for which an effect size is computed


def difference_estimates(table: ScoreTable, seed: int, statistic: str = "mean-difference") -> list[Estimate]:
    """`mean-difference` or `asld` overall and by category; the null of `asld`, 0, is the edge: no test."""
    found = []
    for group, part in table.all_and_categories():
        values, units = item_values(part, statistic)[part.is_scored], part.take(part.is_scored).units
        value, p = mean_interval(values, rng=generator(seed, group), units=units), mean_test(values, 0.0, units)
        if statistic == "asld":
            value, p = value.clip(0.0, np.inf), None
        found.append(part.estimate(value, statistic, group, null=0.0, p=p))
        if statistic == "mean-difference" and table.measure.summary == "share":
            found += _balanced_difference(part, group, seed)
    return found


def _balanced_difference(table: ScoreTable, group: str, seed: int) -> list[Estimate]:
    """`balanced-mean-difference`, the mean over the two directions, where most pairs have the same."""
    if not is_unbalanced(table.labels["direction"][table.is_scored]):
        return []
    table = table.take(is_directed(table.labels["direction"]))
    scored = table.take(table.is_scored)
    values = balance_directions(scored.difference, scored.labels["direction"])
    value = mean_interval(values, rng=generator(seed, f"balanced {group}"), units=scored.units)
    p = mean_test(values, 0.0, scored.units)
    return [table.estimate(value, f"{BALANCED}mean-difference", group, null=0.0, p=p)]


def template_estimates(table: ScoreTable, seed: int) -> list[Estimate]:
    """Leans of templates, their size by word, and the effect size or the probability of a third word."""
    further = third_estimates if table.measure.summary == "lean" else effect_estimates
    return [*lean_estimates(table, seed), *word_lean_estimates(table, seed), *further(table, seed)]


def lean_estimates(table: ScoreTable, seed: int) -> list[Estimate]:
    """Mean over words whose goal is no lean; by category, goal, word, and template with several rows."""
    (statistic,) = STATISTICS[table.measure.summary]
    groups = [
        *table.all_and_categories(),
        *((group, part) for group, part in table.split_by("goal") if group != "goal=zero"),
        *table.split_by("word"),
        *((group, part) for group, part in table.split_by("template") if part.items.size > 1),
    ]
    found = []
    for group, part in groups:
        scored = part.take(part.is_scored)
        value, p = crossed_mean(item_values(scored, statistic), scored.units, rng=generator(seed, group))
        value = value.clip(-1.0, 1.0) if statistic == "appd" else value
        found.append(part.estimate(value, statistic, group, null=0.0, p=p))
    return found


def word_lean_estimates(table: ScoreTable, seed: int) -> list[Estimate]:
    """The mean absolute lean of a word, over words: leans in both directions do not cancel each other in it.

    It has no null, for noise alone makes it positive; p is that of all words leaning alike (one-way analysis of
    variance).
    """
    (statistic,) = STATISTICS[table.measure.summary]
    rows = table.headline_rows()
    by_word = [part.difference[part.is_scored] for _, part in rows.split_by(WORD)]
    by_word = [differences for differences in by_word if differences.size]
    if len(by_word) < MIN_WORDS:
        return []
    sizes = np.abs([differences.mean() for differences in by_word])
    value = mean_interval(sizes, rng=generator(seed, "size after")).clip(0.0, np.inf)
    counts = {"n": sizes.size, "ties": 0, "p": _alike(by_word)}
    return [rows.estimate(replace(value, unit=WORD), f"{OF_WORDS}{statistic}", "all", **counts)]


def _alike(groups: list[Floats]) -> float | None:
    """The p-value of equal means of groups; None if no group has two different values."""
    several = [group for group in groups if group.size > 1]
    if len(several) < 2 or not any(np.ptp(group) for group in several):
        return None
    return float(f_oneway(*several).pvalue)


def effect_estimates(table: ScoreTable, seed: int) -> list[Estimate]:
    """`effect-size` overall and by category: mean of the words' means over their standard deviation."""
    return [_effect(part, group, seed) for group, part in table.all_and_categories()]


def third_estimates(table: ScoreTable, seed: int) -> list[Estimate]:
    """`third`, the third word's mean probability, overall and by category; empty if no item has one."""
    if not np.isfinite(table.unrelated).any():
        return []
    found = []
    for group, part in table.all_and_categories():
        held = part.take(np.isfinite(part.unrelated) & part.is_scored)
        values = held.unrelated
        value, _ = crossed_mean(values, held.units, rng=generator(seed, f"third {group}"))
        counts = {"n": values.size, "ties": 0, "unscored": len(part.items) - values.size}
        found.append(part.estimate(value.clip(0.0, 1.0), "third", group, **counts))
    return found


def _effect(table: ScoreTable, group: str, seed: int) -> Estimate:
    scored = (part.difference[part.is_scored] for _, part in table.split_by("word"))
    words = np.array([differences.mean() for differences in scored if differences.size])
    value = Value(NAN, method=f"too few: {words.size} words")
    if words.size >= MIN_WORDS and np.ptp(words) > 0:
        rng = generator(seed, f"effect {group}")
        found = bootstrap_value(float(_size(words)), (words,), _size, rng=rng, unit="words")
        # A resample of one word has no standard deviation: no interval then.
        value = found if found.has_interval else Value(found.value, method=value.method)
        value = replace(value, unit=WORD)
    return table.estimate(value, "effect-size", group, null=0.0, n=words.size)


def _size(words: Floats, axis: int = -1) -> Floats:
    return np.asarray(words.mean(axis) / np.where(np.ptp(words, axis) > 0, words.std(axis, ddof=1), np.nan))


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
