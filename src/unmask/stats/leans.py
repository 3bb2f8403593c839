"""Which way a model leans in template data: the mean difference by category, by goal and by word."""

from __future__ import annotations

from collections.abc import Iterator

from unmask.stats.crossed import crossed_mean
from unmask.stats.differences import differences, mean_estimate
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
    found = crossed_mean(differences(table, "appd"), table, rng=generator(seed, group))
    return mean_estimate(table, "appd", group, *found)
