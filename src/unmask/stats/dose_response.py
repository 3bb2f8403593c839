"""How well a score follows a known dose: rank correlations, and the smallest dose step it separates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from unmask.core.estimate import Value
from unmask.core.seeds import generator
from unmask.core.types import Floats, Measure, Row
from unmask.stats.bootstrap import percentile_interval, resampled_items
from unmask.stats.compare import change, paired_groups
from unmask.stats.corrections import holm
from unmask.stats.means import without_interval
from unmask.stats.ranks import kendall, kendall_taus, spearman, spearman_rhos
from unmask.stats.table import ScoreTable, item_values
from unmask.stats.units import MIN_CROSSED, Units

LEVEL = 0.05


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
            _, pair = next(paired_groups(measure, rows[a], rows[b], data=data, independent=independent))
            found = change(pair.restrict_to(statistic), statistic, rng=generator(seed, f"{a} {b}"))
            distances.append(distance)
            rises.append(found.difference.value)
            ps.append(found.p)
    tested = zip(distances, rises, holm(ps), strict=True)
    return [(distance, p is not None and p < LEVEL and rise > 0) for distance, rise, p in tested]
