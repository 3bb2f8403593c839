"""Which way a model leans in template data: the mean difference by category, by goal and by word."""

from __future__ import annotations

from collections.abc import Iterator

from unmask.stats.crossed import crossed_mean
from unmask.stats.differences import differences
from unmask.stats.means import mean
from unmask.stats.resampling import generator
from unmask.stats.table import Table
from unmask.types import Estimate


def lean_estimates(table: Table, seed: int) -> list[Estimate]:
    """`appd` over the words that should not lean, by category, by goal of the others, and by word."""
    return [_estimate(part, group, seed) for group, part in _groups(table)]


def _groups(table: Table) -> Iterator[tuple[str, Table]]:
    yield from table.everywhere()
    yield from ((group, part) for group, part in table.split("goal") if group != "goal=zero")
    yield from table.split("word")


def _estimate(table: Table, group: str, seed: int) -> Estimate:
    values = differences(table, "appd")
    interval, p = crossed_mean(values, table, rng=generator(seed, group))
    return Estimate(
        measure=table.measure.name,
        data=table.data,
        group=group,
        statistic="appd",
        value=mean(values),
        low=interval.low,
        high=interval.high,
        null=0.0,
        n=values.size,
        ties=table.ties,
        unscored=table.unscored,
        method=interval.method,
        p=p,
    )
