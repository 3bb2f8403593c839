"""Do measures rank models alike? Kendall's τ over models, as in Kaneko et al. (2022), Table 2.

rows are models, columns are measures: intrinsic before and after fine-tuning, extrinsic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from unmask.core.errors import StatsError
from unmask.core.types import Floats
from unmask.findings import Cell, Finding, Plot, Table, Value
from unmask.stats.bootstrap import RESAMPLES, generator, no_interval
from unmask.stats.corrections import holm
from unmask.stats.ranks import MIN_RANKED, RankAgreement, kendall, kendall_taus, percentile_interval

Scores = Mapping[str, Mapping[str, float]]  # by model, by measure


def agreement(
    scores: Scores,
    *,
    against: Sequence[str] | None = None,
    families: Mapping[str, str] | None = None,
    seed: int = 0,
    name: str = "agreement",
) -> Finding:
    """τ for every two measures, or of each with those `against`; p exact or by permutation, Holm over all.

    Args:
        scores: by model, by measure; a measure may lack some models.
        against: measures that are set against all others (the extrinsic ones); None: every two.
        families: of each model, what it was made from: what is alike for that reason is drawn together.
        seed: of the bootstrap over models.
        name: the id of the plot.
    """
    from unmask.findings import charts

    measures = list(dict.fromkeys(measure for by in scores.values() for measure in by))
    strange = [one for one in against or () if one not in measures]
    if strange:
        raise StatsError(f"no measure {strange[0]!r}: the table has {', '.join(measures)}")
    table = np.array(
        [[by.get(measure, np.nan) for by in scores.values()] for measure in measures], dtype=np.float64
    )
    owners = np.array([families[model] if families else model for model in scores])
    found = []
    for a, b in _couples(measures, against):
        one = compare_measures(measures[a], measures[b], table[a], table[b], owners, seed=seed)
        found += [one] if one is not None else []
    if not found:
        raise StatsError(
            f"no two measures have {MIN_RANKED} models in common: a ranking needs as many at least"
        )
    adjusted = holm([one.test.p for one in found])
    rows: list[tuple[Cell, ...]] = [
        (one.a, one.b, _ranged(one), one.n, one.test.p, p, one.test.method)
        for one, p in zip(found, adjusted, strict=True)
    ]
    shown = Table(
        "Models ranked by two measures",
        ("measure", "other", "τ", "models", "p", "p Holm", "test"),
        tuple(rows),
        "τ-b: 1 is the same order, −1 the reverse, 0 no relation. Interval: models drawn anew, so it speaks "
        "of models like these; with few it is wide. p Holm: over all rows.",
    )
    grid = [{"x": one.a, "y": one.b, "value": one.test.value} for one in found]
    if against is None:
        grid += [{"x": one.b, "y": one.a, "value": one.test.value} for one in found]
        grid += [{"x": measure, "y": measure, "value": 1.0} for measure in measures]
    told = "Grid of Kendall's τ between measures over models, from −1 (reverse order) to 1 (same order)."
    plot = Plot(name, "Agreement of measures", told, charts.grid(grid, low=-1.0, high=1.0))
    sure = sum(p is not None and p < 0.05 for p in adjusted)
    answer = (
        f"{len(scores)} models: {sure} of {len(found)} couples of measures rank them alike (p Holm < 0.05)"
    )
    return Finding((answer,), (shown,), (plot,))


def compare_measures(
    a: str, b: str, x: Floats, y: Floats, owners: NDArray[np.str_], *, seed: int
) -> RankAgreement | None:
    """Two measures over the models both have; None where those are too few. Owners are drawn whole."""
    both = np.isfinite(x) & np.isfinite(y)
    if both.sum() < MIN_RANKED:
        return None
    x, y = x[both], y[both]
    names, owner = np.unique(owners[both], return_inverse=True)
    drawn = generator(seed, f"{a}/{b}").integers(0, names.size, size=(RESAMPLES, names.size))
    times = (drawn[:, :, None] == np.arange(names.size)).sum(axis=1)[:, owner].astype(np.float64)
    test = kendall(x, y)
    unit = "models" if names.size == x.size else "families of models"
    interval = (
        percentile_interval(kendall_taus(x, y, times), test.value, unit)
        if names.size >= MIN_RANKED
        else no_interval(f"none: {names.size} {unit} are too few to draw from")
    )
    return RankAgreement(a, b, test, interval, int(x.size))


def _couples(measures: Sequence[str], against: Sequence[str] | None) -> list[tuple[int, int]]:
    places = range(len(measures))
    if against is None:
        return list(combinations(places, 2))
    others = [at for at in places if measures[at] not in against]
    return [(a, measures.index(b)) for a, b in product(others, against)]


def _ranged(one: RankAgreement) -> Value:
    return Value(one.test.value, one.interval.low, one.interval.high, one.interval.method)
