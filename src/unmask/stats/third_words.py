"""Probability of a template's third word, such as they, by the same groups as the lean."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unmask.core.estimate import Estimate
from unmask.core.seeds import generator
from unmask.stats.crossed import crossed_mean
from unmask.stats.differences import mean_estimate
from unmask.stats.table import ScoreTable

STATISTIC = "third"


def third_estimates(table: ScoreTable, seed: int) -> list[Estimate]:
    """`third`, the third word's mean probability, overall and by category; empty if no item has one."""
    if not np.isfinite(table.unrelated).any():
        return []
    return [_estimate(part, group, seed) for group, part in table.all_and_categories()]


def _estimate(table: ScoreTable, group: str, seed: int) -> Estimate:
    held = table.take(np.isfinite(table.unrelated))
    values = held.unrelated[held.is_scored]
    value, _ = crossed_mean(values, held, rng=generator(seed, f"third {group}"))
    plain = mean_estimate(held, STATISTIC, group, value)
    without = len(table.items) - len(held.items)
    return replace(plain, null=None, ties=0, unscored=held.n_unscored + without)
