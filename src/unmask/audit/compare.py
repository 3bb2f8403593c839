"""Compare results with each other.

Audits are compared item by item, over the items that both scored. Results of other commands are compared by
their estimates: the interval of a difference is computed from the two intervals (MOVER, Zou & Donner 2008) as
if the estimates were independent, which is on the safe side where both models saw the same items.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from unmask.audit.parquet import rows_of
from unmask.audit.result import AuditResult, load
from unmask.core.errors import ResultError
from unmask.core.estimate import Estimate
from unmask.core.options import MAX_SEED, check_number
from unmask.core.types import Row
from unmask.data.builtin_tables import with_usual_gender
from unmask.findings.envelope import Result
from unmask.stats.intervals import mover_interval

if TYPE_CHECKING:  # the page of a single audit needs none of these
    from unmask.stats.paired import Comparison, PairedRuns
    from unmask.stats.worsening import Worsening

Tables = Mapping[tuple[str, str], list[Row]]  # by measure and dataset


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
    from unmask.stats.paired import apply_holm

    check_number("seed", seed, least=0, most=MAX_SEED)
    a, *rest = open_results([first, *others])
    everything = [
        replace(comparison, run=number)
        for number, b in enumerate(rest, start=1)
        for comparison in _comparisons(a, b, seed, independent=independent)
    ]
    corrected = apply_holm(everything, _family)
    return tuple(comparison for comparison in corrected if categories or comparison.group == "all")


def open_results(results: Result | str | Path | Sequence[Result | str | Path]) -> list[Result]:
    """The results, read from their folders as far as they are not open."""
    listed = [results] if isinstance(results, Result | str | Path) else results
    return [result if isinstance(result, Result) else load(result) for result in listed]


def _family(comparison: Comparison) -> str:
    """The tests that it is corrected with: those over all items, or those by category."""
    if not comparison.tested:
        return ""
    return "all" if comparison.group == "all" else "category"


def _comparisons(a: Result, b: Result, seed: int, *, independent: bool) -> Iterator[Comparison]:
    if not (isinstance(a, AuditResult) and isinstance(b, AuditResult)):
        yield from (_estimate_comparison(old, new) for old, new in shared_estimates(a, b))
        return
    from unmask.stats.paired import compare_pairs

    paired = list(_paired(a, b, independent=independent))
    verdicts = {_key(each): each for each in _verdicts(a, paired, seed)}
    for pairs in paired:
        for comparison in compare_pairs(pairs, seed):
            if verdict := verdicts.get(_key(comparison)):
                comparison = replace(comparison, answer=verdict.answer, least=verdict.least)  # noqa: PLW2901
            yield replace(comparison, tested=comparison.tested and not a.is_baseline(comparison.measure))


def _paired(a: AuditResult, b: AuditResult, *, independent: bool) -> Iterator[list[PairedRuns]]:
    """The statistics of every measure and dataset that both results share, with the items of both."""
    from unmask.stats.paired import paired_statistics

    ours, theirs = comparable_rows(a), comparable_rows(b)
    for name, data in shared_keys(ours, theirs):
        rows = ours[name, data], theirs[name, data]
        yield paired_statistics(a.measure(name), *rows, data=data, independent=independent)


def _verdicts(a: AuditResult, paired: Sequence[Sequence[PairedRuns]], seed: int) -> tuple[Worsening, ...]:
    """What a gate with its defaults says: a comparison says the same."""
    from unmask.stats.worsening import decide, paired_worsenings

    worsenings: list[Worsening] = []
    for pairs in paired:
        measure = pairs[0].a.measure
        # without a reference value nothing is worse
        if not a.is_baseline(measure.name) and (measure.null is not None or measure.summary == "icat"):
            worsenings += paired_worsenings([pairs], seed)
    return decide(worsenings)


def _key(compared: Comparison | Worsening) -> tuple[str, str, str, str]:
    return compared.measure, compared.data, compared.statistic, compared.group


def comparable_rows(result: AuditResult) -> Tables:
    """The rows by measure and dataset; those of templates about men and women with the usual gender of their word."""
    own = {card.get("name") for card in result.meta.get("data") or () if card.get("sides")}
    by_key = rows_of(result.items).items()
    return {(name, data): rows if data in own else with_usual_gender(rows) for (name, data), rows in by_key}


def shared_keys(ours: Tables, theirs: Tables) -> list[tuple[str, str]]:
    """The measures and datasets that two results share; ResultError if there is none."""
    shared = [key for key in ours if key in theirs]
    if not shared:
        raise ResultError("the results share no measure on the same data: audit both models with the same options")
    return shared


def shared_estimates(a: Result, b: Result) -> list[tuple[Estimate, Estimate]]:
    """The estimates of the same quantity; of results about several models, those of the same model."""
    if a.kind != b.kind:
        raise ResultError(f"a {a.kind} and a {b.kind} cannot be compared: give results of the same command")
    theirs = {(estimate.model, estimate.key): estimate for estimate in b.estimates}
    shared = [(one, theirs[one.model, one.key]) for one in a.estimates if (one.model, one.key) in theirs]
    if not shared:
        raise ResultError("the results share no estimate: give results of the same command and options")
    return shared


def _estimate_comparison(old: Estimate, new: Estimate) -> Comparison:
    from unmask.stats.paired import Comparison

    change = mover_interval(old, new)
    return Comparison(
        measure=old.measure,
        data=old.data,
        group=old.group,
        statistic=old.statistic,
        a_value=old.value,
        b_value=new.value,
        change=change.value,
        low=change.low,
        high=change.high,
        n=min(old.n, new.n),
        flips=0,
        left_out=abs(old.n - new.n),
        method=change.method,
    )
