"""Does a score follow a known dose? Rank correlations with it, and the smallest step that is told apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from unmask.core.types import Floats, Measure, Row
from unmask.stats.bootstrap import Interval, generator
from unmask.stats.corrections import holm
from unmask.stats.crossed import crossed_mean
from unmask.stats.items import item_values
from unmask.stats.means import mean, mean_test
from unmask.stats.pairing import PairedRuns, paired_groups
from unmask.stats.ranks import (
    RankTest,
    kendall,
    kendall_taus,
    percentile_interval,
    resampled_means,
    spearman,
    spearman_rhos,
)
from unmask.stats.shares import sign_test
from unmask.stats.table import ScoreTable

LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class DoseResponse:
    """One statistic of one measure at every dose, in rising order, and how well it follows them."""

    measure: str
    data: str
    statistic: str
    doses: tuple[int, ...]
    scores: Floats
    errors: Floats  # standard errors of each score less the middle dose's
    n: int  # items
    spearman: float
    spearman_interval: Interval
    kendall: RankTest
    kendall_interval: Interval
    step: int | None  # the smallest distance at which all doses are told apart; None: no distance
    n_separated: int  # pairs of doses told apart in the right order
    n_tested: int

    @property
    def middle(self) -> int:
        """Where the dose nearest to zero stands."""
        return int(np.argmin(np.abs(self.doses)))


def dose_response(
    measure: Measure, statistic: str, rows: Mapping[int, Sequence[Row]], *, data: str, seed: int
) -> DoseResponse:
    """What one statistic makes of the rows of every dose; sizes (`asld`) are held against the dose's size.

    Intervals resample the items, or the words of templates, for all doses together.
    """
    doses = tuple(sorted(rows))
    totals, counts = _units([ScoreTable.of(measure, rows[dose], data=data) for dose in doses], statistic)
    aim = expected_trend(doses, statistic)
    with np.errstate(invalid="ignore"):  # nothing scored
        scores = totals.sum(axis=-1) / counts.sum(axis=-1)
    drawn = resampled_means(totals, counts, rng=generator(seed, f"doses {measure.name} {statistic}"))
    unit = "words" if statistic == "appd" else "pairs"
    rho, tau = spearman(scores, aim), kendall(scores, aim)
    apart = _told(measure, statistic, rows, data=data, seed=seed)
    return DoseResponse(
        measure=measure.name,
        data=data,
        statistic=statistic,
        doses=doses,
        scores=scores,
        errors=(drawn - drawn[:, [int(np.argmin(np.abs(doses)))]]).std(axis=0),
        n=int(counts.sum(axis=-1).max()),
        spearman=rho,
        spearman_interval=percentile_interval(
            spearman_rhos(drawn, np.broadcast_to(aim, drawn.shape)), rho, unit
        ),
        kendall=tau,
        kendall_interval=percentile_interval(
            kendall_taus(drawn, np.broadcast_to(aim, drawn.shape)), tau.value, unit
        ),
        step=smallest_step(apart),
        n_separated=sum(separated for _, separated in apart),
        n_tested=len(apart),
    )


def expected_trend(doses: Sequence[int], statistic: str) -> Floats:
    """What a statistic should rise with: the dose, or its size where the statistic has no direction."""
    values = np.array(doses, dtype=np.float64)
    return np.abs(values) if statistic == "asld" else values


def smallest_step(apart: Sequence[tuple[int, bool]]) -> int | None:
    """Of (distance, told apart) the smallest distance at which all are; None where there is none."""
    distances = sorted({distance for distance, _ in apart})
    whole = [one for one in distances if all(told for distance, told in apart if distance == one)]
    return whole[0] if whole else None


def _told(
    measure: Measure, statistic: str, rows: Mapping[int, Sequence[Row]], *, data: str, seed: int
) -> list[tuple[int, bool]]:
    """For every two doses their distance, and whether the larger one scores higher beyond chance (Holm)."""
    distances, rises, ps = [], [], []
    for a, b in combinations(sorted(rows, key=lambda dose: expected_trend([dose], statistic)[0]), 2):
        distance = round(float(np.diff(expected_trend([a, b], statistic))[0]))
        if distance:
            _, pair = next(paired_groups(measure, rows[a], rows[b], data=data))
            rise, p = _change(pair.restrict_to(statistic), statistic, rng=generator(seed, f"{a} {b}"))
            distances.append(distance)
            rises.append(rise)
            ps.append(p)
    return [
        (distance, p is not None and p < LEVEL and rise > 0)
        for distance, rise, p in zip(distances, rises, holm(ps), strict=True)
    ]


def _change(pair: PairedRuns, statistic: str, *, rng: np.random.Generator) -> tuple[float, float | None]:
    """How much higher the second dose scores, and the p-value `unmask compare` would give."""
    first, second = pair.values(statistic)
    rise = mean(second - first)
    if statistic == "bias-score":  # McNemar's exact test is the sign test of the pairs that flipped
        return rise, sign_test(int((second > first).sum()), int((second < first).sum()))
    if statistic == "appd":
        return rise, crossed_mean(second - first, pair.a, rng=rng)[1]
    return rise, mean_test(second - first, 0.0)


def _units(tables: Sequence[ScoreTable], statistic: str) -> tuple[Floats, Floats]:
    """Sums and counts by dose and unit: an item, or a word with all its templates."""
    values = np.stack([item_values(table, statistic) for table in tables])
    kept = np.isfinite(values)
    totals, counts = np.where(kept, values, 0.0), kept.astype(np.float64)
    if statistic != "appd":
        return totals, counts
    words = np.unique(tables[0].labels["word"], return_inverse=True)[1]
    belongs = (words[:, None] == np.arange(words.max() + 1)).astype(np.float64)
    return totals @ belongs, counts @ belongs
