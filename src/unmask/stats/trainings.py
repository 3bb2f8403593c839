"""Models that were trained alike but for their seed: how much they differ, and their mean.

Items alone do not know it: another seed moves scores by more than the noise of the items. With several baselines the
variance between trainings is part of every test and margin of the gate; with several trainings on a corpus it is part
of the interval and the test of its effect.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from unmask.core.estimate import Value
from unmask.core.types import Floats
from unmask.stats.bootstrap import NO_CHANGE
from unmask.stats.intervals import critical, student_ends, upper_tail, without_interval
from unmask.stats.power import standard_error
from unmask.stats.units import NEGLIGIBLE, SamplingError, Units, sampling_error


def pool_repeats(values: Sequence[Value], unit: str = "repeats") -> Value:
    """The mean, with an interval that covers the spread within and between repeats (Rubin's rules, 1987).

    The variance is the mean of those within plus (1 + 1/m) times that between the m repeats; those within come from
    the widths of the intervals and their degrees of freedom. Of one repeat it is its own interval.
    """
    if len(values) == 1:
        return values[0]
    found, count = np.array([each.value for each in values]), len(values)
    if not all(each.has_interval for each in values):
        return Value(float(found.mean()), method=f"no interval: one of {count} {unit} has none")
    errors = np.array([standard_error(each) for each in values])
    within, between = float((errors**2).mean()), float((1 + 1 / count) * found.var(ddof=1))
    df = _degrees_of_freedom(within, between, count, min(math.inf if each.df is None else each.df for each in values))
    mean, half = float(found.mean()), critical(df) * math.sqrt(within + between)
    shown = None if math.isinf(df) else df
    return Value(mean, mean - half, mean + half, f"Rubin's rules over {count} {unit}", df=shown).widen()


def _degrees_of_freedom(within: float, between: float, count: int, complete: float) -> float:
    """Those of Barnard and Rubin (1999), with `complete` degrees of freedom within a repeat; infinite: Rubin's."""
    if not between:
        return complete
    rubin = (count - 1) * (1 + within / between) ** 2
    if math.isinf(complete) or not within:
        return rubin
    observed = (complete + 1) / (complete + 3) * complete * within / (within + between)
    return 1 / (1 / rubin + 1 / observed)


FEWEST, FEW_GROUPS = 2, 4  # of two trainings a fifth group says little: what moves one bias type moves others too


@dataclass(frozen=True, slots=True)
class TrainingSpread:
    """How much the mean of some items varies between trainings."""

    between: float  # the variance of one training's mean
    items: float | None  # the part that the noise of single items explains; None if that is unknown
    trainings: int

    @classmethod
    def of(cls, values: Sequence[Floats], units: Units) -> TrainingSpread:
        """From the values of every training, one for each item, and what the items share."""
        runs = np.stack(values)
        return cls(float(np.var(runs.mean(axis=1), ddof=1)), _explained_variance(runs, units), len(values))

    @property
    def ratio(self) -> float | None:
        """The variance between trainings as a multiple of what items explain: 1 if only they differ."""
        return None if self.items is None else self.between / self.items


@dataclass(frozen=True, slots=True)
class TrainingNoise:
    """The noise between trainings of one mean: its own, and what others of the same kind say of it.

    The ratio of one mean is known from few trainings. So it is the mean ratio of those alike, of other bias types,
    measures and datasets, or its own where that is larger, and at least 1; `tools.gate_rates` prints the false alarms.
    """

    own: TrainingSpread
    ratio: float
    df: float

    @classmethod
    def pool(cls, own: TrainingSpread, alike: Sequence[TrainingSpread], groups: int) -> TrainingNoise:
        """From means that are alike, of so many groups of items: several measures of the same items count once."""
        ratios = [each.ratio for each in alike if each.ratio is not None]
        ratio = max(1.0, float(np.mean(ratios)) if ratios else 1.0, own.ratio or 1.0)
        most = FEW_GROUPS if own.trainings == FEWEST else groups
        return cls(own, ratio, (own.trainings - 1.0) * max(1, min(groups, most)))

    def widen(self, value: Value, times: float) -> Value:
        """The value with the noise of trainings in its interval: `times` 1 of one training, 1 + 1/K against K others.

        Its own interval covers the items, also those on which a run differs more than the baselines do. Added is what
        trainings differ by beyond that; the degrees of freedom are Satterthwaite's.
        """
        if not value.has_interval or value.method.startswith(NO_CHANGE):
            return value
        of_items = standard_error(value) ** 2
        explained = of_items / times if self.own.items is None else self.own.items
        total = self.ratio * explained
        if self.own.items is None:
            total = max(total, explained + self.own.between)
        variance = of_items + times * (total - explained)
        uncertainty = (times * total) ** 2 / self.df + (of_items**2 / value.df if value.df else 0.0)
        df = variance**2 / uncertainty if uncertainty else value.df
        half = critical(df) * math.sqrt(variance)
        method = f"{value.method}; {self.own.trainings} trainings"
        return replace(value, low=value.value - half, high=value.value + half, method=method, df=df)


def mean_over_trainings(changes: Floats, units: Units) -> tuple[Value, float | None]:
    """The mean change over trainings × items: Student's interval over both, and the p-value of no change.

    The variances of two crossed random effects: that between trainings and that over units, minus their interaction,
    and at least the larger of the two. The degrees of freedom are those of the trainings where they are the fewer:
    Satterthwaite's overstate what two or three trainings know (`tests/stats/test_trainings.py` has the false alarms).

    Args:
        changes: a row for each training, at least two, and a column for each item
        units: what the items share
    """
    trainings, value = changes.shape[0], float(changes.mean())
    if not changes.any():
        return Value(0.0, 0.0, 0.0, NO_CHANGE, unit=units.tag), None
    if not np.isfinite(changes).all():
        return Value(value, method="infinite scores", unit=units.tag), None
    items = sampling_error(changes.mean(axis=0), units)
    if items is None:
        return Value(value, method=without_interval(units), unit=units.tag), None
    between = float(np.var(changes.mean(axis=1), ddof=1)) / trainings
    both = (_explained_variance(changes, units) or 0.0) / trainings
    variance = max(between + items.variance - both, between, items.variance)
    error = SamplingError(variance, min(trainings - 1.0, items.df), items.design_effect)
    method = f"t over {trainings} trainings and {units.label or f'{changes.shape[1]:,} items'}"
    p = 2 * upper_tail(abs(value) / math.sqrt(variance), error.df)
    return Value(value, *student_ends(value, error), method, unit=units.tag, df=error.df), p


def _explained_variance(runs: Floats, units: Units) -> float | None:
    """The variance of one training's mean that its items explain; None if it is unknown."""
    count = runs.shape[0]
    errors = [sampling_error(each, units) for each in runs - runs.mean(axis=0)]
    known = [error.variance for error in errors if error is not None]
    found = float(np.mean(known)) * count / (count - 1) if known else 0.0
    return found if found > NEGLIGIBLE * float(np.mean(runs**2)) / runs.shape[1] else None
