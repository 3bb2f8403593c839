"""How well a score follows a known dose: rank correlations, and the smallest dose step it separates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from unmask.core.estimate import Value
from unmask.core.seeds import generator
from unmask.core.types import Floats, Measure, Row
from unmask.stats.bootstrap import percentile_interval, resampled_means
from unmask.stats.compare import change, paired_groups
from unmask.stats.corrections import holm
from unmask.stats.ranks import kendall, kendall_taus, spearman, spearman_rhos
from unmask.stats.table import ScoreTable, item_values

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
    measure: Measure, statistic: str, rows: Mapping[int, Sequence[Row]], *, data: str, seed: int
) -> DoseResponse:
    """Dose response of one statistic; magnitudes (`asld`) are compared with the absolute dose.

    Intervals resample the items, or the words of templates, jointly for all doses.
    """
    doses = tuple(sorted(rows))
    totals, counts = _units([ScoreTable.of(measure, rows[dose], data=data) for dose in doses], statistic)
    trend = expected_trend(doses, statistic)
    with np.errstate(invalid="ignore"):  # nothing scored
        scores = totals.sum(axis=-1) / counts.sum(axis=-1)
    resampled = resampled_means(totals, counts, rng=generator(seed, f"doses {measure.name} {statistic}"))
    unit = "words" if statistic == "appd" else "pairs"
    tau, every = kendall(scores, trend), np.broadcast_to(trend, resampled.shape)
    pairs = _separations(measure, statistic, rows, data=data, seed=seed)
    return DoseResponse(
        measure=measure.name,
        data=data,
        statistic=statistic,
        doses=doses,
        scores=scores,
        errors=(resampled - resampled[:, [int(np.argmin(np.abs(doses)))]]).std(axis=0),
        n=int(counts.sum(axis=-1).max()),
        spearman=percentile_interval(spearman_rhos(resampled, every), spearman(scores, trend), unit),
        kendall=percentile_interval(kendall_taus(resampled, every), tau.value, unit),
        p=tau.p,
        step=smallest_step(pairs),
        n_separated=sum(separated for _, separated in pairs),
        n_tested=len(pairs),
    )


def expected_trend(doses: Sequence[float], statistic: str) -> Floats:
    """What a statistic should increase with: the dose, or its absolute value for an unsigned statistic."""
    values = np.array(doses, dtype=np.float64)
    return np.abs(values) if statistic == "asld" else values


def smallest_step(pairs: Sequence[tuple[int, bool]]) -> int | None:
    """The smallest distance at which all pairs (distance, separated) are separated; None if there is none."""
    unseparated = {distance for distance, separated in pairs if not separated}
    return min({distance for distance, _ in pairs} - unseparated, default=None)


def _separations(
    measure: Measure, statistic: str, rows: Mapping[int, Sequence[Row]], *, data: str, seed: int
) -> list[tuple[int, bool]]:
    """For every two doses, their distance and whether the larger scores significantly higher (Holm)."""
    distances, rises, ps = [], [], []
    for a, b in combinations(sorted(rows, key=lambda dose: expected_trend([dose], statistic)[0]), 2):
        distance = round(float(np.diff(expected_trend([a, b], statistic))[0]))
        if distance:
            _, pair = next(paired_groups(measure, rows[a], rows[b], data=data))
            found = change(pair.restrict_to(statistic), statistic, rng=generator(seed, f"{a} {b}"))
            distances.append(distance)
            rises.append(found.difference.value)
            ps.append(found.p)
    tested = zip(distances, rises, holm(ps), strict=True)
    return [(distance, p is not None and p < LEVEL and rise > 0) for distance, rise, p in tested]


def _units(tables: Sequence[ScoreTable], statistic: str) -> tuple[Floats, Floats]:
    """Sums and counts by dose and unit; a unit is an item, or a word with all its templates."""
    values = np.stack([item_values(table, statistic) for table in tables])
    kept = np.isfinite(values)
    totals, counts = np.where(kept, values, 0.0), kept.astype(np.float64)
    if statistic != "appd":
        return totals, counts
    words = np.unique(tables[0].labels["word"], return_inverse=True)[1]
    belongs = (words[:, None] == np.arange(words.max() + 1)).astype(np.float64)
    return totals @ belongs, counts @ belongs
