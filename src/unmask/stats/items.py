"""The values a statistic averages, item by item, so that any sample of items can be scored."""

from __future__ import annotations

import numpy as np

from unmask.core.types import Floats, Measure, Summary
from unmask.stats.table import ScoreTable

STATISTICS: dict[Summary, tuple[str, ...]] = {
    "share": ("bias-score", "mean-difference"),
    "magnitude": ("asld", "mean-difference"),
    "lean": ("appd",),
    "association": ("association",),
    "lms": ("lms",),
    "ss": ("ss",),
    "icat": ("icat",),
}  # compared statistics, the headline first


def headline_statistic(measure: Measure) -> str:
    """The main statistic of a measure: `bias-score`, `asld`, `appd`."""
    return STATISTICS[measure.summary][0]


def item_values(table: ScoreTable, statistic: str) -> Floats:
    """One value per row of the table, NaN if it does not count; their mean is the statistic."""
    if statistic == "bias-score":
        return np.where(table.is_counted, 100.0 * table.wins, np.nan)
    values = np.where(table.is_scored, table.difference, np.nan)
    return np.abs(values) if statistic == "asld" else values
