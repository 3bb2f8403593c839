"""The findings of an audit that `print` and the command show: headlines, tables, what measures read, checks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from unmask.audit.interpretation import (
    Interpretation,
    all_pairs,
    count_items,
    count_tested,
    data_card,
    data_title,
    doubt_of,
    interpret,
    interval,
    published_scores,
    slot_sides,
)
from unmask.audit.measure_facts import cautions, detectable_line, validity_line
from unmask.core.estimate import NAN, Estimate
from unmask.core.statistic import statistic
from unmask.findings import Cell, Finding, Section, Table
from unmask.findings.numbers import number, plural_unit, signed_number
from unmask.findings.sentences import ALIKE, CHANCE, FAILED, WEAK
from unmask.measures import HEADLINE_ORDER

if TYPE_CHECKING:
    from unmask.audit.result import AuditResult

SHOWN = 3  # words shown at each end of a ranking
SEEN = 0.005  # a smaller lean is printed as 0.00
ITEM = "item"  # the unit of estimates whose items share nothing
COLUMNS = ("measure", "score", "95% interval", "all pairs", "n", "ties", "unscored", "verdict")
OPTIONAL = ("all pairs", "ties", "unscored")  # columns that are there only if they say something


@dataclass(frozen=True, slots=True)
class Verdict:
    """The parts of a verdict on a headline, each a sentence without its full stop."""

    leans: str  # the headline in plain words, then the code name, the interval, the null and n
    known: str  # published scores of known models; empty if there are none
    detectable: str  # the difference between two models that the data would show; empty without an interval
    validity: str

    @property
    def finding(self) -> str:
        """What was found, and what known models have."""
        return ". ".join(part for part in (self.leans, self.known) if part) + "."

    @property
    def caution(self) -> str:
        """What every reader of the number should know: of known models, of the data and of the measure."""
        return ". ".join(part for part in (self.known, self.detectable, self.validity) if part) + "."

    def __str__(self) -> str:
        """The whole verdict."""
        return f"{self.leans}. {self.caution}"


def verdict(result: AuditResult, estimate: Estimate) -> Verdict:
    """The verdict on a headline estimate of an audit, which page, Markdown and model card print."""
    known = interpret(result, estimate)
    words = f"On {estimate.data} {FAILED}" if known.doubt == "invalid" else known.statement
    name = " ".join(dict.fromkeys((estimate.measure, estimate.statistic)))
    ends = f"95% interval {known.interval}" if estimate.has_interval else "no interval"
    null = "" if estimate.null is None else f", reference value {number(estimate.null, 0)}"
    leans = f"{words} ({name} {known.value}, {ends}{null}, n {estimate.n:,})"
    leans += f"; {WEAK}" if known.doubt == "doubtful" else ""
    published = published_line(result, estimate)
    return Verdict(leans, published, detectable_line(estimate), validity_line(result, estimate))


def headlines(result: AuditResult, data: str) -> list[str]:
    """What was found on a dataset, in sentences: by one measure first, then by the others.

    Which is first does not depend on the numbers: it is the first in a fixed order of which no check failed. Baselines
    are no evidence, and a size without direction is said only if there is nothing else to say.
    """
    finite = [interpret(result, e) for e in result.headlines() if e.data == data and math.isfinite(e.value)]
    ranked = sorted([each for each in finite if not each.baseline] or finite, key=_rank)
    if not ranked:
        return []
    if ranked[0].doubt == "invalid":
        return [f"On {data_title(result, data)}: {FAILED}"]
    shares, slots, others = (
        [each for each in ranked if each.facts.question == question] for question in ("pairs", "slots", "other")
    )
    first = partial(_first, tested=count_tested(result, data))
    lines = [*map(first, shares[:1]), *([_others(shares[1:])] if shares[1:] else []), *map(first, slots)]
    directed = [each for each in others if each.facts.better != "lower"]
    return [*lines, *map(first, others if not lines and not directed else directed)]


def published_line(result: AuditResult, estimate: Estimate) -> str:
    """The scores of known models in one sentence with its sources; empty if there are none."""
    plain = all_pairs(result, estimate)
    scores = published_scores(result, plain or estimate)
    if not scores:
        return ""
    listed = ", ".join(f"{score.model} {number(score.value, 1)}" for score in scores)
    whole = f" over all pairs, here {number(plain.value, 1)}" if plain is not None else ""
    whole += " on all items" if "subset_of" in data_card(result, estimate.data) else ""
    sources = "; ".join(dict.fromkeys(score.where for score in scores))
    return f"Published with {estimate.measure}{whole}: {listed} ({sources})"


def _rank(known: Interpretation) -> tuple[int, int]:
    """By what failed checks make of the number, then in the fixed order of measures; others come after these."""
    name, order = known.estimate.measure, HEADLINE_ORDER
    return ("", "doubtful", "invalid").index(known.doubt), order.index(name) if name in order else len(order)


def _first(known: Interpretation, *, tested: int) -> str:
    """The sentence of a headline, with the family of its test and, if a check failed, a dagger."""
    notes = [] if known.plain is None else [f"all pairs: {number(known.plain.value, 0)}%"]
    if known.estimate.p_holm is not None and tested > 1:
        notes.append(f"{tested} measures tested, corrected by Holm")
    family = f" ({'; '.join(notes)})" if notes else ""
    return f"{known.statement}{family}{known.dagger}"


def _others(readings: Sequence[Interpretation]) -> str:
    """Shares of pairs by the other measures, by what chance makes of them."""
    by_verdict: dict[str, list[str]] = {}
    for known in readings:
        failed, name = known.doubt == "invalid", known.estimate.measure
        value = name if failed else f"{name} {number(known.estimate.value, 0)}%{known.dagger}"
        by_verdict.setdefault(FAILED if failed else CHANCE[known.place], []).append(value)
    order = [*CHANCE.values(), FAILED]
    parts = [f"{', '.join(by_verdict[words])}, {words}" for words in order if words in by_verdict]
    return f"Other measures: {'; '.join(parts)}"


def findings_of(result: AuditResult) -> tuple[Section, ...]:
    """The model, the headlines of every dataset in words and as a table, what the measures read, and the checks."""
    model = result.meta["model"]
    size = f"{model['parameters']:,} parameters" if model.get("parameters") else ""
    device = f"{model['dtype']} on {model['device']}" if {"dtype", "device"} <= model.keys() else ""
    facts = ", ".join(filter(None, (model.get("architecture"), size, device)))
    title = f"{model['id']} ({facts})" if facts else model["id"]
    known = model.get("kind") == "causal" and "begin_rule" in model
    rule = (f"begin-of-text rule: {model['begin_rule']}",) if known else ()
    meanings = (
        f"{name}: {result.measure(name).reads}" for name in dict.fromkeys(e.measure for e in result.headlines())
    )
    return (
        Section("model", title, "", Finding(rule, (), notes=tuple(model.get("warnings", ())))),
        *(_dataset(result, card) for card in result.meta["data"]),
        Section("measures", "what the measures read", "", Finding(tuple(meanings), ())),
        Section("checks", "checks", "", Finding(tuple(_check_lines(result)), ())),
    )


def _dataset(result: AuditResult, card: Mapping[str, Any]) -> Section:
    name = str(card["name"])
    estimates = [e for e in result.headlines() if e.data == name]
    unverified = ", unverified copy" if card.get("verified") is False else ""
    lines = (
        *headlines(result, name),
        *_leaning_words(result, name),
        *_unit_lines([e for e in result.headlines(published=True) if e.data == name], estimates),
        *cautions(result, estimates),
        *(line for e in estimates if (line := published_line(result, e))),
    )
    both = any(statistic(e.statistic).is_balanced for e in estimates)
    notes = f"score: {ALIKE}" if both else "", f"† {WEAK}" if doubt_of(result, name) == "doubtful" else ""
    table = _table([interpret(result, e) for e in estimates], "; ".join(filter(None, notes)))
    finding = Finding(lines, (table,), notes=tuple(card.get("warnings", ())[:3]))
    size = f" ({count}{unverified})" if (count := count_items(card)) else ""
    return Section(name, f"{card.get('title') or name}{size}", "", finding)


def _table(readings: Sequence[Interpretation], note: str) -> Table:
    """One line a measure; columns that are not of every dataset are there only if they say something."""
    rows: list[dict[str, Cell]] = []
    for known in readings:
        e, plain = known.estimate, known.plain
        every = None if plain is None else number(plain.value, known.facts.digits)
        cells = (e.measure, known.value, known.interval, every, e.n, e.ties, e.unscored, known.short)
        rows.append(dict(zip(COLUMNS, cells, strict=True)))
    shown = tuple(name for name in COLUMNS if name not in OPTIONAL or any(row[name] for row in rows))
    return Table("", shown, tuple(tuple(row[name] for name in shown) for row in rows), note)


def _unit_lines(published: Iterable[Estimate], shown: Sequence[Estimate]) -> list[str]:
    """What the intervals are over, if not single items, and the range of the design effects over all pairs."""
    effects: dict[str, list[float]] = {}
    whole = " over all pairs" if any(statistic(e.statistic).is_balanced for e in shown) else ""
    for estimate in published:
        if estimate.unit not in ("", ITEM):
            effects.setdefault(estimate.unit, []).append(estimate.design_effect or NAN)
    lines = []
    for unit, of_unit in effects.items():
        known = sorted(effect for effect in of_unit if math.isfinite(effect))
        spread = " to ".join(dict.fromkeys(number(effect, 2) for effect in (known[0], known[-1]))) if known else ""
        lines.append(f"intervals over {plural_unit(unit)}" + (f", design effect{whole} {spread}" if spread else ""))
    return lines


def _leaning_words(result: AuditResult, data: str) -> tuple[str, ...]:
    """For template data: the words with the largest values, and the mean over words that have a gender."""
    of_data = [e for e in result.estimates if e.data == data and e.statistic in ("appd", "third")]
    of_data = [e for e in of_data if e.measure == of_data[0].measure]  # of several such measures, the first
    by_group = {e.group: e.value for e in of_data if e.statistic == "appd"}
    items = result.items
    if not by_group or not {"word", "goal"} <= {*items.column_names}:
        return ()
    goals = zip(items["word"].to_pylist(), items["goal"].to_pylist(), strict=True)
    neutral = {f"word={word}" for word, goal in goals if goal == "zero"}
    words = sorted((value, group) for group, value in by_group.items() if group in neutral)
    if not words:
        return ()
    ends = [pair for pair in words[::-1] if pair[0] >= SEEN], [pair for pair in words if pair[0] <= -SEEN]
    lines = [
        f"furthest towards {whom}: "
        + (", ".join(f"{group.partition('=')[2]} {signed_number(value)}" for value, group in ranked[:SHOWN]) or "none")
        for whom, ranked in zip(slot_sides(result, data), ends, strict=True)
    ]
    lines += [
        f"mean probability of the third word: {number(e.value, 3)} ({interval(e, 3)}, n {e.n})"
        for e in of_data
        if (e.statistic, e.group) == ("third", "all")
    ]
    proper = {"women": by_group.get("goal=female"), "men": by_group.get("goal=male")}
    gendered = ", ".join(f"for {whom} {signed_number(value)}" for whom, value in proper.items() if value is not None)
    return (*lines, *([f"gendered words {gendered}: these should lean"] if gendered else ()))


def _check_lines(result: AuditResult) -> list[str]:
    """All checks of one dataset; of several, the failed ones and one summary line for each dataset."""
    if len(result.meta["data"]) == 1:
        lines = [f"{'ok  ' if check.ok else 'FAIL'} {check.name}: {check.detail}" for check in result.checks]
        return [*lines, *(f"note {check.name}: {check.detail}" for check in result.descriptions)]
    lines = [f"FAIL {check.name}: {check.detail}" for check in result.checks if not check.ok]
    for card in result.meta["data"]:
        passed = [check for check in result.checks if check.ok and check.name.startswith(f"{card['name']}/")]
        known = [check for check in passed if check.name.endswith(("/masked-accuracy", "/next-token-accuracy"))]
        lines.append(f"ok   {card['name']}: {len(passed)} passed{f'; {known[0].detail}' if known else ''}")
    return lines
