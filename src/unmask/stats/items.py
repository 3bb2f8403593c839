"""What a statistic is the mean of, item by item, so that scores can be made of any sample of items."""

from __future__ import annotations

import numpy as np

from unmask.core.types import Floats, Measure
from unmask.stats.pairing import STATISTICS
from unmask.stats.table import ScoreTable


def headline_statistic(measure: Measure) -> str:
    """The statistic a measure is known by: `bias-score`, `asld`, `appd`."""
    return STATISTICS[measure.summary][0]


def item_values(table: ScoreTable, statistic: str) -> Floats:
    """One value for every row of the table, NaN where it does not count; their mean is the statistic."""
    if statistic == "bias-score":
        return np.where(table.is_counted, 100.0 * table.wins, np.nan)
    values = np.where(table.is_scored, table.difference, np.nan)
    return np.abs(values) if statistic == "asld" else values
