"""Compare results with each other.

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
from unmask.core.estimate import Estimate
from unmask.core.options import MAX_SEED, check_number
from unmask.core.types import Measure, Row
from unmask.data.occupations import with_usual_gender
from unmask.findings.envelope import Result
from unmask.stats.paired import Comparison, apply_holm, comparisons
from unmask.stats.worsening import Allowance, GateVerdict, decide, worsenings

MOVER = "MOVER"
Shared = tuple[Measure, str, list[Row], list[Row]]  # a measure, a dataset, and its rows in both results


def compare(
    first: Result | str | Path,
    *others: Result | str | Path,
    categories: bool = False,
    seed: int = 0,
    independent: bool = False,
) -> tuple[Comparison, ...]:
    """Compare every statistic that a result shares with the first; optionally by category.

    P-values are corrected for the number of tests over all items, and for that by category. Not tested are baselines,
    and of most pairs in one direction the mean over all of them. `run` is the index of the other result. Intervals and
    tests are over the unit that items share, such as the writer; with `independent`, over pairs.
    """
    check_number("seed", seed, least=0, most=MAX_SEED)
    a, *rest = (result if isinstance(result, Result) else load(result) for result in (first, *others))
    runs = [(number, _comparisons(a, b, seed, independent=independent)) for number, b in enumerate(rest, start=1)]
    everything = [replace(comparison, run=number) for number, found in runs for comparison in found]
    corrected = apply_holm(everything, _family)
    return tuple(comparison for comparison in corrected if categories or comparison.group == "all")


def _family(comparison: Comparison) -> str:
    """The tests that it is corrected with: those over all items, or those by category."""
    if not comparison.tested:
        return ""
    return "all" if comparison.group == "all" else "category"


def _comparisons(a: Result, b: Result, seed: int, *, independent: bool) -> Iterator[Comparison]:
    if isinstance(a, AuditResult) and isinstance(b, AuditResult):
        shared = list(_shared_rows(a, b))
        verdicts = _verdicts([each for each in shared if not a.is_baseline(each[0].name)], seed, independent)
        for measure, data, rows_a, rows_b in shared:
            found = comparisons(measure, rows_a, rows_b, data=data, rng_seed=seed, independent=independent)
            for comparison in found:
                tested = comparison.tested and not a.is_baseline(measure.name)
                verdict = verdicts.get((measure.name, data, comparison.statistic, comparison.group))
                judged = (
                    comparison if verdict is None else replace(comparison, answer=verdict.answer, least=verdict.least)
                )
                yield replace(judged, tested=tested)
    else:
        for old, new in shared_estimates(a, b):
            (low, high), change = mover_interval(old, new), new.value - old.value
            yield Comparison(**common_fields(old, new), group=old.group, change=change, low=low, high=high, flips=0)


def _verdicts(shared: Sequence[Shared], seed: int, independent: bool) -> dict[tuple[str, str, str, str], GateVerdict]:
    """What a gate with its defaults says, by measure, dataset, statistic and group: a comparison says the same."""
    found = [
        worsening
        for measure, data, a, b in shared
        if measure.null is not None or measure.summary == "icat"  # without a reference value nothing is worse
        for worsening in worsenings(measure, [a], b, data=data, rng_seed=seed, independent=independent)
    ]
    verdicts = decide(found, [Allowance()] * len(found))
    return {(each.measure, each.data, each.statistic, each.group): each for each in verdicts}


def comparable_rows(result: AuditResult) -> dict[tuple[str, str], list[Row]]:
    """The rows by measure and dataset; those of templates about men and women with the usual gender of their word."""
    own = {card.get("name") for card in result.meta.get("data") or () if card.get("sides")}
    by_key = rows_of(result.items).items()
    return {(name, data): rows if data in own else with_usual_gender(rows) for (name, data), rows in by_key}


def _shared_rows(a: AuditResult, b: AuditResult) -> Iterator[Shared]:
    """The rows of every measure and dataset that both results share."""
    ours, theirs = comparable_rows(a), comparable_rows(b)
    shared = [key for key in ours if key in theirs]
    if not shared:
        raise ResultError("the results share no measure on the same data: audit both models with the same options")
    for measure, data in shared:
        yield a.measure(measure), data, ours[measure, data], theirs[measure, data]


def shared_estimates(a: Result, b: Result) -> list[tuple[Estimate, Estimate]]:
    """The estimates of the same quantity; of results about several models, those of the same model."""
    if a.kind != b.kind:
        raise ResultError(f"a {a.kind} and a {b.kind} cannot be compared: give results of the same command")
    theirs = {(estimate.model, estimate.key): estimate for estimate in b.estimates}
    shared = [(one, theirs[one.model, one.key]) for one in a.estimates if (one.model, one.key) in theirs]
    if not shared:
        raise ResultError("the results share no estimate: give results of the same command and options")
    return shared


def common_fields(a: Estimate, b: Estimate) -> dict[str, Any]:
    """What a comparison and a gate record of two estimates."""
    values = {"a_value": a.value, "b_value": b.value, "n": min(a.n, b.n), "left_out": abs(a.n - b.n)}
    return {"measure": a.measure, "data": a.data, "statistic": a.statistic, **values, "method": MOVER}


def mover_interval(a: Estimate, b: Estimate) -> tuple[float, float]:
    """The interval of b − a from the intervals of both; NaN if one has none."""
    change = b.value - a.value
    low = change - math.hypot(b.value - b.low, a.high - a.value)
    return low, change + math.hypot(b.high - b.value, a.value - a.low)
