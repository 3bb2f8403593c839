"""Gate a result: is it worse than a baseline, or beyond a limit? Audits item by item, other results by estimates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from unmask.audit.compare import common_fields, comparable_rows, mover_interval, shared_estimates
from unmask.audit.gate_limits import beyond_limits, interval_df
from unmask.audit.gate_spec import GateOptions, GateResult, MissingData
from unmask.audit.result import AuditResult, load
from unmask.core.errors import DataError, ResultError
from unmask.core.estimate import NAN, Estimate, Value
from unmask.core.files import plain
from unmask.core.options import fill_groups
from unmask.core.types import ONE_TRAINING, Check, Row
from unmask.findings.envelope import Result
from unmask.stats.power import standard_error
from unmask.stats.worsening import UNCHANGED, Allowance, Worsening, decide, distance_worsening, fewest_df, worsenings

FINITE, ACCURACY, NOT_RUN = "finite-outputs", "accuracy", "model-read"
GATED = (ACCURACY, "contract", FINITE, "duplicates")  # if one fails, a run cannot be judged
NAMED_ITEMS = 3  # items that are named where some are missing


def gate(
    candidate: Result | str | Path,
    baseline: Result | str | Path | Sequence[Result | str | Path] | None = None,
    **options: Any,
) -> GateResult:
    """Judge a result against a baseline, against limits (`max`), or both: pass, fail, or cannot tell.

    Args:
        candidate: the result that is judged, or its folder.
        baseline: the result that it must not be worse than, or its folder. Several are trainings alike but for their
            seed: how much they differ is then part of the noise.
        options: fields of `GateOptions` (measures, tolerance, margin, max, allow_missing, independent, seed), or the
            group itself as `options`.
    """
    (allowed,) = fill_groups(options, options=GateOptions)
    b, before = _open(candidate), _open_baselines(baseline)
    if not before and not allowed.max:
        raise DataError("there is nothing to compare with: give a baseline, or max for a first run without one")
    if not before and allowed.tolerance:
        raise DataError("tolerance is what may be lost of a baseline: give one, or leave the tolerance out")
    for result in before or [b]:
        for name in allowed.measures:
            result.require_measure(name)
    for result in (b, *before):
        _require_checks(result)
    against = _compare(before, b, allowed) if before else BaselineComparison()
    limits = list(beyond_limits(b, allowed))
    measured = [*against.worsenings, *limits]
    return GateResult(
        decide(measured, _allowances(against.worsenings, limits, allowed)),
        tuple(against.missing),
        _failed_checks(b, before),
        tuple(against.not_judged),
        allowed.allow_missing,
        len(before),
        b.kind,
    )


def _open_baselines(given: Result | str | Path | Sequence[Result | str | Path] | None) -> list[Result]:
    if given is None:
        return []
    return [_open(each) for each in ([given] if isinstance(given, (Result, str, Path)) else given)]


def _open(result: Result | str | Path) -> Result:
    return result if isinstance(result, Result) else load(result)


@dataclass
class BaselineComparison:
    """What a comparison with the baseline found, and what it could not compare."""

    worsenings: list[Worsening] = field(default_factory=list)
    missing: list[MissingData] = field(default_factory=list)
    not_judged: list[tuple[str, str]] = field(default_factory=list)


def _compare(before: Sequence[Result], b: Result, allowed: GateOptions) -> BaselineComparison:
    audits = [each for each in before if isinstance(each, AuditResult)]
    if isinstance(b, AuditResult) and len(audits) == len(before):
        return _compare_audits(audits, b, allowed)
    if len(before) > 1:
        raise DataError(f"{len(before)} baselines of a {b.kind}, expected one: several are for audits, item by item")
    return _compare_estimates(before[0], b, allowed)


def _allowances(compared: Sequence[Worsening], limits: Sequence[Worsening], allowed: GateOptions) -> list[Allowance]:
    """What is accepted of each worsening; refused where a name is no statistic here, or a number fits no unit."""
    statistics = {each.statistic for each in compared}
    allowed.tolerance.check("tolerance", statistics)
    allowed.margin.check("margin", statistics | {each.statistic for each in limits})
    found = [Allowance(allowed.tolerance.get_for(each) or 0.0, allowed.margin.get_for(each)) for each in compared]
    for each, accepted in zip(compared, found, strict=True):
        if accepted.margin is not None and accepted.margin < accepted.tolerance:
            raise DataError(
                f"margin is {accepted.margin:g} for {each.statistic}, expected at least the tolerance, "
                f"{accepted.tolerance:g}"
            )
    return [*found, *(Allowance(0.0, allowed.margin.get(each.statistic) or 0.0) for each in limits)]


def _require_checks(result: Result) -> None:
    """Refuse an audit that has not checked its model on all its data; of an imported one the model was not run here."""
    present = {check.name for check in result.checks}
    if not isinstance(result, AuditResult) or NOT_RUN in present:
        return
    causal, cards = result.meta["model"].get("kind") == "causal", result.meta["data"]
    read = ("next-token",) if causal else ("masked", "unmasked")
    for card in cards:
        for name in (FINITE, *(f"{how}-{ACCURACY}" for how in read)):
            alone = {name} if len(cards) == 1 else set()
            if not present & {f"{card['name']}/{name}", *alone}:
                raise ResultError(
                    f"{result.meta['title'] or 'the result'} has no check {name} on {card['name']}, without which it "
                    "cannot be judged: audit the model again"
                )


def _failed_checks(candidate: Result, baselines: Sequence[Result]) -> tuple[Check, ...]:
    """The failed checks without which a run cannot be judged; those of the baseline are named so."""
    found = [check for check in candidate.checks if _is_gated(check)]
    before = [check for each in baselines for check in each.checks]
    found += [replace(check, name=f"{check.name} of the baseline") for check in before if _is_gated(check)]
    return tuple(found)


def _is_gated(check: Check) -> bool:
    return not check.ok and check.name.endswith(GATED)


def _compare_audits(before: Sequence[AuditResult], b: AuditResult, allowed: GateOptions) -> BaselineComparison:
    first, tables, theirs = before[0], [comparable_rows(each) for each in before], comparable_rows(b)
    ours = tables[0]
    if not ours.keys() & theirs.keys():
        raise ResultError("the results share no measure on the same data: audit both models with the same options")
    for each in before:
        _refuse_other_data(each, b)
    _refuse_equal(before, tables)
    found = BaselineComparison(not_judged=[(data, measure) for measure, data in theirs if (measure, data) not in ours])
    for measure, data in ours:
        if measure not in allowed.measures if allowed.measures else first.is_baseline(measure):
            continue
        baselines = [table.get((measure, data), []) for table in tables]
        others = theirs.get((measure, data), [])
        for rows, run in zip(baselines, before, strict=True):
            if not rows:
                raise ResultError(f"{run.meta['title'] or 'a baseline'} has no {measure} on {data}, which another has")
            lacking = MissingData(measure, data, _describe_missing(rows, others))
            if lacking.detail and lacking not in found.missing:
                found.missing.append(lacking)
        if set.intersection(_scored_ids(others), *map(_scored_ids, baselines)):
            found.worsenings += worsenings(
                *(first.measure(measure), baselines, others),
                data=data,
                rng_seed=allowed.seed,
                independent=allowed.independent,
            )
    if not found.worsenings and not found.missing:
        raise ResultError(
            "there is nothing to judge: the results share no scored item of a measure that reads the sentences; audit "
            "both models with such a measure, or name a baseline such as all-masked with --measure"
        )
    return found


def _scored_ids(rows: Sequence[Row]) -> set[str]:
    return {row.item for row in rows if row.outcome != "unscored"}


def _describe_missing(baseline: Sequence[Row], candidate: Sequence[Row]) -> str:
    """What the run lacks of one measure and dataset; empty if nothing."""
    if not candidate:
        return "not in the run"
    present, scored = {row.item for row in candidate}, _scored_ids(baseline)
    if absent := sorted(scored - present):
        return f"{len(absent):,} of {len(scored):,} items are not in the run ({_some(absent)})"
    if unscored := sorted(scored - _scored_ids(candidate)):
        return f"{len(unscored):,} of {len(scored):,} items are not scored in the run ({_some(unscored)})"
    return ""


def _some(items: Sequence[str]) -> str:
    return ", ".join([*items[:NAMED_ITEMS], *(["…"] if len(items) > NAMED_ITEMS else [])])


def _refuse_other_data(a: Result, b: Result) -> None:
    """Refuse datasets of one name and different content: their items have the same names and other sentences."""
    before = {card["name"]: card.get("sha256") for card in a.meta["data"]}
    for card in b.meta["data"]:
        known, now = before.get(card["name"]), card.get("sha256")
        if known and now and known != now:
            raise ResultError(
                f"the runs have different versions of {card['name']} (sha256 {known[:12]}… and {now[:12]}…): "
                "audit both models on the same file"
            )


def _refuse_equal(baselines: Sequence[AuditResult], tables: Sequence[Mapping[tuple[str, str], Sequence[Row]]]) -> None:
    """Refuse baselines with the same scores on every item: one training twice says nothing about another seed."""
    scores = [{key: _scores(rows) for key, rows in table.items()} for table in tables]
    for (i, first), (k, second) in combinations(enumerate(scores), 2):
        if first == second:
            title = baselines[k].meta["title"] or "without a title"
            raise ResultError(
                f"baselines {i + 1} and {k + 1} ({title}) have equal scores on all items, expected trainings that "
                "differ in their seed: leave one out, or audit another training"
            )


def _scores(rows: Sequence[Row]) -> dict[str, str]:
    """The scores by item, as text in which a missing one is equal to itself."""
    return {row.item: repr(sorted(row.scores.items())) for row in rows}


def _compare_estimates(a: Result, b: Result, allowed: GateOptions) -> BaselineComparison:
    """Compare the headlines of results that are no audits."""
    shared = {(one.model, one.key): other for one, other in shared_estimates(a, b)}
    found = BaselineComparison()
    for old in a.headlines():
        if old.null is None or (allowed.measures and old.measure not in allowed.measures):
            continue
        new = shared.get((old.model, old.key))
        if new is None:
            found.missing.append(MissingData(old.measure, old.data, "not in the run"))
            continue
        lost = (old.n + old.unscored) - (new.n + new.unscored)
        if lost > 0 and a.kind != "corpus":  # a corpus is what is measured, not what it is measured with
            found.missing.append(MissingData(old.measure, old.data, f"{lost:,} of {old.n + old.unscored:,} items"))
        found.worsenings.append(_estimate_worsening(old, new))
    if not found.worsenings:
        raise ResultError(
            "the results share no estimate with a null value to gate on: gate results of the same command"
        )
    return found


def _estimate_worsening(a: Estimate, b: Estimate) -> Worsening:
    a, b = (replace(each, df=interval_df(each)) for each in (a, b))
    assert a.null is not None
    common = common_fields(a, b)
    method, df = common.pop("method"), fewest_df(a, b)
    spread = standard_error(a) * math.sqrt(a.n) if a.has_interval and a.n > 1 else NAN
    amount = Value(abs(b.value - a.null) - abs(a.value - a.null), method="an estimate has no interval")
    found = Worsening(**common, null=a.null, amount=amount, baseline=a, spread=spread)
    if math.isfinite(a.value) and plain(a) == plain(b):  # NaN is not equal to itself, null is
        return replace(found, amount=UNCHANGED)
    if any(each.method.endswith(ONE_TRAINING) for each in (a, b)):
        return replace(found, amount=replace(amount, method=ONE_TRAINING))
    if not (a.has_interval and b.has_interval):
        return found
    mirrored = replace(a, value=2 * a.null - a.value, low=2 * a.null - a.high, high=2 * a.null - a.low)
    less, plus = (Value(b.value - each.value, *mover_interval(each, b), method, df=df) for each in (a, mirrored))
    return distance_worsening(found, less, plus, b)
