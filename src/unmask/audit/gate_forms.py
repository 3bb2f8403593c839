"""A gate in words: lines for the terminal, Markdown for pull requests, JUnit XML for test reports."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from xml.etree import ElementTree as Xml

from unmask.audit.gate import GateResult, plain_statistic, unit_of
from unmask.core.errors import one_line
from unmask.core.statistic import LEVEL, statistic
from unmask.core.types import ONE_TRAINING
from unmask.findings import Cell, Table, markdown
from unmask.findings.numbers import number, p_value, signed_number, signed_value
from unmask.stats.bootstrap import NO_CHANGE
from unmask.stats.worsening import negative

if TYPE_CHECKING:
    from unmask.stats.worsening import Answer, Worsening

Mark = Literal["pass", "FAIL", "CANNOT TELL", "note"]
MARKS: dict[Answer, Mark] = {"not worse": "pass", "worse": "FAIL", "missing": "FAIL", "cannot tell": "CANNOT TELL"}
SUITE = "unmask gate"
COLUMNS = (
    "verdict",
    "data",
    "measure",
    "statistic",
    "baseline",
    "run",
    "worsening (95% interval)",
    "margin",
    "found in 80 of 100",
    "n",
)
ONE_BASELINE = {  # what a failure against one baseline does not say, and what would, by the kind of the results
    "audit": "These two checkpoints differ; whether the training makes models worse needs several baselines",
    "corpus": "These two results differ; a corpus is judged by the mean over several trainings of each (--seeds)",
    "": "These two results differ; another seed may differ as much, and only audits take several baselines",
}


@dataclass(frozen=True, slots=True)
class GateEntry:
    """One verdict, or one thing that could not be judged, in words."""

    mark: Mark
    data: str
    name: str
    text: str

    def __str__(self) -> str:
        return f"{self.mark} {self.data} {self.name}: {self.text}"


def entries(result: GateResult) -> list[GateEntry]:
    """The verdicts, then what is missing, the failed checks, and what was not judged."""
    among = len(result.verdicts)
    listed = [GateEntry(MARKS[each.answer], each.data, _name(each), describe(each, among)) for each in _listed(result)]
    listed += _by_type(result)
    mark: Mark = "note" if result.allow_missing else "FAIL"
    listed += [GateEntry(mark, each.data, each.measure, f"missing: {each.detail}") for each in result.missing]
    listed += [GateEntry("FAIL", "check", check.name, check.detail) for check in result.failed_checks]
    listed += [GateEntry("note", *name, "not in the baseline, not judged") for name in result.not_judged]
    return [GateEntry(each.mark, *map(one_line, (each.data, each.name, each.text))) for each in listed]


def _listed(result: GateResult) -> list[Worsening]:
    """The verdicts over all items, and those on bias types that are worse."""
    return [each for each in result.verdicts if each.group == "all" or each.answer == "worse"]


def _by_type(result: GateResult) -> list[GateEntry]:
    """A line for each dataset and measure: how many bias types are not worse, and what could go unseen in one."""
    worse = {(each.data, each.measure, each.group) for each in result.verdicts if each.answer == "worse"}
    parts: dict[tuple[str, str], list[Worsening]] = {}
    for each in result.verdicts:
        if each.group != "all" and (each.data, each.measure, each.group) not in worse:
            parts.setdefault((each.data, each.measure), []).append(each)
    listed = []
    for (data, measure), verdicts in parts.items():
        types = len({each.group for each in verdicts})
        text = f"{types} bias type{'s' if types > 1 else ''}"
        if all(map(_is_unchanged, verdicts)):
            text += " unchanged"
        else:
            least = _largest_sizes([each for each in verdicts if each.least], lambda each: each.least, " or ")
            unseen = _largest_sizes(verdicts, _unseen_size, " or ")
            text += f", none worse beyond chance{f' by {least} or more' if least else ''}"
            text += f"; less than {unseen} in one could go unseen" if unseen else ""
        listed.append(GateEntry("pass", data, f"{measure} by bias type", text))
    return listed


def _is_unchanged(verdict: Worsening) -> bool:
    return verdict.amount.method == NO_CHANGE


def _unseen_size(verdict: Worsening) -> float:
    """A worsening that could go unseen."""
    return min(max(verdict.detectable, verdict.least), plain_statistic(verdict.statistic).largest_worsening)


def _margin(verdict: Worsening) -> float:
    return verdict.margin or 0.0


def _largest_sizes(verdicts: Sequence[Worsening], size: Callable[[Worsening], float], joint: str = " and ") -> str:
    """The largest size in each unit: `5.0 points and 0.16 nats`; empty if none is known."""
    largest: dict[str, tuple[float, int]] = {}
    for each in verdicts:
        unit, value = unit_of(each.statistic), size(each)
        if math.isfinite(value):
            largest[unit] = max(largest.get(unit, (0.0, 0)), (value, _digits(each)))
    return joint.join(f"{number(value, digits)} {unit}" for unit, (value, digits) in largest.items())


def lines(result: GateResult) -> list[str]:
    """One line for each entry; the last line is the answer."""
    return [*map(str, entries(result)), summary_line(result)]


def summary_line(result: GateResult) -> str:
    """PASS, FAIL or CANNOT TELL, and why."""
    count, whole = len(result.verdicts), [each for each in result.verdicts if each.group == "all"]
    over_all = " over all items" if len(whole) != count else ""
    if result.answer == "pass":
        rest = f"{over_all}; worse in none of {count - len(whole)} by bias type" if over_all else ""
        return f"PASS: {_passed(whole)} in {_count(len(whole))}{rest}"
    if result.answer == "cannot tell":
        unsure = [each for each in whole if each.answer == "cannot tell"]
        return f"CANNOT TELL: {len(unsure)} of {_count(len(whole))}{over_all}: {_remedy(unsure)}"
    worse = [each.against for each in result.verdicts if each.answer == "worse"]
    missing = [each for each in whole if each.answer == "missing"]
    reasons = {
        f"worse in {worse.count('baseline')} of {_count(count)}": worse.count("baseline"),
        f"beyond a limit in {worse.count('limit')} of {_count(count)}": worse.count("limit"),
        f"no value in {len(missing)} of {_count(count)}": len(missing),
        "data or items of the baseline are missing (--allow-missing accepts that)": (
            0 if result.allow_missing else len(result.missing)
        ),
        "a check failed": len(result.failed_checks),
    }
    text = f"FAIL: {'; '.join(text for text, times in reasons.items() if times)}"
    if worse.count("baseline") and result.baselines == 1:
        text += f". {ONE_BASELINE.get(result.kind, ONE_BASELINE[''])}"
    return text


def _count(verdicts: int) -> str:
    return f"{verdicts} verdict{'s' if verdicts != 1 else ''}"


def _remedy(unsure: Sequence[Worsening]) -> str:
    """What would let the gate tell."""
    if any(each.amount.method == ONE_TRAINING for each in unsure):
        return "train several times (--seeds)"
    margins = _largest_sizes([each for each in unsure if each.margin], _margin)
    return f"use more items, or accept a larger margin{f' than {margins}' if margins else ''}"


def _passed(whole: Sequence[Worsening]) -> str:
    """What a pass says: the worsening that is excluded over all items, the largest in each unit."""
    judged = [each for each in whole if each.against == "baseline"]
    if not judged:
        return "within the limits"
    by_unit: dict[str, list[Worsening]] = {}
    for each in judged:
        if not _is_unchanged(each):
            by_unit.setdefault(unit_of(each.statistic), []).append(each)
    parts = []
    for unit, verdicts in by_unit.items():
        widest = max(verdicts, key=_margin)
        margin, least = (number(size, _digits(widest)) for size in (widest.margin, widest.least))
        few = f" (too few items for {least})" if widest.least and margin != least and unit != "nats" else ""
        parts.append(f"{_largest_sizes(verdicts, _margin)}{few}")
    text = f"not worse by more than {' and '.join(filter(None, parts))}" if by_unit else "unchanged"
    return text if len(judged) == len(whole) else f"{text}, and within the limits,"


def describe(verdict: Worsening, among: int = 1) -> str:
    """The values, the worsening with its interval, and what it means."""
    if verdict.answer == "missing":
        return "cannot be judged: a value is missing"
    before, after = (number(value, _digits(verdict)) for value in (verdict.a_value, verdict.b_value))
    if verdict.against == "limit":
        mirror = number(2 * (verdict.null or 0.0) - verdict.a_value, _digits(verdict))
        return f"{after} {_beside_limits(verdict, f'the limits {mirror} and {before}')} (n {verdict.n:,})"
    items = "item is" if verdict.left_out == 1 else "items are"
    apart = f"; {verdict.left_out:,} {items} not scored in both runs" if verdict.left_out else ""
    return f"{before} → {after}, {_beside_baseline(verdict, among)} (n {verdict.n:,}{apart})"


def _name(verdict: Worsening) -> str:
    group = "" if verdict.group == "all" else f", {verdict.group.partition('=')[2]}"
    return f"{verdict.measure} {verdict.statistic}{group}{' limit' if verdict.against == 'limit' else ''}"


def _digits(verdict: Worsening) -> int:
    return plain_statistic(verdict.statistic).digits


def _way(verdict: Worsening) -> str:
    """Where the value moved."""
    worse, better = verdict.amount.value > 0, statistic(verdict.statistic).better
    if better in ("higher", "lower"):
        return "higher" if worse == (better == "lower") else "lower"
    return f"{'farther from' if worse else 'nearer to'} {verdict.null or 0.0:g}"


def _beside_baseline(verdict: Worsening, among: int) -> str:
    """The worsening with its interval, and what it means."""
    if _is_unchanged(verdict):
        return "unchanged"
    digits, amount, way = _digits(verdict), verdict.amount, _way(verdict)
    null, margin = verdict.null or 0.0, number(verdict.margin, digits)
    change = signed_value(amount, digits)
    if not math.isclose(verdict.b_value - verdict.a_value, amount.value, abs_tol=1e-9):  # no change from a to b
        size = amount if amount.value > 0 else negative(amount)
        low, high = (number(end, digits) for end in (size.low, size.high))
        change, way = f"{number(size.value, digits)} {way} ({low} to {high})", ""
    if verdict.answer == "worse":
        side = f"on the other side of {null:g} now, by more than {margin}"
        return f"{side if verdict.turned else f'{change}, worse beyond chance'}{_correction(verdict)}"
    if not amount.has_interval:
        return f"{signed_number(amount.value, digits)} without an interval: {amount.method}"
    if verdict.answer == "cannot tell":
        visible = f"a worsening of {number(verdict.detectable, digits)} would be found in 80 of 100 cases"
        none = verdict.detectable > plain_statistic(verdict.statistic).largest_worsening
        return f"{change}; the margin is {margin}, {'these data would hardly show any worsening' if none else visible}"
    return f"{change}, {way}" if amount.high <= 0 and way else _within(verdict, change, among)


def _within(verdict: Worsening, change: str, among: int) -> str:
    """A change that is within the margin."""
    digits, amount = _digits(verdict), verdict.amount
    if amount.high <= 0:
        return change
    if amount.low <= 0 or verdict.tolerance:
        tolerance = "the tolerance and " if amount.low > 0 else ""
        return f"{change}, within {tolerance}the margin {number(verdict.margin, digits)}"
    if verdict.p_holm < LEVEL:
        least = number(verdict.least, digits)
        return f"{change}, worse beyond chance, but by less than {least}, which counts as unchanged"
    ends, margin = f"{number(amount.low, digits)} to {number(amount.high, digits)}", number(verdict.margin, digits)
    return f"worse by {ends}, within the margin {margin}; not beyond chance among {among} verdicts"


def _beside_limits(verdict: Worsening, limits: str) -> str:
    """Whether the value exceeds its limits, by how much, and what that means."""
    beyond = verdict.amount.value > 0
    size = signed_value(verdict.amount if beyond else negative(verdict.amount), _digits(verdict))
    text = f"{'exceeds' if beyond else 'is within'} {limits} by {size}"
    if verdict.answer == "worse":
        return f"{text}, beyond chance{_correction(verdict)}"
    return text if verdict.answer == "not worse" else f"{text}: the interval reaches beyond them, cannot tell"


def _correction(verdict: Worsening) -> str:
    tolerance = f", tolerance {number(verdict.tolerance, _digits(verdict))}" if verdict.tolerance else ""
    return f": p {p_value(verdict.p_holm)} after Holm{tolerance}"


def summary(result: GateResult) -> str:
    """Markdown for a pull request: the answer, a table of verdicts, and what could not be judged."""
    rows: list[tuple[Cell, ...]] = []
    for each in _listed(result):
        measure, name = _name(each).split(" ", 1)
        before, after, margin, detectable = (
            number(value, _digits(each)) for value in (each.a_value, each.b_value, each.margin, each.detectable)
        )
        change = "unchanged" if _is_unchanged(each) else signed_value(each.amount, _digits(each))
        mark = MARKS[each.answer]
        rows.append((mark, each.data, measure, name, before, after, change, margin, detectable, each.n))
    table = markdown.table(Table("", COLUMNS, tuple(rows))) if rows else ""
    others = "\n".join(f"- {markdown.text(str(each))}" for each in entries(result)[len(rows) :])
    parts = (f"### {SUITE}: {summary_line(result)}", table, others)
    return "\n\n".join(part for part in parts if part) + "\n"


def junit(result: GateResult) -> str:
    """JUnit XML: a test case for each entry; a verdict of cannot tell is an error, a note passes."""
    cases = [_case(each) for each in entries(result)]
    tags = [child.tag for case in cases for child in case]
    counts = {"tests": len(cases), "failures": tags.count("failure"), "errors": tags.count("error"), "time": 0}
    attributes = {"name": SUITE, **{name: str(count) for name, count in counts.items()}}
    root = Xml.Element("testsuites", attributes)
    Xml.SubElement(root, "testsuite", attributes | {"skipped": "0"}).extend(cases)
    Xml.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{Xml.tostring(root, encoding="unicode")}\n'


def _case(entry: GateEntry) -> Xml.Element:
    case = Xml.Element("testcase", classname=f"unmask.{entry.data}", name=entry.name, time="0")
    if entry.mark in ("FAIL", "CANNOT TELL"):
        tag = "failure" if entry.mark == "FAIL" else "error"
        Xml.SubElement(case, tag, type=entry.mark, message=entry.text).text = entry.text
    Xml.SubElement(case, "system-out").text = entry.text
    return case
