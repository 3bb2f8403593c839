"""Estimates with intervals and tests from score tables, on top of scipy and statsmodels.

`estimates` is what an audit calls; `paired` compares two runs, `worsening` judges one against a baseline.
`docs/statistics.md` explains which interval and test is used where, and why.
"""

from __future__ import annotations

from collections.abc import Sequence

from unmask.core.estimate import Estimate
from unmask.core.types import Measure, Row
from unmask.stats.corrections import correct_categories
from unmask.stats.table import ScoreTable


def estimates(
    measure: Measure, rows: Sequence[Row], *, data: str, rng_seed: int, independent: bool = False
) -> tuple[Estimate, ...]:
    """All estimates of one measure on one dataset, the headline (group `all`) first.

    Intervals and tests are over the unit that items share (`units.py`); with `independent`, over pairs. If nothing
    is scored the value is NaN, `n` is 0 and all rows count as unscored; no rows raise StatsError.
    """
    table, seed = ScoreTable.of(measure, rows, data=data, independent=independent), rng_seed
    if measure.summary in ("lms", "ss", "icat"):
        from unmask.stats.triples import triple_estimates

        return correct_categories(triple_estimates(table, seed))
    from unmask.stats import differences

    if measure.summary == "share":
        from unmask.stats.shares import share_estimates

        return correct_categories([*share_estimates(table), *differences.difference_estimates(table, seed)])
    if measure.summary == "magnitude":
        sizes = differences.difference_estimates(table, seed, "asld")
        return correct_categories([*sizes, *differences.difference_estimates(table, seed)])
    return correct_categories(differences.template_estimates(table, seed))
