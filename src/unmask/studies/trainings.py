"""Scores of several trainings: their mean with its interval, and their spread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import stdev

import numpy as np

from unmask.core.estimate import Value
from unmask.core.seeds import generator
from unmask.stats.intervals import mean_interval


def over_trainings(values: Sequence[Value]) -> Value:
    """The mean over trainings with Student's interval; of one, or of equal ones, the value with its own interval."""
    numbers = [value.value for value in values]
    if len(set(numbers)) == 1:
        return values[0]
    return mean_interval(np.array(numbers), rng=generator(0, "trainings"), unit="trainings")


def deviation(values: Sequence[Value]) -> float | None:
    """The standard deviation over trainings; None for one training, or where one has no score."""
    numbers = [value.value for value in values]
    return stdev(numbers) if len(numbers) > 1 and all(map(math.isfinite, numbers)) else None
