"""Do measures rank models alike? Kendall's τ over models, as in Kaneko et al. (2022), Table 2.

rows are models, columns are measures: intrinsic before and after fine-tuning, extrinsic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from unmask.core.errors import StatsError
from unmask.core.seeds import generator
from unmask.core.statistic import LEVEL
from unmask.core.types import Floats
from unmask.findings import Finding, Plot, Table, Value
from unmask.stats.agreement import MIN_RANKED, RankAgreement, kendall, kendall_taus
from unmask.stats.bootstrap import RESAMPLES, percentile_interval
from unmask.stats.corrections import holm

Scores = Mapping[str, Mapping[str, float]]  # by model, by measure


@dataclass(frozen=True, slots=True)
class MeasureAgreement:
    """How every two measures rank the models: as numbers, and as a finding."""

    pairs: tuple[RankAgreement, ...]  # those with enough models in common
    p_holm: tuple[float | None, ...]  # of each pair, corrected over all
    finding: Finding


def agreement(
    scores: Scores,
    *,
    against: Sequence[str] | None = None,
    families: Mapping[str, str] | None = None,
    seed: int = 0,
    name: str = "agreement",
) -> MeasureAgreement:
    """Kendall's τ for every two measures, or of each with those `against`; p exact or by permutation, Holm.

    Args:
        scores: by model, by measure; a measure may lack some models.
        against: measures that are compared with all others (the extrinsic ones); None: every two.
        families: by model, the base model it was derived from; the bootstrap resamples whole families.
        seed: seed of the bootstrap over models.
        name: the id of the plot.
    """
    from unmask.findings import charts

    measures = list(dict.fromkeys(measure for by in scores.values() for measure in by))
    if unknown := [measure for measure in against or () if measure not in measures]:
        raise StatsError(f"no measure {unknown[0]!r}: the table has {', '.join(measures)}")
    table = np.array([[by.get(measure, np.nan) for by in scores.values()] for measure in measures], dtype=np.float64)
    owners = np.array([families[model] if families else model for model in scores])
    pairs = list(combinations(range(len(measures)), 2))
    if against is not None:
        others = [at for at, measure in enumerate(measures) if measure not in against]
        pairs = list(product(others, map(measures.index, against)))
    results = []
    for a, b in pairs:
        result = compare_measures(measures[a], measures[b], table[a], table[b], owners, seed=seed)
        results += [result] if result is not None else []
    if not results:
        raise StatsError(f"no two measures have {MIN_RANKED} models in common: a ranking needs at least that many")
    adjusted = tuple(holm([result.test.p for result in results]))
    result_table = Table(
        "Models ranked by two measures",
        ("measure", "other", "τ", "models", "p", "p Holm", "test"),
        tuple(
            (result.a, result.b, result.tau, result.n, result.test.p, p, result.test.method)
            for result, p in zip(results, adjusted, strict=True)
        ),
        "τ-b: 1 is the same order, −1 the reverse, 0 no relation. Interval: models resampled, so it "
        "holds for models like these; with few models it is wide. p Holm: over all rows.",
    )
    grid = [{"x": result.a, "y": result.b, "value": result.tau.value} for result in results]
    if against is None:
        grid += [{"x": result.b, "y": result.a, "value": result.tau.value} for result in results]
        grid += [{"x": measure, "y": measure, "value": 1.0} for measure in measures]
    description = "Grid of Kendall's τ between measures over models, from −1 (reverse order) to 1 (same order)."
    plot = Plot(name, "Agreement of measures", description, charts.grid(grid, low=-1.0, high=1.0))
    significant = sum(p is not None and p < LEVEL for p in adjusted)
    alike = f"{significant} of {len(results)} pairs of measures rank them alike (p Holm < {LEVEL})"
    answer = f"{len(scores)} models: {alike}"
    return MeasureAgreement(tuple(results), adjusted, Finding((answer,), (result_table,), (plot,)))


def compare_measures(
    a: str, b: str, x: Floats, y: Floats, families: NDArray[np.str_], *, seed: int
) -> RankAgreement | None:
    """Compare two measures over the models both have; None if too few. Families are resampled whole."""
    both = np.isfinite(x) & np.isfinite(y)
    if both.sum() < MIN_RANKED:
        return None
    x, y = x[both], y[both]
    names, family = np.unique(families[both], return_inverse=True)
    resampled = generator(seed, f"{a}/{b}").integers(0, names.size, size=(RESAMPLES, names.size))
    weights = (resampled[:, :, None] == np.arange(names.size)).sum(axis=1)[:, family].astype(np.float64)
    test = kendall(x, y)
    unit = "models" if names.size == x.size else "families of models"
    tau = (
        percentile_interval(kendall_taus(x, y, weights), test.value, unit)
        if names.size >= MIN_RANKED
        else Value(test.value, method=f"none: {names.size} {unit} are too few to resample")
    )
    return RankAgreement(a, b, tau, test, int(x.size))
