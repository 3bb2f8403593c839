"""A gate in words: lines for the terminal, Markdown for pull requests, JUnit XML for test reports."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal
from xml.etree import ElementTree as Xml

from unmask.audit.gate import GateResult, plain_statistic, unit_of
from unmask.core.errors import one_line
from unmask.core.statistic import LEVEL, statistic
from unmask.core.types import ONE_TRAINING
from unmask.findings import Cell, Table, markdown
from unmask.findings.numbers import number, p_value, signed_number, signed_value

if TYPE_CHECKING:
    from unmask.stats.worsening import Answer, Worsening

Mark = Literal["pass", "FAIL", "CANNOT TELL", "note"]
MARKS: dict[Answer, Mark] = {"not worse": "pass", "worse": "FAIL", "missing": "FAIL", "cannot tell": "CANNOT TELL"}
NO_CHANGE = "no change"  # method where the runs agree on every item
SUITE = "unmask gate"
COLUMNS = (
    *("verdict", "data", "measure", "statistic", "baseline", "run", "worsening (95% interval)", "margin"),
    *("found in 80 of 100", "n"),
)


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
    found = [GateEntry(MARKS[each.answer], each.data, _name(each), describe(each, among)) for each in _listed(result)]
    found += _by_type(result)
    mark: Mark = "note" if result.allow_missing else "FAIL"
    found += [GateEntry(mark, each.data, each.measure, f"missing: {each.detail}") for each in result.missing]
    found += [GateEntry("FAIL", "check", check.name, check.detail) for check in result.failed_checks]
    found += [GateEntry("note", *name, "not in the baseline, not judged") for name in result.not_judged]
    return [GateEntry(each.mark, *map(one_line, (each.data, each.name, each.text))) for each in found]


def _listed(result: GateResult) -> list[Worsening]:
    """The verdicts over all items, and those on bias types that are worse."""
    return [each for each in result.verdicts if each.group == "all" or each.answer == "worse"]


def _by_type(result: GateResult) -> list[GateEntry]:
    """A line for each dataset and measure: how many bias types are not worse, and what could go unseen in one."""
    groups: dict[tuple[str, str], list[Worsening]] = {}
    worse = {(each.data, each.measure, each.group) for each in result.verdicts if each.answer == "worse"}
    for each in result.verdicts:
        if each.group != "all" and (each.data, each.measure, each.group) not in worse:
            groups.setdefault((each.data, each.measure), []).append(each)
    entries = []
    for (data, measure), verdicts in groups.items():
        types = len({each.group for each in verdicts})
        if all(each.amount.method == NO_CHANGE for each in verdicts):
            found = f"{types} bias type{'s' if types > 1 else ''} unchanged"
        else:
            least = _sizes([each for each in verdicts if each.least], lambda each: each.least, " or ")
            unseen = _sizes(verdicts, lambda each: min(max(each.detectable, each.least), _largest(each)), " or ")
            found = f"{types} bias type{'s' if types > 1 else ''}, none worse beyond chance"
            found += f" by {least} or more" if least else ""
            found += f"; less than {unseen} in one could go unseen" if unseen else ""
        entries.append(GateEntry("pass", data, f"{measure} by bias type", found))
    return entries


def _sizes(verdicts: Sequence[Worsening], size: Callable[[Worsening], float], joint: str = " and ") -> str:
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
    n = len(result.verdicts)
    answers = [verdict.answer for verdict in result.verdicts if verdict.group == "all" or verdict.answer == "worse"]
    whole = sum(verdict.group == "all" for verdict in result.verdicts)
    verdicts = _count(n)
    if result.answer == "pass":
        rest = f" over all items; worse in none of {n - whole} by bias type" if n != whole else ""
        return f"PASS: {_passed(result)} in {_count(whole)}{rest}"
    if result.answer == "cannot tell":
        where = _count(whole) + (" over all items" if whole != n else "")
        unsure = [each for each in result.verdicts if each.group == "all" and each.answer == "cannot tell"]
        return f"CANNOT TELL: {len(unsure)} of {where}: {_remedy(unsure)}"
    missing = 0 if result.allow_missing else len(result.missing)
    worse = [verdict.against for verdict in result.verdicts if verdict.answer == "worse"]
    reasons = {
        f"worse in {worse.count('baseline')} of {verdicts}": worse.count("baseline"),
        f"beyond a limit in {worse.count('limit')} of {verdicts}": worse.count("limit"),
        f"no value in {answers.count('missing')} of {verdicts}": answers.count("missing"),
        "data or items of the baseline are missing (--allow-missing accepts that)": missing,
        "a check failed": len(result.failed_checks),
    }
    text = f"FAIL: {'; '.join(text for text, count in reasons.items() if count)}"
    if worse.count("baseline") and result.baselines == 1:
        text += f". {_one_baseline(result.kind)}"
    return text


def _remedy(unsure: Sequence[Worsening]) -> str:
    """What would let the gate tell."""
    if any(each.amount.method == ONE_TRAINING for each in unsure):
        return "train several times (--seeds)"
    margins = _sizes([each for each in unsure if each.margin], lambda each: each.margin or 0.0)
    return f"use more items, or accept a larger margin{f' than {margins}' if margins else ''}"


def _one_baseline(kind: str) -> str:
    """What a failure against one baseline does not say, and what would."""
    if kind == "audit":
        return "These two checkpoints differ; whether the training makes models worse needs several baselines"
    if kind == "corpus":
        return "These two results differ; a corpus is judged by the mean over several trainings of each (--seeds)"
    return "These two results differ; another seed may differ as much, and only audits take several baselines"


def _count(n: int) -> str:
    return f"{n} verdict{'s' if n != 1 else ''}"


def _passed(result: GateResult) -> str:
    """What a pass says: the worsening that is excluded, over all items."""
    judged = [each for each in result.verdicts if each.against == "baseline" and each.group == "all"]
    limits = any(each.against == "limit" for each in result.verdicts)
    if not judged:
        return "within the limits"
    changed = [each for each in judged if each.amount.method != NO_CHANGE]
    found = f"not worse by more than {_margins(changed)}" if changed else "unchanged"
    return f"{found}, and within the limits," if limits else found


def _margins(verdicts: Sequence[Worsening]) -> str:
    """The largest margin in each unit, and the usual one where the items are too few for that."""
    parts = []
    for unit in dict.fromkeys(unit_of(each.statistic) for each in verdicts):
        own = [each for each in verdicts if unit_of(each.statistic) == unit]
        widest = max(own, key=lambda each: each.margin or 0.0)
        margin, least = (number(size, _digits(widest)) for size in (widest.margin, widest.least))
        by_data = widest.least and margin != least and unit != "nats"
        text = _sizes(own, lambda each: each.margin or 0.0)
        parts.append(f"{text} (too few items for {least})" if by_data else text)
    return " and ".join(filter(None, parts))


def describe(verdict: Worsening, among: int = 1) -> str:
    """The values, the worsening with its interval, and what it means."""
    if verdict.answer == "missing":
        return "cannot be judged: a value is missing"
    before, after = (number(value, _digits(verdict)) for value in (verdict.a_value, verdict.b_value))
    if verdict.against == "baseline":
        items = "item is" if verdict.left_out == 1 else "items are"
        apart = f"; {verdict.left_out:,} {items} not scored in both runs" if verdict.left_out else ""
        return f"{before} → {after}, {_reading(verdict, among)} (n {verdict.n:,}{apart})"
    mirror = number(2 * (verdict.null or 0.0) - verdict.a_value, _digits(verdict))
    return f"{after} {_limit_reading(verdict, f'the limits {mirror} and {before}')} (n {verdict.n:,})"


def _name(verdict: Worsening) -> str:
    group = "" if verdict.group == "all" else f", {verdict.group.partition('=')[2]}"
    return f"{verdict.measure} {verdict.statistic}{group}{' limit' if verdict.against == 'limit' else ''}"


def _digits(verdict: Worsening) -> int:
    return plain_statistic(verdict.statistic).digits


def _largest(verdict: Worsening) -> float:
    return plain_statistic(verdict.statistic).largest_worsening


def _worsening(verdict: Worsening) -> str:
    """The worsening with its interval: signed, or in words where it is not the change from a to b."""
    digits, amount = _digits(verdict), verdict.amount
    if math.isclose(verdict.b_value - verdict.a_value, amount.value, abs_tol=1e-9):
        return signed_value(amount, digits)
    ends = (amount.low, amount.high) if amount.value > 0 else (-amount.high, -amount.low)
    low, high = (number(end, digits) for end in ends)
    return f"{number(abs(amount.value), digits)} {_way(verdict)} ({low} to {high})"


def _way(verdict: Worsening) -> str:
    """Where the value moved."""
    worse = verdict.amount.value > 0
    better = statistic(verdict.statistic).better
    if better in ("higher", "lower"):
        return "higher" if worse == (better == "lower") else "lower"
    return f"{'farther from' if worse else 'nearer to'} {verdict.null or 0.0:g}"


def _reading(verdict: Worsening, among: int) -> str:
    """The worsening, and what it means."""
    if verdict.amount.method == NO_CHANGE:
        return "unchanged"
    digits = _digits(verdict)
    change, margin = _worsening(verdict), number(verdict.margin, digits)
    if verdict.answer == "worse":
        side = f"on the other side of {verdict.null or 0.0:g} now, by more than {margin}"
        found = side if verdict.turned else f"{change}, worse beyond chance"
        return f"{found}{_correction_text(verdict, digits)}"
    if not verdict.amount.has_interval:
        return f"{signed_number(verdict.amount.value, digits)} without an interval: {verdict.amount.method}"
    if verdict.answer == "cannot tell":
        visible = f"a worsening of {number(verdict.detectable, digits)} would be found in 80 of 100 cases"
        found = visible if verdict.detectable <= _largest(verdict) else "these data would hardly show any worsening"
        return f"{change}; the margin is {margin}, {found}"
    return _passing(verdict, among)


def _passing(verdict: Worsening, among: int) -> str:
    """A worsening that is within the margin."""
    digits = _digits(verdict)
    change, margin = _worsening(verdict), number(verdict.margin, digits)
    if verdict.amount.high <= 0:
        return change if (way := _way(verdict)) in change else f"{change}, {way}"
    if verdict.amount.low > 0 and not verdict.tolerance:
        if verdict.p_holm < LEVEL:
            least = number(verdict.least, digits)
            return f"{change}, worse beyond chance, but by less than {least}, which counts as unchanged"
        ends = f"{number(verdict.amount.low, digits)} to {number(verdict.amount.high, digits)}"
        return f"worse by {ends}, within the margin {margin}; not beyond chance among {among} verdicts"
    return f"{change}, within {'the tolerance and ' if verdict.amount.low > 0 else ''}the margin {margin}"


def _limit_reading(verdict: Worsening, limits: str) -> str:
    """Whether the value exceeds its limits, by how much, and what that means."""
    digits, beyond = _digits(verdict), verdict.amount
    if beyond.value > 0:
        text = f"exceeds {limits} by {signed_value(beyond, digits)}"
    else:
        inside = replace(beyond, value=-beyond.value, low=-beyond.high, high=-beyond.low)
        text = f"is within {limits} by {signed_value(inside, digits)}"
    if verdict.answer == "worse":
        return f"{text}, beyond chance{_correction_text(verdict, digits)}"
    return text if verdict.answer == "not worse" else f"{text}: the interval reaches beyond them, cannot tell"


def _correction_text(verdict: Worsening, digits: int) -> str:
    tolerance = f", tolerance {number(verdict.tolerance, digits)}" if verdict.tolerance else ""
    return f": p {p_value(verdict.p_holm)} after Holm{tolerance}"


def summary(result: GateResult) -> str:
    """Markdown for a pull request: the answer, a table of verdicts, and what could not be judged."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            *(MARKS[each.answer], each.data, *_name(each).split(" ", 1)),
            *(number(value, _digits(each)) for value in (each.a_value, each.b_value)),
            "unchanged" if each.amount.method == NO_CHANGE else signed_value(each.amount, _digits(each)),
            *(number(value, _digits(each)) for value in (each.margin, each.detectable)),
            each.n,
        )
        for each in _listed(result)
    )
    table = markdown.table(Table("", COLUMNS, rows)) if rows else ""
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
