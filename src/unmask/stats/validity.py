"""Validity of scores on models whose doses of bias are known: does a score follow the dose of its own bias type?

Convergent validity is the correlation with that dose, discriminant validity that with the doses of other bias types
(Campbell and Fiske 1959). Both are over models, which are what is resampled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import pearsonr

from unmask.core.errors import StatsError
from unmask.core.estimate import NAN, Value
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.stats.bootstrap import NO_SPREAD, bootstrap_value
from unmask.stats.dose_response import expected_trend
from unmask.stats.generalizability import g_study
from unmask.stats.regression import correlation
from unmask.stats.table import ScoreTable, item_values

FEWEST = 4  # models for an interval


@dataclass(frozen=True, slots=True)
class Validity:
    """One statistic of one measure over the items of one bias type, by model."""

    measure: str
    statistic: str
    data: str
    axis: str
    scores: Floats  # one for each model
    items: int  # scored by every model
    own: Value  # correlation with the dose of its axis
    others: Mapping[str, Value]  # with those of the other axes
    margin: Value  # own correlation minus the largest other in size
    reliability: Value  # of the ranking of the models, over items
    mean_difference: Mapping[str, float]  # by item, over all models

    @property
    def follows(self) -> bool:
        """Whether the score rises with the dose of its own axis, beyond chance."""
        return self.own.excludes(0.0) and self.own.value > 0

    @property
    def is_specific(self) -> bool:
        """Whether it follows its own axis's dose more than any other's, beyond chance; with one axis it need not."""
        return not self.others or (self.margin.excludes(0.0) and self.margin.value > 0)


def validity(
    tables: Sequence[ScoreTable], statistic: str, doses: Mapping[str, Sequence[float]], *, axis: str, seed: int
) -> Validity | None:
    """A table of scores on the items of `axis` and a dose for each model; None where no item is scored by all."""
    measure, data = tables[0].measure.name, tables[0].data
    values = np.stack([item_values(table, statistic) for table in tables])
    kept = np.isfinite(values).all(axis=0)
    if not kept.any():
        return None
    scores = values[:, kept].mean(axis=1)
    trends = {name: expected_trend(each, statistic) for name, each in doses.items()}
    others = {name: trend for name, trend in trends.items() if name != axis}
    rng = generator(seed, f"validity {measure} {statistic} {data} {axis}")
    differences = np.stack([table.difference for table in tables])[:, kept].mean(axis=0)
    return Validity(
        *(measure, statistic, data, axis, scores, int(kept.sum())),
        own=correlation([trends[axis]], [scores]),
        others={name: correlation([trend], [scores]) for name, trend in others.items()},
        margin=_margin(scores, trends[axis], [*others.values()], rng=rng),
        reliability=_reliability(values[:, kept], seed),
        mean_difference=dict(zip(tables[0].items[kept].tolist(), differences.tolist(), strict=True)),
    )


def _margin(scores: Floats, own: Floats, others: Sequence[Floats], *, rng: np.random.Generator) -> Value:
    """How much larger the correlation with the own dose is than the largest, in size, with another."""
    if not others or np.ptp(scores) == 0 or any(np.ptp(dose) == 0 for dose in (own, *others)):
        return Value(NAN, method=NO_SPREAD if others else "none: one axis")

    def statistic(scored: Floats, first: Floats, *rest: Floats, axis: int = -1) -> Floats:
        strongest = np.max([np.abs(pearsonr(scored, dose, axis=axis).statistic) for dose in rest], axis=0)
        return np.asarray(pearsonr(scored, first, axis=axis).statistic - strongest)

    value = float(statistic(scores, own, *others))
    if scores.size < FEWEST:
        return Value(value, method=f"too few: {scores.size} models")
    return bootstrap_value(value, (scores, own, *others), statistic, rng=rng, unit="models")


def _reliability(values: Floats, seed: int) -> Value:
    try:
        study = g_study(values[:, :, None], seed=seed)
    except StatsError as error:
        return Value(NAN, method=f"none: {error}")
    return study.reliability(values.shape[1], 1)
