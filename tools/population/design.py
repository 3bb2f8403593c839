"""Which model gets which doses: one axis alone, or mixtures in which the doses of the axes are nearly uncorrelated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask.core.types import Floats

LEVELS = (-3, -2, -1, 1, 2, 3)  # of mixtures
TIMES = 3  # mixtures with each level
ALONE = (-3.0, -1.5, 1.5, 3.0)  # of models with a dose on one axis only
REPEATED = 6  # mixtures trained again with another seed
TRIED = 20_000  # arrangements, of which the one with the smallest correlations is taken


@dataclass(frozen=True)
class Plan:
    """One model of the population: its name, its dose on every axis, and the seed of its training."""

    name: str
    doses: dict[str, float]
    seed: int


def population(axes: Sequence[str]) -> list[Plan]:
    """The whole population: 36 models on three axes."""
    none = dict.fromkeys(axes, 0.0)
    alone = [(axis, {**none, axis: dose}) for axis in axes for dose in ALONE]
    mixed = [("mixture", dict(zip(axes, row, strict=True))) for row in mixtures(len(axes)).tolist()]
    repeated = [("repeat", doses) for _, doses in mixed[:: len(mixed) // REPEATED]]
    every = [*alone, *mixed, *repeated]
    return [Plan(f"{number:02}-{kind}", doses, number) for number, (kind, doses) in enumerate(every)]


def reduced_plans(axes: Sequence[str]) -> list[Plan]:
    """Six models: both ends of each of two axes, and both together."""
    first, second = axes[:2]
    ends = [(-3.0, 0.0), (3.0, 0.0), (0.0, -3.0), (0.0, 3.0), (-3.0, 3.0), (3.0, -3.0)]
    return [Plan(f"{number:02}", {first: a, second: b}, number) for number, (a, b) in enumerate(ends)]


def mixtures(axes: int) -> Floats:
    """A row a model, a column an axis: every level equally often, the columns nearly uncorrelated."""
    rng = np.random.default_rng(0)
    column = np.repeat(np.array(LEVELS, dtype=np.float64), TIMES)
    tried = (np.column_stack([column, *(rng.permutation(column) for _ in range(axes - 1))]) for _ in range(TRIED))
    return min(tried, key=largest_correlation)


def largest_correlation(doses: Floats) -> float:
    """The largest size of a correlation between two columns."""
    return float(np.abs(np.corrcoef(doses.T) - np.eye(doses.shape[1])).max())
