"""The headline of an audit in plain words: what the model prefers, how often, and whether chance explains it.

Terminal, page, Markdown and model card print these sentences; code names and reference values come after them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from unmask.audit.interpretation import (
    ALIKE,
    BALANCED_SCORE,
    BASELINE,
    DOUBTFUL,
    FAILED,
    INVALID,
    PERCENT,
    all_pairs,
    cancels,
    count_items,
    count_tested,
    digits_of,
    failure,
    interval,
    lean,
    reading,
    side_words,
    size_of_words,
    slot_sides,
)
from unmask.core.estimate import Estimate
from unmask.core.types import Published
from unmask.findings.numbers import number
from unmask.measures import HEADLINE_ORDER

if TYPE_CHECKING:
    from unmask.audit.result import AuditResult

CHANCE: Mapping[str, str] = {  # by the place of the interval
    "above": "more often than chance",
    "within": "which chance alone can explain",
    "below": "less often than chance",
    "no interval": "without an interval: it may be chance",
    "ties": "no direction, because most pairs are ties",
    "no null": "without a reference value to compare it with",
}
PREFERENCES = (BALANCED_SCORE, "bias-score", "ss")  # statistics that say which of two sentences is preferred
SLOTS = ("appd", "association")  # and which of two words in a template
_FEW = "too few items for a verdict"
SHARES: Mapping[str, tuple[str, str]] = {  # what is preferred, and in what
    BALANCED_SCORE: ("the stereotyping sentence", "pairs"),
    "bias-score": ("the stereotyping sentence", "pairs"),
    "ss": ("the stereotyping word", "cases"),
    "lms": ("a meaningful word to an unrelated one", "cases"),
}


def headlines(result: AuditResult, data: str) -> list[str]:
    """What was found on a dataset, in sentences: by one measure first, then by the others.

    Which is first does not depend on the numbers: it is the first in a fixed order of which no check failed. Baselines
    are no evidence, and a size without direction is said only if there is nothing else to say.
    """
    finite = [each for each in result.headlines() if each.data == data and math.isfinite(each.value)]
    evidence = [each for each in finite if not result.is_baseline(each.measure)] or finite
    if not (ranked := sorted(evidence, key=partial(_rank, result))):
        return []
    if failure(result, data, ranked[0].measure) == INVALID:
        return [f"On {_title(result, data)}: {FAILED}"]
    shares, slots, others = (
        [each for each in ranked if _question(each.statistic) == question] for question in ("pairs", "slots", "other")
    )
    directed = [each for each in others if each.statistic != "asld"]
    said = [_first(result, each) for each in shares[:1]]
    said += [_others(result, shares[1:])] if shares[1:] else []
    said += [_first(result, each) for each in slots]
    return said + [_first(result, each) for each in (others if not said and not directed else directed)]


def sentence(result: AuditResult, estimate: Estimate) -> str:
    """One estimate in plain words, with the name of its measure."""
    if not math.isfinite(estimate.value):
        return f"On {_title(result, estimate.data)} nothing could be measured by {estimate.measure}"
    where = _title(result, estimate.data)
    if estimate.statistic in SHARES:
        return f"On {where} {_share(result, estimate)}"
    write = _WRITERS.get(estimate.statistic, _other)
    return f"On {where}, by {estimate.measure}, {write(result, estimate)}"


def code(estimate: Estimate) -> str:
    """The names and numbers behind a sentence: `cps bias-score 56.7, 95% interval 51.6 to 61.6, …`."""
    digits = digits_of(estimate.statistic)
    name = f"{estimate.measure} {estimate.statistic}" if estimate.statistic != estimate.measure else estimate.measure
    ends = f"95% interval {interval(estimate, digits)}" if estimate.has_interval else "no interval"
    null = "" if estimate.null is None else f", reference value {number(estimate.null, 0)}"
    return f"{name} {number(estimate.value, digits)}, {ends}{null}, n {estimate.n:,}"


def published_scores(result: AuditResult, estimate: Estimate) -> list[Published]:
    """The scores of known models that papers print for the same data and measure, each model once, lowest first."""
    first: dict[str, Published] = {}
    for each in result.measure(estimate.measure).published if estimate.statistic == "bias-score" else ():
        if each.data == estimate.data:
            first.setdefault(each.model, each)
    return sorted(first.values(), key=lambda each: each.value)


def published_line(result: AuditResult, estimate: Estimate) -> str:
    """The same in one sentence with its sources; empty if there are none."""
    plain = all_pairs(result, estimate)
    scores = published_scores(result, plain or estimate)
    if not scores:
        return ""
    listed = ", ".join(f"{each.model} {number(each.value, 1)}" for each in scores)
    whole = f" over all pairs, here {number(plain.value, 1)}" if plain is not None else ""
    whole += " on all items" if "subset_of" in _card(result, estimate.data) else ""
    sources = "; ".join(dict.fromkeys(each.where for each in scores))
    return f"Published with {estimate.measure}{whole}: {listed} ({sources})"


def _question(statistic: str) -> str:
    """What a statistic answers; only answers to the same question are said together."""
    return "pairs" if statistic in PREFERENCES else "slots" if statistic in SLOTS else "other"


def _rank(result: AuditResult, estimate: Estimate) -> tuple[int, int]:
    """By what failed checks make of the number, then in the fixed order of measures; others come after these."""
    name, order = estimate.measure, HEADLINE_ORDER
    doubt = ("", DOUBTFUL, INVALID).index(failure(result, estimate.data, name))
    return doubt, order.index(name) if name in order else len(order)


def _first(result: AuditResult, estimate: Estimate) -> str:
    """The sentence of a headline, with the family of its test and, if a check failed, a dagger."""
    plain = all_pairs(result, estimate)
    notes = [f"all pairs: {number(plain.value, 0)}%"] if plain is not None else []
    tested = count_tested(result, estimate.data)
    if estimate.p_holm is not None and tested > 1:
        notes.append(f"{tested} measures tested, corrected by Holm")
    family = f" ({'; '.join(notes)})" if notes else ""
    return f"{sentence(result, estimate)}{family}{_dagger(result, estimate)}"


def _others(result: AuditResult, estimates: Sequence[Estimate]) -> str:
    """Shares of pairs by the other measures, by what chance makes of them."""
    by_verdict: dict[str, list[str]] = {}
    for each in estimates:
        failed = failure(result, each.data, each.measure)
        verdict = FAILED if failed == INVALID else _FEW if lean(each) == "too few" else CHANCE[lean(each)]
        value = "" if failed == INVALID else f" {number(each.value, 0)}%{_dagger(result, each)}"
        by_verdict.setdefault(verdict, []).append(f"{each.measure}{value}")
    order = [*CHANCE.values(), _FEW, FAILED]
    parts = [f"{', '.join(by_verdict[verdict])}, {verdict}" for verdict in order if verdict in by_verdict]
    return f"Other measures: {'; '.join(parts)}"


def _dagger(result: AuditResult, estimate: Estimate) -> str:
    return " †" if failure(result, estimate.data, estimate.measure) else ""


def _share(result: AuditResult, estimate: Estimate) -> str:
    what, whole = SHARES[estimate.statistic]
    size = f"{number(estimate.value, 0)}% of {whole}{_ends(estimate)}"
    alike = f", {ALIKE}" if estimate.statistic == BALANCED_SCORE else ""
    if result.is_baseline(estimate.measure):
        return f"{estimate.measure} prefers {what} in {size}{alike}: {BASELINE}"
    return (
        f"this model prefers {what} in {size} by {estimate.measure}{alike}, {_few(estimate) or CHANCE[lean(estimate)]}"
    )


def _size(result: AuditResult, estimate: Estimate) -> str:
    size = f"{number(estimate.value, 2)} nats{_ends(estimate)}"
    return f"the scores of the two sentences of a pair differ by {size} on average; this has no direction"


def _lean(result: AuditResult, estimate: Estimate) -> str:
    """The lean of templates; how far a single word leans is said too, because leans in both directions cancel."""
    first, second = side_words(slot_sides(result, estimate.data))
    place, unit = lean(estimate), " nats" if estimate.statistic == "association" else ""
    words = size_of_words(result, estimate)
    each = "" if words is None else f"a single word leans by {number(words.value, 2)}{unit} on average"
    if cancels(result, estimate):
        mean = f"on average {number(estimate.value, 2)}{unit}{_ends(estimate)}"
        return f"words lean both ways and cancel: {each}, either to {first} or to {second}, {mean}"
    if place in ("above", "below"):
        more, less = (first, second) if place == "above" else (second, first)
        size = f"by {number(abs(estimate.value), 2)}{unit}{_ends(estimate, turned=place == 'below')} on average"
        text = f"the words raise the probability of {more} more than that of {less}, {size}"
        text = text if unit else f"this model finds {more} more probable than {less}, {size}"
    elif place == "no interval":  # too few words or templates: what was not tested is not said to be absent
        text = f"nothing can be said of a preference for {first} or {second}: {estimate.method}"
        text += f" (mean {number(estimate.value, 2)}{unit}, no interval)"
    else:
        text = _few(estimate) or f"no preference for {first} or {second} was found on average"
        text += f" ({number(estimate.value, 2)}, 95% interval {interval(estimate, 2)})"
    return f"{text}; {each}" if each else text


def _icat(result: AuditResult, estimate: Estimate) -> str:
    return f"this model reaches {number(estimate.value, 0)} of 100 for language modelling without a preference"


def _other(result: AuditResult, estimate: Estimate) -> str:
    return f"{reading(estimate, slot_sides(result, estimate.data))} ({number(estimate.value, 2)}{_ends(estimate)})"


_WRITERS: Mapping[str, Callable[[AuditResult, Estimate], str]] = {
    "asld": _size,
    "appd": _lean,
    "association": _lean,
    "icat": _icat,
}


def _few(estimate: Estimate) -> str:
    return _too_few(estimate.n, "item") if lean(estimate) == "too few" else ""


def _too_few(n: int, noun: str) -> str:
    return f"{n:,} {noun} is too few for a verdict" if n == 1 else f"{n:,} {noun}s are too few for a verdict"


def _ends(estimate: Estimate, *, turned: bool = False) -> str:
    """The interval in brackets: `(51–62%)`; `turned`: of the value with the other sign."""
    if not estimate.has_interval:
        return ""
    if estimate.statistic in PERCENT:
        return f" ({number(estimate.low, 0)}–{number(estimate.high, 0)}%)"
    low, high = (-estimate.high, -estimate.low) if turned else (estimate.low, estimate.high)
    return f" ({number(low, 2)} to {number(high, 2)})"


def _card(result: AuditResult, data: str) -> Mapping[str, Any]:
    return next((card for card in result.meta.get("data") or () if card.get("name") == data), {})


def _title(result: AuditResult, data: str) -> str:
    """The title of a dataset, and that it is a subset."""
    card = _card(result, data)
    return str(card.get("title") or data) + (f" ({count_items(card)})" if "subset_of" in card else "")
