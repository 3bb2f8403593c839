"""What the estimates of an audit say in plain words, and the findings that `print` and the command show.

A score near its null is "no preference found by this measure", never "no bias".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from unmask.core.estimate import NAN, Estimate
from unmask.findings import Cell, Finding, Section, Table
from unmask.findings.envelope import Result
from unmask.findings.numbers import number, signed_number

if TYPE_CHECKING:
    from unmask.audit.result import AuditResult

ALPHA = 0.05
SHOWN = 3  # words shown at each end of a ranking
SEEN = 0.005  # a smaller lean is printed as 0.00
GENDER = ("men", "women")  # the sides of templates, unless the data name their own words
DIFFERS, SAME, UNTESTED = "differs", "does not differ", "was not tested"
CHANGE = "change"  # of any statistic between two runs; its null is 0
DIRECTED = ("bias-score", "stereo-score", "antistereo-score", "ss", "mean-difference", CHANGE)
PERCENT = ("bias-score", "stereo-score", "antistereo-score", "lms", "ss", "icat", "direction-gap")
ITEM = "item"  # the unit of estimates whose items share nothing
COLUMNS = ("measure", "score", "95% interval", "n", "ties", "unscored", "what it means")

STATISTICS: Mapping[str, str] = {
    "bias-score": "pairs in which the stereotyping sentence scores higher (%)",
    "ss": "stereotyping word preferred to the anti-stereotyping one, mean over target terms (%)",
    "lms": "meaningful words preferred to unrelated ones, mean over target terms (%)",
    "icat": "language modelling ability and absence of preference combined, out of 100",
    "asld": "mean absolute difference of the two sentences' scores (nats)",
    "mean-difference": "mean difference of the two sentences' scores",
    "appd": "probability of the slot's first word minus that of the second, mean over templates and words",
    "association": "how much more a word raises the probability of the slot's first than of its second word (nats)",
    "effect-size": "mean association over words, in standard deviations",
    "third": "probability of a template's third word (they), mean over templates and words",
}
READINGS: Mapping[str, Mapping[str, str]] = {  # by place of the interval and statistic; "": all others
    "above": {
        "": "leans towards stereotypes",
        "lms": "prefers meaningful words to unrelated ones",
        "asld": "mean size of the difference within a pair; it has no direction",
        "direction-gap": "scores differ between pairs about advantaged and disadvantaged groups",
        "appd": "leans towards {first}",
        "association": "the words are associated with {first}",
        "effect-size": "the words are associated with {first}",
    },
    "within": {
        "": "no preference found by this measure",
        "lms": "meaningful and unrelated words are not distinguished",
        "asld": "no difference found by this measure",
        "direction-gap": "no difference found between pairs about advantaged and disadvantaged groups",
    },
    "below": {
        "": "leans against stereotypes",
        "lms": "prefers unrelated words to meaningful ones",
        "appd": "leans towards {second}",
        "association": "the words are associated with {second}",
        "effect-size": "the words are associated with {second}",
    },
    "no interval": {"": "no interval could be computed: do not read a preference into it"},
    "no null": {
        "": "has no null to compare with",
        "icat": "100 would be perfect language modelling without a preference",
    },
}


def count_items(card: Mapping[str, Any]) -> str:
    """`360 items`, or `60 of 360 items, a subset`; empty if unknown."""
    if not isinstance(n := card.get("n"), int):
        return ""
    whole = card.get("subset_of")
    return f"{n:,} item{'' if n == 1 else 's'}" if whole is None else f"{n:,} of {whole:,} items, a subset"


def subset_note(cards: Iterable[Mapping[str, Any]]) -> str:
    """Which data are subsets, in one sentence; empty if none is."""
    parts = [f"{card['name']} ({card['n']:,} of {card['subset_of']:,} items)" for card in cards if "subset_of" in card]
    return f"Measured on a subset of {' and '.join(dict.fromkeys(parts))}." if parts else ""


def digits_of(statistic: str) -> int:
    """Decimals to show: one for percentages, three otherwise."""
    return 1 if statistic in PERCENT else 3


def interval(estimate: Estimate, digits: int) -> str:
    """`58.0 to 62.9`, or `none`."""
    return f"{number(estimate.low, digits)} to {number(estimate.high, digits)}" if estimate.has_interval else "none"


def lean(estimate: Estimate) -> str:
    """Where the interval lies relative to the null."""
    if estimate.null is None or not estimate.has_interval:
        return "no null" if estimate.null is None else "no interval"
    if estimate.low > estimate.null:
        return "above"
    return "below" if estimate.high < estimate.null else "within"


def reading(estimate: Estimate, sides: tuple[str, str] = GENDER) -> str:
    """What the estimate says, in plain words; `sides`: of templates."""
    if not math.isfinite(estimate.value):
        return "not measured"
    words = READINGS[lean(estimate)]
    text = words.get(estimate.statistic, words[""])
    return text.replace("{first}", sides[0]).replace("{second}", sides[1])


def result_reading(result: AuditResult, estimate: Estimate) -> str:
    """What an estimate of a result says; that it says nothing if the model does not predict the tokens of the data."""
    if any(not check.ok and "accuracy" in check.name for check in result.checks):
        return "a check failed: do not interpret this number"
    return reading(estimate, slot_sides(result, estimate.data))


def slot_sides(result: Result, data: str) -> tuple[str, str]:
    """What the two sides of templates are called: men and women, or the words of the user's own slots."""
    card: Mapping[str, Any] = next((each for each in result.meta.get("data") or () if each.get("name") == data), {})
    return (f"“{card['sides'][0]}”", f"“{card['sides'][1]}”") if card.get("sides") else GENDER


def side_words(sides: tuple[str, str]) -> tuple[str, str]:
    """The words of the two sides: the masculine and the feminine word, or the user's own."""
    return ("the masculine word", "the feminine word") if sides == GENDER else sides


def holm(estimate: Estimate) -> str:
    """Whether a group differs from the null after Holm's correction."""
    if estimate.p_holm is None or not math.isfinite(estimate.p_holm):
        return UNTESTED
    return DIFFERS if estimate.p_holm < ALPHA else SAME


def findings_of(result: AuditResult) -> tuple[Section, ...]:
    """The model, the headline estimates of every dataset with their readings, and the checks."""
    model = result.meta["model"]
    size = f"{model['parameters']:,} parameters" if model.get("parameters") else ""
    place = f"{model['dtype']} on {model['device']}" if {"dtype", "device"} <= model.keys() else ""
    facts = ", ".join(filter(None, (model.get("architecture"), size, place)))
    title = f"{model['id']} ({facts})" if facts else model["id"]
    known = model.get("kind") == "causal" and "begin_rule" in model
    rule = (f"begin-of-text rule: {model['begin_rule']}",) if known else ()
    return (
        Section("model", title, "", Finding(rule, (), notes=tuple(model.get("warnings", ())))),
        *(_dataset(result, card) for card in result.meta["data"]),
        Section("checks", "checks", "", Finding(tuple(_check_lines(result)), ())),
    )


def _dataset(result: AuditResult, card: Mapping[str, Any]) -> Section:
    from unmask.audit.verdict import cautions

    name, rows = str(card["name"]), list[tuple[Cell, ...]]()
    headlines = [e for e in result.headlines() if e.data == name]
    for e in headlines:
        digits, measure = digits_of(e.statistic), result.find_measure(e.measure)
        meaning = result_reading(result, e)
        meaning += f" ({measure.reads})" if measure else ""
        rows.append((e.measure, number(e.value, digits), interval(e, digits), e.n, e.ties, e.unscored, meaning))
    unverified = ", unverified copy" if card.get("verified") is False else ""
    lines = (*_leaning_words(result, name), *_unit_lines(headlines), *cautions(headlines))
    finding = Finding(lines, (Table("", COLUMNS, tuple(rows)),), notes=tuple(card.get("warnings", ())[:3]))
    size = f" ({count}{unverified})" if (count := count_items(card)) else ""
    return Section(str(card["name"]), f"{card.get('title') or card['name']}{size}", "", finding)


def _unit_lines(headlines: Iterable[Estimate]) -> list[str]:
    """What the intervals are over, if not single items, and the range of the design effects."""
    effects: dict[str, list[float]] = {}
    for estimate in headlines:
        if estimate.unit not in ("", ITEM):
            effects.setdefault(estimate.unit, []).extend([estimate.design_effect or NAN])
    lines = []
    for unit, found in effects.items():
        known = sorted(effect for effect in found if math.isfinite(effect))
        spread = " to ".join(dict.fromkeys(number(effect, 2) for effect in (known[0], known[-1]))) if known else ""
        units = " × ".join(f"{part}s" for part in unit.split(" × "))
        lines.append(f"intervals over {units}" + (f", design effect {spread}" if spread else ""))
    return lines


def _leaning_words(result: AuditResult, data: str) -> tuple[str, ...]:
    """For template data: the words with the largest values, and the mean over words that have a gender."""
    found = [e for e in result.estimates if e.data == data and e.statistic in ("appd", "third")]
    found = [e for e in found if e.measure == found[0].measure]  # of several such measures, the first
    by_group = {e.group: e.value for e in found if e.statistic == "appd"}
    if not by_group:
        return ()
    items = result.items
    groups = [
        items[name].to_pylist() if name in items.column_names else [None] * len(items) for name in ("word", "goal")
    ]
    neutral = {f"word={word}" for word, goal in zip(*groups, strict=True) if goal == "zero"}
    words = sorted((value, group) for group, value in by_group.items() if group in neutral)
    if not words:
        return ()
    ends = [each for each in words[::-1] if each[0] >= SEEN], [each for each in words if each[0] <= -SEEN]
    lines = [
        f"furthest towards {whom}: "
        + (", ".join(f"{group.partition('=')[2]} {signed_number(value)}" for value, group in ranked[:SHOWN]) or "none")
        for whom, ranked in zip(slot_sides(result, data), ends, strict=True)
    ]
    lines += [
        f"mean probability of the third word: {number(e.value, 3)} ({interval(e, 3)}, n {e.n})"
        for e in found
        if (e.statistic, e.group) == ("third", "all")
    ]
    proper = {"women": by_group.get("goal=female"), "men": by_group.get("goal=male")}
    gendered = ", ".join(f"for {whom} {signed_number(value)}" for whom, value in proper.items() if value is not None)
    return (*lines, *([f"gendered words {gendered}: these should lean"] if gendered else ()))


def _check_lines(result: AuditResult) -> list[str]:
    """All checks of one dataset; of several, the failed ones and one summary line for each dataset."""
    if len(result.meta["data"]) == 1:
        return [f"{'ok  ' if check.ok else 'FAIL'} {check.name}: {check.detail}" for check in result.checks]
    lines = [f"FAIL {check.name}: {check.detail}" for check in result.checks if not check.ok]
    for card in result.meta["data"]:
        passed = [check for check in result.checks if check.ok and check.name.startswith(f"{card['name']}/")]
        known = [each.detail for each in passed if each.name.endswith(("/masked-accuracy", "/next-token-accuracy"))]
        lines.append(f"ok   {card['name']}: {len(passed)} passed{f'; {known[0]}' if known else ''}")
    return lines
