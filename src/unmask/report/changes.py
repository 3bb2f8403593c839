"""What changed between two audits, in sentences and rows: what, by how much, which way, and whether that is worse.

The changes are those of `unmask compare`, which the gate judges, too. Baselines are no evidence and are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from unmask.audit.interpretation import Doubt, data_card, doubt_of, slot_sides
from unmask.audit.result import AuditResult
from unmask.core.estimate import Estimate
from unmask.core.statistic import CHANGE, LEVEL, statistic
from unmask.findings import numbers
from unmask.findings.sentences import (
    ALIKE,
    BETTER,
    NEARER,
    SMALL,
    TURNED,
    TURNED_WORSE,
    UNSURE,
    WORSE,
    capital,
    direction_of_change,
    movement,
)
from unmask.report.selection import LETTERS, group_name

if TYPE_CHECKING:
    from unmask.stats.paired import Comparison

Runs = tuple[AuditResult, AuditResult]
VERDICTS = (TURNED_WORSE, WORSE, UNSURE, TURNED, SMALL, NEARER, BETTER, "")  # in this order
NO_CHANGE, NOT_TESTED = "no significant change", "not tested"


def is_significant(comparison: Comparison) -> bool:
    """Whether the change is significant: by the Holm-corrected p-value, else by the interval; never if not tested."""
    if not comparison.tested:
        return False
    if comparison.p_holm is not None and math.isfinite(comparison.p_holm):
        return comparison.p_holm < LEVEL
    return comparison.difference.excludes(0)


def _worsening(comparison: Comparison) -> str:
    """Whether a significant change is for the worse, as the gate says; empty if not, or if the distances do not say."""
    if comparison.is_worse:
        return WORSE
    if comparison.worsening <= 0 or comparison.has_turned:
        return ""
    return SMALL if comparison.worsening < comparison.least else UNSURE


def read_change(comparison: Comparison) -> str:
    """The change in plain words."""
    if not math.isfinite(comparison.change):
        return "not measured in both"
    if is_significant(comparison):
        return direction_of_change(comparison, _worsening(comparison))
    corrected = " after correction" if comparison.difference.excludes(0) else ""
    return f"{NO_CHANGE}{corrected}" if comparison.tested else NOT_TESTED


def change_row(comparison: Comparison, *, several: bool) -> dict[str, Any]:
    """One change as a row of tables; `several`: the label names the dataset, too."""
    digits, signed = statistic(comparison.statistic).digits, numbers.signed_number
    ends = f"{signed(comparison.low, digits)} to {signed(comparison.high, digits)}"
    marked = is_significant(comparison)
    return {
        "label": f"{comparison.measure} · {comparison.data}" if several else comparison.measure,
        **{name: getattr(comparison, name) for name in ("data", "measure", "statistic", "method")},
        "group": group_name(comparison.group),
        "letter": LETTERS[comparison.run],
        "before": numbers.number(comparison.a_value, digits),
        "after": numbers.number(comparison.b_value, digits),
        "change": signed(comparison.change, digits),
        "interval": ends if comparison.difference.has_interval else "none",
        "p_holm": numbers.p_value(comparison.p_holm),
        **{name: f"{getattr(comparison, name):,}" for name in ("n", "flips", "left_out")},
        "marked": marked,
        "lean": "" if not marked else "above" if comparison.change > 0 else "below",
        "reading": read_change(comparison),
    }


def change_estimate(comparison: Comparison) -> Estimate:
    """A change as an estimate with null 0, for the charts."""
    same = {name: getattr(comparison, name) for name in ("measure", "data", "group", "n", "p")}
    p_holm = comparison.p_holm if comparison.tested else 1.0  # grey
    return Estimate.of(
        comparison.difference, statistic=CHANGE, null=0.0, unscored=comparison.left_out, p_holm=p_holm, **same
    )


def summarize_changes(
    first: AuditResult, other: AuditResult, changes: Sequence[Comparison], *, number: int = 1
) -> list[str]:
    """The changes from the first run to another in sentences without full stop, what became worse first.

    `changes` are those of all runs that were compared, which are tested together; `number` is the index of the other.
    """
    runs = (first, other)
    tested = [each for each in changes if each.run == number and each.tested]
    judged = [each for each in tested if math.isfinite(each.change) and _doubt(runs, each) != "invalid"]
    whole = [each for each in judged if each.group == "all"]
    changed = [each for each in whole if _has_changed(each)]
    lines = [*_sentences(runs, changed), *_by_category([each for each in judged if each.group != "all"])]
    rest = [each for each in whole if each not in changed]
    groups = [change.group for change in changes if change.p_holm is not None]
    total, split = groups.count("all"), len(groups) - groups.count("all")
    if not lines and rest:
        by_category = f", {split} by category" if split else ""
        family = f" ({total} test{'' if total == 1 else 's'} over all items{by_category}, corrected by Holm)"
        lines = [f"no change is beyond chance{family if groups else ''}"]
    elif rest:
        names = _grouped(rest, lambda each: (_noun(each), each.data))
        listed = [
            f"{noun}{_on(runs, data)} ({', '.join(dict.fromkeys(each.measure for each in members))})"
            for (noun, data), members in names.items()
        ]
        where = "" if changed else "over all items "
        lines.append(f"{where}{'; '.join(listed)}: no change beyond chance among {total} tests")
    if invalid := sorted({each.measure for each in tested if _doubt(runs, each) == "invalid"}):
        lines.append(f"nothing can be said of {', '.join(invalid)}: a check failed")
    return [capital(line) for line in lines or ["no number can be compared"]]


def _has_changed(change: Comparison) -> bool:
    """Whether it is significant, or worse by the tests of the gate, which are others."""
    return is_significant(change) or change.answer == "worse"


def _grouped(changes: Sequence[Comparison], key: Callable[[Comparison], Any]) -> dict[Any, list[Comparison]]:
    groups: dict[Any, list[Comparison]] = {}
    for change in changes:
        groups.setdefault(key(change), []).append(change)
    return groups


def _sentences(runs: Runs, changed: Sequence[Comparison]) -> list[str]:
    """One sentence for every dataset, statistic, direction and verdict."""

    def key(change: Comparison) -> tuple[str, str, str]:
        sides = slot_sides(runs[0], change.data)
        return _verdict(change), change.data, movement(change.statistic, rose=change.change > 0, sides=sides)

    lines = []
    for (verdict, data, phrase), members in sorted(
        _grouped(changed, key).items(), key=lambda group: VERDICTS.index(group[0][0])
    ):
        values = ", ".join(_value(runs, change) for change in members)
        where = f"{_on(runs, data)} ".lstrip()
        lines.append(f"{where}{phrase}: {values}{f' ({verdict})' if verdict else ''}")
    return lines


def _by_category(changes: Sequence[Comparison]) -> list[str]:
    """The categories with a significant change by verdict, each with its measure of the smallest p.

    One that is worse is not said to be less than that by another measure.
    """
    best: dict[tuple[str, str], Comparison] = {}
    for change in sorted(filter(_has_changed, changes), key=lambda each: (not each.is_worse, each.p_holm or 0.0)):
        kind = WORSE if (verdict := _verdict(change)) in (TURNED_WORSE, UNSURE, SMALL, TURNED) else verdict
        best.setdefault((kind, group_name(change.group)), change)
    parts = []
    for verdict in VERDICTS:
        of_verdict = [change for change in best.values() if _verdict(change) == verdict]
        named = [f"{group_name(each.group)} ({_noun(each)} {_size(each)} by {each.measure})" for each in of_verdict]
        parts += [f"{verdict or 'changed'}: {', '.join(named)}"] if named else []
    return [f"by category, {'; '.join(parts)}"] if parts else []


def _noun(change: Comparison) -> str:
    return statistic(change.statistic).noun or change.statistic


def _verdict(change: Comparison) -> str:
    """Whether the change is for the worse, as the gate says; empty if both numbers are as far from the reference value.

    Of numbers on different sides of it the distances alone do not say which is worse.
    """
    if change.has_turned:
        return TURNED_WORSE if change.is_worse else TURNED
    if change.null is None or not change.worsening:
        return ""
    if change.worsening > 0:
        return _worsening(change)
    return BETTER if statistic(change.statistic).better == "higher" else NEARER


def _value(runs: Runs, change: Comparison) -> str:
    """`0.76 instead of 0.32 by ppd`; a dagger marks that a check failed."""
    facts, dagger = statistic(change.statistic), " †" if _doubt(runs, change) else ""
    alike = f", {ALIKE}" if facts.is_balanced and facts.question != "slots" else ""
    return f"{_size(change)} by {change.measure}{dagger}{alike}"


def _size(change: Comparison) -> str:
    facts = statistic(change.statistic)
    mark = "%" if facts.question == "pairs" else ""
    fewest = 0 if facts.is_percent else 2
    digits = next((n for n in range(fewest, 5) if abs(change.change) >= 2 * 10**-n), 4)  # 0.01 and 0.00 hide 0.007
    before, after = (numbers.number(value, digits) for value in (change.a_value, change.b_value))
    return f"{after}{mark} instead of {before}{mark}"


def _doubt(runs: Runs, change: Comparison) -> Doubt:
    """What failed checks of either run make of the change."""
    doubts = {doubt_of(run, change.data, change.measure) for run in runs}
    return "invalid" if "invalid" in doubts else "doubtful" if "doubtful" in doubts else ""


def _on(runs: Runs, data: str) -> str:
    """` on CrowS-Pairs`; empty if the runs share one dataset."""
    shared = set.intersection(*({card["name"] for card in run.meta["data"]} for run in runs))
    titles = (card.get("title") for run in runs if (card := data_card(run, data)))
    return f" on {next(filter(None, titles), data)}" if len(shared) > 1 else ""
