"""Correction for multiple tests: Holm (1979), false discovery rates, and which tests are one family.

The headlines of one dataset, one for each measure, are a family; so are the categories of one statistic of one measure.
Every output reads `p_holm`, which is set here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from unmask.core.estimate import Estimate
from unmask.core.types import Floats


def holm(ps: Sequence[float | None]) -> tuple[float | None, ...]:
    """Holm-adjusted p-values in the given order; None stays None and does not count.

    Implemented here because statsmodels' `multipletests`, which gives the same values, runs a full garbage
    collection on every call: 60 ms, and several times that with a model loaded.
    """
    tested = np.array([p for p in ps if p is not None])
    order = np.argsort(tested)
    adjusted = np.empty_like(tested)
    adjusted[order] = np.minimum(np.maximum.accumulate(tested[order] * np.arange(tested.size, 0, -1)), 1.0)
    values = iter(adjusted.tolist())
    return tuple(None if p is None else next(values) for p in ps)


def false_discovery_rates(ps: Floats) -> Floats:
    """The p-values corrected by Benjamini and Hochberg (1995); NaN stays NaN and does not count."""
    from scipy.stats import false_discovery_control

    rates, known = np.full(ps.shape, np.nan), np.isfinite(ps)
    if known.any():
        rates[known] = false_discovery_control(ps[known])
    return rates


def correct_categories(estimates: Sequence[Estimate]) -> tuple[Estimate, ...]:
    """The estimates with `p_holm` set for categories; each statistic is one family of tests."""
    corrected = list(estimates)
    categories = [i for i, estimate in enumerate(estimates) if estimate.group.startswith("category=")]
    for statistic in {estimate.statistic for estimate in estimates}:
        family = [i for i in categories if estimates[i].statistic == statistic]
        for i, p in zip(family, holm([estimates[i].p for i in family]), strict=True):
            corrected[i] = replace(estimates[i], p_holm=p)
    return tuple(corrected)


def correct_headlines(estimates: Sequence[Estimate], baselines: Collection[str]) -> tuple[Estimate, ...]:
    """The estimates with `p_holm` set for headlines: those of all measures on one dataset are one family of tests.

    A headline is the first estimate of a measure on a dataset. Baselines and numbers without a reference value are not
    tested.
    """
    corrected = list(estimates)
    families: dict[tuple[str, str], dict[str, int]] = {}  # by model and dataset: the index of each measure's headline
    for i, estimate in enumerate(estimates):
        families.setdefault((estimate.model, estimate.data), {}).setdefault(estimate.measure, i)
    for family in families.values():
        tested = [i for name, i in family.items() if name not in baselines and estimates[i].null is not None]
        for i, p in zip(tested, holm([estimates[i].p for i in tested]), strict=True):
            corrected[i] = replace(estimates[i], p_holm=p)
    return tuple(corrected)
