"""How much models differ that were trained alike but for their seed.

Items alone do not know it: another seed moves scores by more than the noise of the items. With several baselines the
variance between trainings is part of every test and margin of the gate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unmask.core.estimate import Value
from unmask.core.types import Floats
from unmask.stats.detectable import ALPHA, standard_error
from unmask.stats.student import quantile
from unmask.stats.units import Units, sampling_error


@dataclass(frozen=True, slots=True)
class TrainingNoise:
    """The variance between trainings over that which their items explain, by statistic and group of items.

    That ratio is known from few trainings. So it is pooled over the bias types of a statistic, and a group's own
    counts where it is larger; it is at least 1. (`tools.gate_rates --trainings` prints the false alarms.)
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
    count = runs.shape[0]
    errors = [sampling_error(each, units) for each in runs - runs.mean(axis=0)]
    known = [error.variance for error in errors if error is not None]
    if not known:
        return 1.0
    explained = float(np.mean(known)) * count / (count - 1)
    return float(np.var(runs.mean(axis=1), ddof=1) / explained)
