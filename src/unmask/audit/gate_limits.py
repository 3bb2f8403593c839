"""Limits of a gate: for a first run without a baseline, or for what must never be exceeded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from unmask.audit.gate_spec import GateOptions
from unmask.audit.parquet import rows_of
from unmask.audit.result import AuditResult
from unmask.core.estimate import Estimate, Value
from unmask.core.statistic import BALANCED, OF_WORDS
from unmask.core.types import ONE_TRAINING
from unmask.findings.envelope import Result
from unmask.stats.differences import lean_size, word_leans
from unmask.stats.intervals import CROSSED
from unmask.stats.table import HEADLINE_GOALS
from unmask.stats.worsening import Worsening, negative

MORE_IS_BETTER = ("lms", "icat")
OF_SHARES = ("wilson", "newcombe", "score")  # how methods of score intervals begin


def beyond_limits(result: Result, allowed: GateOptions) -> Iterator[Worsening]:
    """How far every limited statistic is beyond its limit, on either side of its reference value."""
    if not allowed.max:
        return
    measures = allowed.measures or [name for name in result.measures() if not result.is_baseline(name)]
    by_name = allowed.max.common is None
    chosen = _without_twins(result.estimates) if by_name else result.headlines()
    limited = [each for each in map(_with_null, chosen) if each.measure in measures and _can_have_limit(each)]
    sized = {(each.measure, each.data) for each in limited if each.statistic.startswith(OF_WORDS)}
    leans = [
        each  # of a result written before audits had the size of words' leans
        for each in limited
        if by_name and isinstance(result, AuditResult) and each.statistic in CROSSED
        if (each.measure, each.data) not in sized
    ]
    names = {each.statistic for each in limited} | {OF_WORDS + each.statistic for each in leans}
    allowed.max.check("max", names)
    for each in limited:
        if (limit := allowed.max.get(each.statistic)) is not None:
            yield _over(each, limit)
    for each in leans:
        if (limit := allowed.max.get(OF_WORDS + each.statistic)) is not None:
            yield _over(_size_of(each, result, allowed.seed), limit)


def _without_twins(estimates: Iterable[Estimate]) -> list[Estimate]:
    """The estimates; of those over all pairs only the ones without a twin that counts both directions alike."""
    found = list(estimates)
    keys = {each.key for each in found}
    return [
        each
        for each in found
        if each.statistic in CROSSED or (*each.key[:-1], f"{BALANCED}{each.statistic}") not in keys
    ]


def _with_null(estimate: Estimate) -> Estimate:
    """The estimate; the size of words' leans has the reference value 0, though no model reaches it."""
    return replace(estimate, null=0.0) if estimate.statistic.startswith(OF_WORDS) else estimate


def _can_have_limit(estimate: Estimate) -> bool:
    """Whether it is about a whole dataset and better the nearer it is to its reference value."""
    return estimate.group == "all" and estimate.null is not None and estimate.statistic not in MORE_IS_BETTER


def _size_of(lean: Estimate, result: Result, seed: int) -> Estimate:
    """The mean absolute lean of a word, of the measure and dataset of a signed lean."""
    rows = [row for row in rows_of(result.items).get((lean.measure, lean.data), ()) if row.groups.get("word")]
    neutral = [row for row in rows if row.groups.get("goal", "") in HEADLINE_GOALS]
    sizes = lean_size(word_leans(neutral, neutral), seed)
    named = {"measure": lean.measure, "data": lean.data, "statistic": OF_WORDS + lean.statistic}
    return Estimate.of(sizes.after, **named, null=0.0, n=sizes.n)


def _over(estimate: Estimate, limit: float) -> Worsening:
    assert estimate.null is not None
    own = Value(estimate.value, estimate.low, estimate.high, estimate.method, df=interval_df(estimate))
    if own.method.endswith(ONE_TRAINING):
        own = Value(own.value, method=ONE_TRAINING)
    signed = _shift(own, -estimate.null)
    allowed = abs(limit - estimate.null)
    return Worsening(
        measure=estimate.measure,
        data=estimate.data,
        statistic=estimate.statistic,
        a_value=limit,
        b_value=estimate.value,
        null=estimate.null,
        amount=_shift(abs(signed), -allowed),
        n=estimate.n,
        ways=((_shift(signed, -allowed),), (_shift(negative(signed), -allowed),)),
        against="limit",
    )


def interval_df(estimate: Estimate) -> float | None:
    """The degrees of freedom of an interval; n − 1 if a mean does not say, as in results written before they did.

    None, a normal quantile: score intervals of independent pairs, whose variance follows from the share.
    """
    if estimate.df is not None or estimate.method.startswith(OF_SHARES) or estimate.n < 2:
        return estimate.df
    return estimate.n - 1.0


def _shift(value: Value, by: float) -> Value:
    return replace(value, value=value.value + by, low=value.low + by, high=value.high + by)
