"""Estimates with intervals and tests from score tables, on top of scipy and statsmodels.

`estimates` is what an audit calls; `comparisons` and `gate` compare two runs.
`docs/statistics.md` explains which interval and test is used where, and why.
"""

from __future__ import annotations

from collections.abc import Sequence

from unmask.core.estimate import Estimate
from unmask.core.types import Measure, Row
from unmask.stats.compare import Comparison, GateResult, apply_holm, comparisons
from unmask.stats.corrections import correct_categories, holm
from unmask.stats.differences import difference_estimates, magnitude_estimates
from unmask.stats.gates import gate
from unmask.stats.lean import effect_estimates, lean_estimates, third_estimates
from unmask.stats.shares import share_estimates, signed_estimate
from unmask.stats.table import ScoreTable
from unmask.stats.triples import StereoSetScores, stereoset_scores, triple_estimates

__all__ = [
    "Comparison",
    "GateResult",
    "StereoSetScores",
    "apply_holm",
    "comparisons",
    "estimates",
    "gate",
    "holm",
    "signed_estimate",
    "stereoset_scores",
]


def estimates(measure: Measure, rows: Sequence[Row], *, data: str, rng_seed: int) -> tuple[Estimate, ...]:
    """All estimates of one measure on one dataset, the headline (group `all`) first.

    If nothing is scored the value is NaN, `n` is 0 and all rows count as unscored; no rows raise StatsError.
    """
    table = ScoreTable.of(measure, rows, data=data)
    return correct_categories(_summary(table, rng_seed))


def _summary(table: ScoreTable, seed: int) -> list[Estimate]:
    if table.measure.summary == "share":
        return [*share_estimates(table), *difference_estimates(table, seed)]
    if table.measure.summary == "magnitude":
        return magnitude_estimates(table, seed)
    if table.measure.summary == "lean":
        return [*lean_estimates(table, seed), *third_estimates(table, seed)]
    if table.measure.summary == "association":
        return [*lean_estimates(table, seed), *effect_estimates(table, seed)]
    return triple_estimates(table, seed)
