"""Estimates with intervals and tests from score tables, on top of scipy and statsmodels.

`estimates` is what an audit calls; `comparisons` compares two runs, `gate.gate` judges one against a baseline.
`docs/statistics.md` explains which interval and test is used where, and why.
"""

from __future__ import annotations

from collections.abc import Sequence

from unmask.core.estimate import Estimate
from unmask.core.types import Measure, Row
from unmask.stats.compare import Comparison, apply_holm, comparisons, published_comparison
from unmask.stats.corrections import correct_categories, holm
from unmask.stats.differences import (
    difference_estimates,
    effect_estimates,
    lean_estimates,
    third_estimates,
    word_lean_estimates,
)
from unmask.stats.shares import share_estimates, signed_estimate
from unmask.stats.table import ScoreTable
from unmask.stats.triples import StereoSetScores, stereoset_scores, triple_estimates

__all__ = [
    "Comparison",
    "StereoSetScores",
    "apply_holm",
    "comparisons",
    "estimates",
    "holm",
    "published_comparison",
    "signed_estimate",
    "stereoset_scores",
]


def estimates(
    measure: Measure, rows: Sequence[Row], *, data: str, rng_seed: int, independent: bool = False
) -> tuple[Estimate, ...]:
    """All estimates of one measure on one dataset, the headline (group `all`) first.

    Intervals and tests are over the unit that items share (`units.py`); with `independent`, over pairs. If nothing
    is scored the value is NaN, `n` is 0 and all rows count as unscored; no rows raise StatsError.
    """
    table, seed = ScoreTable.of(measure, rows, data=data, independent=independent), rng_seed
    if measure.summary == "share":
        found = [*share_estimates(table), *difference_estimates(table, seed)]
    elif measure.summary == "magnitude":
        found = [*difference_estimates(table, seed, "asld"), *difference_estimates(table, seed)]
    elif measure.summary in ("lean", "association"):
        further = third_estimates if measure.summary == "lean" else effect_estimates
        found = [*lean_estimates(table, seed), *word_lean_estimates(table, seed), *further(table, seed)]
    else:
        found = triple_estimates(table, seed)
    return correct_categories(found)
