"""What changed between two audits, in sentences: what, by how much, which way, and whether that is worse.

The changes are those of `unmask compare`, which the gate judges, too. Baselines are no evidence and are left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from unmask.audit.interpretation import DOUBTFUL, INVALID, OF_PROFESSIONS, PERCENT, failure, slot_sides
from unmask.audit.result import AuditResult
from unmask.core.statistic import BALANCED, OF_WORDS, statistic
from unmask.findings.numbers import number
from unmask.report.selection import group_name
from unmask.report.wording import SMALL, UNSURE, WORSE, is_significant, read_worsening
from unmask.stats.paired import is_share

if TYPE_CHECKING:
    from unmask.stats.paired import Comparison

NEARER, BETTER = "nearer to no preference", "better"
TURNED = "on the other side of no preference now"
TURNED_WORSE = f"{WORSE}, {TURNED}"
LEANS = (f"{OF_WORDS}appd", f"{OF_WORDS}association")
VERDICTS = (TURNED_WORSE, WORSE, UNSURE, TURNED, SMALL, NEARER, BETTER, "")  # in this order
RISES: Mapping[str, Sequence[str]] = {  # what is said of a statistic that rose, and of one that fell
    "bias-score": tuple(f"the stereotyping sentence is preferred {way} often than before" for way in ("more", "less")),
    "ss": tuple(f"the stereotyping word is preferred {way} often than before" for way in ("more", "less")),
    "mean-difference": tuple(f"scores moved towards the {side} sentence" for side in ("stereotyping", "other")),
    "appd": ("the overall mean moved towards {first}", "the overall mean moved towards {second}"),
    "association": ("the mean association moved towards {first}", "the mean association moved towards {second}"),
    **dict.fromkeys(
        OF_PROFESSIONS,
        tuple(
            f"women's and men's professions, counted alike, lean {way} towards their usual gender than before"
            for way in ("more", "less")
        ),
    ),
    "asld": ("the scores of a pair differ more than before", "the scores of a pair differ less than before"),
    **dict.fromkeys(LEANS, ("single words lean further than before", "single words lean less far than before")),
}
NAMES: Mapping[str, str] = {
    "bias-score": "the share of stereotyping sentences",
    "ss": "the share of stereotyping words",
    "mean-difference": "the mean difference",
    "appd": "the overall mean",
    "association": "the mean association",
    **dict.fromkeys(OF_PROFESSIONS, "the mean towards the usual gender of professions"),
    "asld": "the size of differences",
    **dict.fromkeys(LEANS, "how far single words lean"),
}


def summarize_changes(
    first: AuditResult, other: AuditResult, changes: Sequence[Comparison], *, number: int = 1
) -> list[str]:
    """The changes from the first run to another in sentences without full stop, what became worse first.

    `changes` are those of all runs that were compared, which are tested together; `number` is the index of the other.
    """
    runs = (first, other)
    known = [each for each in changes if each.run == number and each.tested]
    judged = [each for each in known if math.isfinite(each.change) and _doubt(runs, each) != INVALID]
    whole = [each for each in judged if each.group == "all"]
    changed = [each for each in whole if _has_changed(each)]
    lines = [*_sentences(runs, changed), *_by_category([each for each in judged if each.group != "all"])]
    rest = [each for each in whole if each not in changed]
    if not lines and rest:
        lines = [f"no change is beyond chance{_count_tests(changes)}"]
    elif rest:
        among = f"among {sum(each.group == 'all' and each.p_holm is not None for each in changes)} tests"
        where = "" if changed else "over all items "
        lines.append(f"{where}{'; '.join(_names(runs, rest))}: no change beyond chance {among}")
    if invalid := sorted({each.measure for each in known if _doubt(runs, each) == INVALID}):
        lines.append(f"nothing can be said of {', '.join(invalid)}: a check failed")
    return [f"{line[:1].upper()}{line[1:]}" for line in lines or ["no number can be compared"]]


def _has_changed(change: Comparison) -> bool:
    """Whether it is significant, or worse by the tests of the gate, which are others."""
    return is_significant(change) or change.answer == "worse"


def _count_tests(changes: Sequence[Comparison]) -> str:
    """How many p-values were corrected together: ` (4 tests over all items, 12 by category, corrected by Holm)`."""
    groups = [change.group for change in changes if change.p_holm is not None]
    whole, split = groups.count("all"), len(groups) - groups.count("all")
    by_category = f", {split} by category" if split else ""
    return (
        f" ({whole} test{'' if whole == 1 else 's'} over all items{by_category}, corrected by Holm)" if groups else ""
    )


def _sentences(runs: tuple[AuditResult, AuditResult], changed: Sequence[Comparison]) -> list[str]:
    """One sentence for every dataset, statistic, direction and verdict."""
    several = len(_datasets(runs)) > 1
    groups: dict[tuple[str, str, str], list[Comparison]] = {}
    for each in changed:
        groups.setdefault((_verdict(each), each.data, _phrase(runs[0], each)), []).append(each)
    ordered = sorted(groups.items(), key=lambda entry: VERDICTS.index(entry[0][0]))
    return [
        f"{f'on {_title(runs, data)} ' if several else ''}{phrase}: "
        f"{', '.join(_values(runs, each) for each in members)}{f' ({verdict})' if verdict else ''}"
        for (verdict, data, phrase), members in ordered
    ]


def _by_category(changes: Sequence[Comparison]) -> list[str]:
    """The categories with a significant change by verdict, each with its measure of the smallest p.

    One that is worse is not said to be less than that by another measure.
    """
    best: dict[tuple[str, str], Comparison] = {}
    for each in sorted(filter(_has_changed, changes), key=lambda each: (not each.is_worse, each.p_holm or 0.0)):
        kind = WORSE if (verdict := _verdict(each)) in (TURNED_WORSE, UNSURE, SMALL, TURNED) else verdict
        best.setdefault((kind, group_name(each.group)), each)
    parts = []
    for verdict in VERDICTS:
        own = [(name, each) for (_, name), each in best.items() if _verdict(each) == verdict]
        named = [f"{name} ({_name(each)} {_size(each)} by {each.measure})" for name, each in own]
        if named:
            parts.append(f"{verdict or 'changed'}: {', '.join(named)}")
    return [f"by category, {'; '.join(parts)}"] if parts else []


def _names(runs: tuple[AuditResult, AuditResult], changes: Sequence[Comparison]) -> list[str]:
    """What did not change: the statistic, the data and the measures."""
    several = len(_datasets(runs)) > 1
    groups: dict[tuple[str, str], list[str]] = {}
    for each in changes:
        groups.setdefault((_name(each), each.data), []).append(each.measure)
    return [
        f"{name}{f' on {_title(runs, data)}' if several else ''} ({', '.join(dict.fromkeys(measures))})"
        for (name, data), measures in groups.items()
    ]


def _name(change: Comparison) -> str:
    plain = change.statistic.removeprefix(BALANCED)
    return NAMES.get(change.statistic, NAMES.get(plain, plain))


def _phrase(run: AuditResult, change: Comparison) -> str:
    plain, rose = change.statistic.removeprefix(BALANCED), change.change > 0
    unknown = (f"{plain} is higher than before", f"{plain} is lower than before")
    words = RISES.get(change.statistic, RISES.get(plain, unknown))[0 if rose else 1]
    first, second = slot_sides(run, change.data)
    return words.replace("{first}", first).replace("{second}", second)


def _verdict(change: Comparison) -> str:
    """Whether the change is for the worse, as the gate says; empty if both numbers are as far from the reference value.

    Of numbers on different sides of it the distances alone do not say which is worse.
    """
    if change.has_turned:
        return TURNED_WORSE if change.is_worse else TURNED
    if change.null is None or not change.worsening:
        return ""
    if change.worsening > 0:
        return read_worsening(change)
    return BETTER if statistic(change.statistic).better == "higher" else NEARER


def _values(runs: tuple[AuditResult, AuditResult], change: Comparison) -> str:
    """`0.76 instead of 0.32 by ppd`; a dagger marks that a check failed."""
    dagger = " †" if _doubt(runs, change) == DOUBTFUL else ""
    balanced = change.statistic.startswith(BALANCED) and change.statistic not in OF_PROFESSIONS
    alike = ", both directions counted alike" if balanced else ""
    return f"{_size(change)} by {change.measure}{dagger}{alike}"


def _size(change: Comparison) -> str:
    percent = change.statistic in PERCENT
    mark = "%" if is_share(change.statistic) or change.statistic == "ss" else ""
    fewest = 0 if percent else 2
    digits = next((n for n in range(fewest, 5) if abs(change.change) >= 2 * 10**-n), 4)  # 0.01 and 0.00 hide 0.007
    before, after = (number(value, digits) for value in (change.a_value, change.b_value))
    return f"{after}{mark} instead of {before}{mark}"


def _doubt(runs: tuple[AuditResult, AuditResult], change: Comparison) -> str:
    """What failed checks of either run make of the change."""
    found = {failure(run, change.data, change.measure) for run in runs}
    return next((doubt for doubt in (INVALID, DOUBTFUL) if doubt in found), "")


def _datasets(runs: tuple[AuditResult, AuditResult]) -> set[str]:
    return set.intersection(*({str(card.get("name")) for card in run.meta.get("data") or ()} for run in runs))


def _title(runs: tuple[AuditResult, AuditResult], data: str) -> str:
    cards = (card for run in runs for card in run.meta.get("data") or () if card.get("name") == data)
    return next((str(card.get("title") or data) for card in cards), data)
