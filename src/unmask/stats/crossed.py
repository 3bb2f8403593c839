"""Means over words × templates, whose rows are not independent: they share words and templates.

The interval resamples both at once (the pigeonhole bootstrap of Owen 2007): the weight of a row is the
multiplicity of its word times that of its template. It generalises to other words and other templates.
"""

from __future__ import annotations

import numpy as np

from unmask.core.estimate import Value
from unmask.core.types import Floats, Ints
from unmask.stats.bootstrap import NO_CHANGE, crossed_means
from unmask.stats.means import mean, mean_interval, mean_test
from unmask.stats.table import ScoreTable

CROSSED = ("appd", "association")  # statistics that are means over words × templates


def crossed_mean(
    values: Floats, table: ScoreTable, *, rng: np.random.Generator, null: float = 0.0
) -> tuple[Value, float | None]:
    """The mean and its p-value against the null; `values` are those of the table's scored rows."""
    scored = table.take(table.is_scored)
    words, templates = _numbered(scored, "word"), _numbered(scored, "template")
    if min(_distinct(words), _distinct(templates)) < 2:
        return mean_interval(values, rng=rng), mean_test(values, null)
    if not (values - null).any():
        return Value(mean(values), null, null, NO_CHANGE), None
    resampled = crossed_means(values, words, templates, rng)
    low, high = np.quantile(resampled, [0.025, 0.975])
    method = f"two-way bootstrap over {_distinct(words)} words and {_distinct(templates)} templates"
    beyond = min((resampled <= null).sum(), (resampled >= null).sum())
    p = min(1.0, 2 * (beyond + 1) / (len(resampled) + 1))
    return Value(mean(values), float(low), float(high), method).widen(), float(p)


def _numbered(table: ScoreTable, name: str) -> Ints:
    return np.unique(table.labels[name], return_inverse=True)[1]


def _distinct(numbers: Ints) -> int:
    return int(numbers.max()) + 1 if numbers.size else 0
