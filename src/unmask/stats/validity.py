"""Validity of scores on models whose doses of bias are known: does a score follow the dose of its own bias type?

Of one model at several doses: rank correlations with the dose, and the smallest dose step that the score separates.

Of many models: convergent validity is the correlation with the dose of the own bias type, discriminant validity that
with the doses of other bias types (Campbell and Fiske 1959). Both the models and the items are samples, so the
intervals are over both: with the items fixed, scores whose items follow the dose by chance, up or down, would look as
if they followed it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from unmask.core.errors import StatsError
from unmask.core.estimate import NAN, Value
from unmask.core.seeds import generator
from unmask.core.statistic import LEVEL
from unmask.core.types import Floats, Measure, Row
from unmask.stats.agreement import kendall, kendall_taus, spearman, spearman_rhos
from unmask.stats.bootstrap import percentile_interval, resampled_items
from unmask.stats.corrections import holm
from unmask.stats.generalizability import g_study
from unmask.stats.intervals import mover_interval, student_ends, without_interval
from unmask.stats.paired import change, paired_groups
from unmask.stats.regression import correlation
from unmask.stats.table import ScoreTable, item_values
from unmask.stats.units import MIN_CROSSED, Units, sampling_error


@dataclass(frozen=True, slots=True)
class DoseResponse:
    """One statistic of one measure at every dose, in ascending order, and how well it follows the dose."""

    measure: str
    data: str
    statistic: str
    doses: tuple[int, ...]
    scores: Floats
    errors: Floats  # standard errors of each score minus that of the middle dose
    n: int  # items
    spearman: Value
    kendall: Value
    p: float | None  # of Kendall's τ
    step: int | None  # smallest distance at which all doses are separated; None if there is none
    n_separated: int  # pairs of doses significantly different in the right order
    n_tested: int

    @property
    def middle(self) -> int:
        """Index of the dose nearest to zero."""
        return int(np.argmin(np.abs(self.doses)))


def dose_response(
    measure: Measure,
    statistic: str,
    rows: Mapping[int, Sequence[Row]],
    *,
    data: str,
    seed: int,
    independent: bool = False,
) -> DoseResponse:
    """Dose response of one statistic; magnitudes (`asld`) are compared with the absolute dose.

    Intervals resample the units of the items, words and templates both, jointly for all doses.
    """
    doses = tuple(sorted(rows))
    tables = [ScoreTable.of(measure, rows[dose], data=data, independent=independent) for dose in doses]
    values, units = np.stack([item_values(table, statistic) for table in tables]), tables[0].units
    trend, counts = expected_trend(doses, statistic), np.isfinite(values).sum(axis=-1)
    with np.errstate(invalid="ignore"):  # nothing scored
        scores = np.where(np.isfinite(values), values, 0.0).sum(axis=-1) / counts
    resampled = resampled_items(values, units, rng=generator(seed, f"doses {measure.name} {statistic}"))
    tau, every = kendall(scores, trend), np.broadcast_to(trend, resampled.shape)
    pairs = _separations(measure, statistic, rows, data=data, seed=seed, independent=independent)
    return DoseResponse(
        measure=measure.name,
        data=data,
        statistic=statistic,
        doses=doses,
        scores=scores,
        errors=(resampled - resampled[:, [int(np.argmin(np.abs(doses)))]]).std(axis=0),
        n=int(counts.max()),
        spearman=_interval(spearman_rhos(resampled, every), spearman(scores, trend), units),
        kendall=_interval(kendall_taus(resampled, every), tau.value, units),
        p=tau.p,
        step=smallest_step(pairs),
        n_separated=sum(separated for _, separated in pairs),
        n_tested=len(pairs),
    )


def _interval(resampled: Floats, value: float, units: Units) -> Value:
    """A rank correlation with the middle 95% of the resampled ones; without interval for too few units."""
    if units.codes and min(units.counts) < (MIN_CROSSED if len(units.codes) == 2 else 2):
        return Value(value, method=without_interval(units), unit=units.tag)
    return replace(percentile_interval(resampled, value, units.label or "pairs"), unit=units.tag)


def expected_trend(doses: Sequence[float], statistic: str) -> Floats:
    """What a statistic should increase with: the dose, or its absolute value for an unsigned statistic."""
    values = np.array(doses, dtype=np.float64)
    return np.abs(values) if statistic == "asld" else values


def smallest_step(pairs: Sequence[tuple[int, bool]]) -> int | None:
    """The smallest distance at which all pairs (distance, separated) are separated; None if there is none."""
    unseparated = {distance for distance, separated in pairs if not separated}
    return min({distance for distance, _ in pairs} - unseparated, default=None)


def _separations(
    measure: Measure, statistic: str, rows: Mapping[int, Sequence[Row]], *, data: str, seed: int, independent: bool
) -> list[tuple[int, bool]]:
    """For every two doses, their distance and whether the larger scores significantly higher (Holm)."""
    distances, rises, ps = [], [], []
    for a, b in combinations(sorted(rows, key=lambda dose: expected_trend([dose], statistic)[0]), 2):
        distance = round(float(np.diff(expected_trend([a, b], statistic))[0]))
        if distance:
            whole = next(paired_groups(measure, rows[a], rows[b], data=data, independent=independent))
            found = change(whole.restrict_to(statistic), rng=generator(seed, f"{a} {b}"))
            distances.append(distance)
            rises.append(found.difference.value)
            ps.append(found.p)
    tested = zip(distances, rises, holm(ps), strict=True)
    return [(distance, p is not None and p < LEVEL and rise > 0) for distance, rise, p in tested]


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
    kept = np.asarray(np.isfinite(values).all(axis=0))
    if not kept.any():
        return None
    values, units = values[:, kept], tables[0].take(kept).units
    correlations = {
        name: dose_correlation(values, expected_trend(each, statistic), units) for name, each in doses.items()
    }
    own = correlations.pop(axis)
    differences = np.stack([table.difference for table in tables])[:, kept].mean(axis=0)
    return Validity(
        *(measure, statistic, data, axis, values.mean(axis=1), int(kept.sum())),
        own=own,
        others=correlations,
        margin=dose_margin(own, correlations.values()),
        reliability=_reliability(values, seed),
        mean_difference=dict(zip(tables[0].items[kept].tolist(), differences.tolist(), strict=True)),
    )


def dose_correlation(values: Floats, dose: Floats, units: Units) -> Value:
    """Pearson's r of the models' mean scores (rows of `values`, a column an item) with the dose, over models and items.

    Over models it is Fisher's z with the jackknife error. Over items it is Student's interval of the mean of the
    items' slopes on the dose, in units of the scatter of the models about the line, which has the same zero as r. On
    the scale of z the squared distances of the ends from r are added, as Newcombe (1998) combines two intervals, after
    the part of the slopes' variance that is noise of single scores, which the first has too; the interval is never
    shorter than either.
    """
    over_models = correlation([dose], [values.mean(axis=1)])
    if not over_models.has_interval:
        return Value(over_models.value, method=over_models.method.replace("items", "models"))
    centred, deviations = dose - dose.mean(), values - values.mean(axis=0)
    squares = float(centred @ centred)
    slopes = centred @ deviations / squares
    error = sampling_error(slopes, units)
    if error is None:
        return Value(over_models.value, method=f"over items: {without_interval(units)}")
    residuals = deviations - np.outer(centred, slopes)
    common = residuals.mean(axis=1)  # of a model, on all items
    scatter, rest = math.sqrt(float(common @ common) / squares), residuals - common[:, None]
    noise = float((rest**2).sum()) / squares / ((dose.size - 2) * (slopes.size - 1))
    ends = np.array(student_ends(float(slopes.mean()), error))
    inner = slopes.mean() + (ends - slopes.mean()) * math.sqrt(max(0.0, 1 - noise / float(slopes.var(ddof=1))))
    z = math.atanh(over_models.value)
    by_model, by_item, by_item_alone = (
        np.abs(part - z)
        for part in (
            np.arctanh([over_models.low, over_models.high]),
            np.arcsinh(inner / scatter),
            np.arcsinh(ends / scatter),
        )
    )
    below, above = np.maximum(np.hypot(by_model, by_item), by_item_alone).tolist()
    method = f"{over_models.method} over models, Student's t over {units.label or 'items'}"
    return Value(over_models.value, math.tanh(z - below), math.tanh(z + above), method, unit=units.tag)


def dose_margin(own: Value, others: Iterable[Value]) -> Value:
    """How much larger the correlation with the own dose is than the largest, in size, with another.

    Its lower end is the lowest of the differences from each other dose, so that it exceeds 0 only if they all do; each
    difference has the ends of Newcombe (1998), as of independent correlations. If another is not known to differ from
    0 in size, the upper end is that of the own correlation.
    """
    sizes = [abs(other) for other in others]
    if not sizes:
        return Value(NAN, method="none: one axis")
    value = own.value - max(size.value for size in sizes)
    if not all(each.has_interval for each in (own, *sizes)):
        return Value(value, method=next(each.method for each in (own, *sizes) if not each.has_interval))
    differences = [mover_interval(size, own) for size in sizes]
    low = min(each.low for each in differences)
    high = min(each.high if size.low > 0 else own.high for each, size in zip(differences, sizes, strict=True))
    return Value(value, low, high, own.method, unit=own.unit).widen()


def _reliability(values: Floats, seed: int) -> Value:
    try:
        study = g_study(values[:, :, None], seed=seed)
    except StatsError as error:
        return Value(NAN, method=f"none: {error}")
    return study.reliability(values.shape[1], 1)
