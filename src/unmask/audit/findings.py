"""The findings of an audit that `print` and the command show: headlines, tables, what measures read, checks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unmask.audit.headline import headlines, published_line
from unmask.audit.interpretation import (
    ALIKE,
    BALANCED_SCORE,
    DOUBTFUL,
    WEAK,
    all_pairs,
    count_items,
    digits_of,
    failure,
    interval,
    plural_unit,
    short_reading,
    slot_sides,
)
from unmask.audit.verdict import cautions
from unmask.core.estimate import NAN, Estimate
from unmask.findings import Cell, Finding, Section, Table
from unmask.findings.numbers import number, signed_number

if TYPE_CHECKING:
    from unmask.audit.result import AuditResult

SHOWN = 3  # words shown at each end of a ranking
SEEN = 0.005  # a smaller lean is printed as 0.00
ITEM = "item"  # the unit of estimates whose items share nothing
COLUMNS = ("measure", "score", "95% interval", "all pairs", "n", "ties", "unscored", "verdict")


def findings_of(result: AuditResult) -> tuple[Section, ...]:
    """The model, the headlines of every dataset in words and as a table, what the measures read, and the checks."""
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
        Section("measures", "what the measures read", "", Finding(tuple(_meanings(result)), ())),
        Section("checks", "checks", "", Finding(tuple(_check_lines(result)), ())),
    )


def _dataset(result: AuditResult, card: Mapping[str, Any]) -> Section:
    name = str(card["name"])
    estimates = [e for e in result.headlines() if e.data == name]
    unverified = ", unverified copy" if card.get("verified") is False else ""
    known = (line for e in estimates if (line := published_line(result, e)))
    lines = (
        *headlines(result, name),
        *_leaning_words(result, name),
        *_unit_lines([e for e in result.headlines(published=True) if e.data == name], estimates),
        *cautions(result, estimates),
    )
    both = any(e.statistic == BALANCED_SCORE for e in estimates)
    notes = f"score: {ALIKE}" if both else "", f"† {WEAK}" if failure(result, name) == DOUBTFUL else ""
    table = _table(result, estimates, "; ".join(filter(None, notes)))
    finding = Finding((*lines, *known), (table,), notes=tuple(card.get("warnings", ())[:3]))
    size = f" ({count}{unverified})" if (count := count_items(card)) else ""
    return Section(name, f"{card.get('title') or name}{size}", "", finding)


def _table(result: AuditResult, estimates: Sequence[Estimate], note: str) -> Table:
    """One line a measure; columns that are not of every dataset are there only if they say something."""
    rows: list[tuple[Cell, ...]] = []
    for e in estimates:
        digits, plain = digits_of(e.statistic), all_pairs(result, e)
        counts = e.n, e.ties, e.unscored
        every = None if plain is None else number(plain.value, digits)
        rows.append((e.measure, number(e.value, digits), interval(e, digits), every, *counts, short_reading(result, e)))
    shown = [
        index for index, name in enumerate(COLUMNS)
        if name not in ("all pairs", "ties", "unscored") or any(row[index] for row in rows)
    ]  # fmt: skip
    cells = tuple(tuple(row[index] for index in shown) for row in rows)
    return Table("", tuple(COLUMNS[index] for index in shown), cells, note)


def _meanings(result: AuditResult) -> list[str]:
    """What each measure reads, once."""
    return [f"{name}: {result.measure(name).reads}" for name in dict.fromkeys(e.measure for e in result.headlines())]


def _unit_lines(published: Iterable[Estimate], shown: Sequence[Estimate]) -> list[str]:
    """What the intervals are over, if not single items, and the range of the design effects over all pairs."""
    effects: dict[str, list[float]] = {}
    whole = " over all pairs" if any(estimate.statistic == BALANCED_SCORE for estimate in shown) else ""
    for estimate in published:
        if estimate.unit not in ("", ITEM):
            effects.setdefault(estimate.unit, []).extend([estimate.design_effect or NAN])
    lines = []
    for unit, found in effects.items():
        known = sorted(effect for effect in found if math.isfinite(effect))
        spread = " to ".join(dict.fromkeys(number(effect, 2) for effect in (known[0], known[-1]))) if known else ""
        lines.append(f"intervals over {plural_unit(unit)}" + (f", design effect{whole} {spread}" if spread else ""))
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
        lines = [f"{'ok  ' if check.ok else 'FAIL'} {check.name}: {check.detail}" for check in result.checks]
        return [*lines, *(f"note {each.name}: {each.detail}" for each in result.descriptions)]
    lines = [f"FAIL {check.name}: {check.detail}" for check in result.checks if not check.ok]
    for card in result.meta["data"]:
        passed = [check for check in result.checks if check.ok and check.name.startswith(f"{card['name']}/")]
        known = [each.detail for each in passed if each.name.endswith(("/masked-accuracy", "/next-token-accuracy"))]
        lines.append(f"ok   {card['name']}: {len(passed)} passed{f'; {known[0]}' if known else ''}")
    return lines
