"""Compare results, and gate a result against a baseline.

Audits are compared item by item, over the items that both scored. Results of other commands are compared by
their estimates: the interval of a difference is computed from the two intervals (MOVER, Zou & Donner 2008) as
if the estimates were independent, which is on the safe side where both models saw the same items.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from unmask.audit.parquet import rows_of
from unmask.audit.result import AuditResult, load
from unmask.core.errors import ResultError
from unmask.core.estimate import NAN, Estimate
from unmask.core.types import Measure, Row
from unmask.findings.envelope import Result
from unmask.stats import Comparison, GateResult, apply_holm, comparisons
from unmask.stats import gate as gate_measure
from unmask.stats.compare import distance_interval

MOVER = "MOVER"


def compare(
    first: Result | str | Path, *others: Result | str | Path, categories: bool = False, seed: int = 0
) -> tuple[Comparison, ...]:
    """Compare every statistic that a result shares with the first; optionally by category.

    P-values are corrected for the number of comparisons; `run` is the index of the other result.
    """
    a, *rest = (result if isinstance(result, Result) else load(result) for result in (first, *others))
    runs = [(number, _comparisons(a, b, seed)) for number, b in enumerate(rest, start=1)]
    everything = [replace(comparison, run=number) for number, found in runs for comparison in found]
    return apply_holm([each for each in everything if categories or each.group == "all"])


def gate(
    candidate: Result | str | Path,
    baseline: Result | str | Path,
    *,
    measures: Sequence[str] = (),
    tolerance: float = 0.0,
    seed: int = 0,
) -> tuple[GateResult, ...]:
    """Test for each shared measure whether the candidate is significantly worse than the baseline."""
    b, a = (result if isinstance(result, Result) else load(result) for result in (candidate, baseline))
    for name in measures:
        b.require_measure(name)
    if isinstance(a, AuditResult) and isinstance(b, AuditResult):
        results = [
            gate_measure(measure, rows_a, rows_b, data=data, rng_seed=seed, tolerance=tolerance)
            for measure, data, rows_a, rows_b in _shared_rows(a, b)
        ]
    else:
        heads = {estimate for estimate in a.headlines() if estimate.null is not None}
        results = [_gate_estimate(*both, tolerance) for both in _shared_estimates(a, b) if both[0] in heads]
        if not results:
            raise ResultError(
                "the results share no estimate with a null value to gate on: gate results of the same command"
            )
    return tuple(result for result in results if not measures or result.measure in measures)


def _comparisons(a: Result, b: Result, seed: int) -> Iterator[Comparison]:
    if isinstance(a, AuditResult) and isinstance(b, AuditResult):
        for measure, data, rows_a, rows_b in _shared_rows(a, b):
            yield from comparisons(measure, rows_a, rows_b, data=data, rng_seed=seed)
    else:
        for old, new in _shared_estimates(a, b):
            (low, high), change = _mover(old, new), new.value - old.value
            yield Comparison(**_common(old, new), group=old.group, change=change, low=low, high=high, flips=0)


def _shared_rows(a: AuditResult, b: AuditResult) -> Iterator[tuple[Measure, str, list[Row], list[Row]]]:
    """The rows of every measure and dataset that both results share."""
    ours, theirs = rows_of(a.items), rows_of(b.items)
    shared = [key for key in ours if key in theirs]
    if not shared:
        raise ResultError("the results share no measure on the same data: audit both models with the same options")
    for measure, data in shared:
        yield a.measure(measure), data, ours[measure, data], theirs[measure, data]


def _shared_estimates(a: Result, b: Result) -> list[tuple[Estimate, Estimate]]:
    """The estimates of the same quantity; of results about several models, those of the same model."""
    if a.kind != b.kind:
        raise ResultError(f"a {a.kind} and a {b.kind} cannot be compared: give results of the same command")
    theirs = {(estimate.model, estimate.key): estimate for estimate in b.estimates}
    shared = [(one, theirs[one.model, one.key]) for one in a.estimates if (one.model, one.key) in theirs]
    if not shared:
        raise ResultError("the results share no estimate: give results of the same command and options")
    return shared


def _gate_estimate(a: Estimate, b: Estimate, tolerance: float) -> GateResult:
    assert a.null is not None
    worsening = abs(b.value - a.null) - abs(a.value - a.null)
    common, known = _common(a, b), a.has_interval and b.has_interval
    if known:
        mirrored = replace(a, value=2 * a.null - a.value, low=2 * a.null - a.high, high=2 * a.null - a.low)
        low, high = distance_interval(_mover(a, b), _mover(mirrored, b))
    else:  # the noise is unknown: the values decide
        (low, high), common["method"] = (NAN, NAN), "none: an estimate has no interval, the values decide"
    worse = (low if known else worsening) > tolerance
    return GateResult(**common, null=a.null, worsening=worsening, low=low, high=high, tolerance=tolerance, worse=worse)


def _common(a: Estimate, b: Estimate) -> dict[str, Any]:
    """What a comparison and a gate record of two estimates."""
    values = {"a_value": a.value, "b_value": b.value, "n": min(a.n, b.n), "left_out": abs(a.n - b.n)}
    return {"measure": a.measure, "data": a.data, "statistic": a.statistic, **values, "method": MOVER}


def _mover(a: Estimate, b: Estimate) -> tuple[float, float]:
    """The interval of b − a from the intervals of both; NaN if one has none."""
    change = b.value - a.value
    low = change - math.hypot(b.value - b.low, a.high - a.value)
    return low, change + math.hypot(b.high - b.value, a.value - a.low)
