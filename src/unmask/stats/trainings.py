"""How much models differ that were trained alike but for their seed.

Items alone do not know it: another seed moves scores by more than the noise of the items. With several baselines the
variance between trainings is part of every test and margin of the gate; with several trainings on a corpus it is part
of the interval and the test of its effect.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unmask.core.estimate import Value
from unmask.core.types import Floats
from unmask.stats.bootstrap import NO_CHANGE
from unmask.stats.detectable import ALPHA, standard_error
from unmask.stats.means import student_ends, without_interval
from unmask.stats.student import quantile, upper_tail
from unmask.stats.units import SamplingError, Units, sampling_error


@dataclass(frozen=True, slots=True)
class TrainingNoise:
    """The variance between trainings over that which their items explain, by statistic and group of items.

    That ratio is known from few trainings. So it is pooled over the bias types of a statistic, and a group's own
    counts where it is larger; it is at least 1. (`tools.gate_rates --baselines 3` prints the false alarms.)
    """

    own: Mapping[tuple[str, str], float]
    trainings: int

    def widen(self, rise: Value, statistic: str, group: str) -> Value:
        """A change against the mean of the baselines, with the noise between trainings in its interval."""
        if not rise.has_interval or (statistic, group) not in self.own:
            return rise
        alike = [ratio for (name, where), ratio in self.own.items() if name == statistic and where != "all"]
        ratios = alike or [self.own[statistic, group]]
        factor = max(1.0, float(np.mean(ratios)), self.own[statistic, group])
        df = (self.trainings - 1.0) * len(ratios)
        df = df if rise.df is None else min(df, rise.df)
        half = quantile(1 - ALPHA / 2, df) * standard_error(rise) * math.sqrt(factor)
        ends = rise.value - half, rise.value + half
        return replace(rise, low=ends[0], high=ends[1], method=f"{rise.method}; {self.trainings} trainings", df=df)


def dispersion(values: Sequence[Floats], units: Units) -> float:
    """The variance of the means of several trainings over that which their items explain; 1 if it is unknown.

    Args:
        values: of each training, one for each item
        units: what the items share
    """
    runs = np.stack(values)
    explained = _explained_variance(runs, units)
    return 1.0 if explained is None else float(np.var(runs.mean(axis=1), ddof=1) / explained)


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
    return float(np.mean(known)) * count / (count - 1) if known else None
