"""Means over words × templates, whose rows are not independent: they share words and templates.

The interval resamples both at once (the pigeonhole bootstrap of Owen 2007): the weight of a row is the
multiplicity of its word times that of its template. It generalises to other words and other templates.
"""

from __future__ import annotations

import numpy as np

from unmask.core.types import Floats, Ints
from unmask.stats.bootstrap import BATCH_CELLS, NO_CHANGE, RESAMPLES, Interval
from unmask.stats.means import mean, mean_interval, mean_test
from unmask.stats.table import ScoreTable

CROSSED = ("appd", "association")  # statistics that are means over words × templates


def crossed_mean(
    values: Floats, table: ScoreTable, *, rng: np.random.Generator, null: float = 0.0
) -> tuple[Interval, float | None]:
    """Interval of the mean and p-value against the null; `values` are those of the table's scored rows."""
    scored = table.take(table.is_scored)
    words, templates = _numbered(scored, "word"), _numbered(scored, "template")
    if min(_distinct(words), _distinct(templates)) < 2:
        return mean_interval(values, rng=rng), mean_test(values, null)
    if not (values - null).any():
        return Interval(null, null, NO_CHANGE), None
    resampled = _means(values, words, templates, rng)
    low, high = np.quantile(resampled, [0.025, 0.975])
    method = f"two-way bootstrap over {_distinct(words)} words and {_distinct(templates)} templates"
    beyond = min((resampled <= null).sum(), (resampled >= null).sum())
    p = min(1.0, 2 * (beyond + 1) / (len(resampled) + 1))
    return Interval(float(low), float(high), method).widen_to(mean(values)), float(p)


def _means(values: Floats, words: Ints, templates: Ints, rng: np.random.Generator) -> Floats:
    """The mean of every resample; a resample without rows (possible with very few rows) is dropped."""
    sums = np.zeros((_distinct(words), _distinct(templates)))
    counts = np.zeros_like(sums)
    np.add.at(sums, (words, templates), values)
    np.add.at(counts, (words, templates), 1.0)
    means = []
    step = max(1, BATCH_CELLS // sums.size)
    for begin in range(0, RESAMPLES, step):
        size = min(step, RESAMPLES - begin)
        by_word, by_template = (rng.multinomial(k, np.full(k, 1 / k), size=size) for k in sums.shape)
        total, rows = (
            np.einsum("rw,wt,rt->r", by_word, part, by_template, optimize=True) for part in (sums, counts)
        )
        means.append(total[rows > 0] / rows[rows > 0])
    return np.concatenate(means)


def _numbered(table: ScoreTable, name: str) -> Ints:
    return np.unique(table.labels[name], return_inverse=True)[1]


def _distinct(numbers: Ints) -> int:
    return int(numbers.max()) + 1 if numbers.size else 0
