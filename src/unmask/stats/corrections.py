"""Correction for asking many questions at once: Holm (1979)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from statsmodels.stats.multitest import multipletests

from unmask.types import Estimate


def holm(ps: Sequence[float | None]) -> tuple[float | None, ...]:
    """Holm's adjusted p-values, in place; None stays None and does not count."""
    tested = [p for p in ps if p is not None]
    if not tested:
        return tuple(ps)
    adjusted = iter(multipletests(tested, method="holm")[1].tolist())
    return tuple(None if p is None else next(adjusted) for p in ps)


def over_categories(estimates: Sequence[Estimate]) -> tuple[Estimate, ...]:
    """The same estimates, `p_holm` filled in for the categories: each statistic is one family."""
    corrected = dict(enumerate(estimates))
    for statistic in {estimate.statistic for estimate in estimates}:
        family = [
            i
            for i, estimate in enumerate(estimates)
            if estimate.statistic == statistic and estimate.group.startswith("category=")
        ]
        for i, p in zip(family, holm([estimates[i].p for i in family]), strict=True):
            corrected[i] = replace(estimates[i], p_holm=p)
    return tuple(corrected.values())
