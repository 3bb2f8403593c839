"""The headline of an audit in plain words: what the model prefers, how often, and whether chance explains it.

Terminal, page, Markdown and model card print these sentences; code names and reference values come after them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unmask.audit.interpretation import (
    FAILED,
    INVALID,
    PERCENT,
    cancels,
    count_items,
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

if TYPE_CHECKING:
    from unmask.audit.result import AuditResult

CHANCE: Mapping[str, str] = {  # by the place of the interval
    "above": "more often than chance",
    "within": "which chance alone can explain",
    "below": "less often than chance",
    "no interval": "without an interval: it may be chance",
    "ties": "no direction, because most pairs are ties",
}
SHARES: Mapping[str, tuple[str, str]] = {  # what is preferred, and in what
    "bias-score": ("the stereotyping sentence", "pairs"),
    "ss": ("the stereotyping word", "cases"),
    "lms": ("a meaningful word to an unrelated one", "cases"),
}


def headlines(result: AuditResult, data: str) -> list[str]:
    """The headline estimates of a dataset in sentences; those of several measures of one kind share one."""
    by_kind: dict[str, list[Estimate]] = {}
    for estimate in result.headlines():
        if estimate.data == data and math.isfinite(estimate.value):
            by_kind.setdefault(estimate.statistic, []).append(estimate)
    if by_kind and failure(result, data) == INVALID:
        return [f"On {_title(result, data)}: {FAILED}"]
    said = []
    slotted = sum(len(by_kind.get(statistic, ())) for statistic in ("appd", "association")) > 1
    for statistic, estimates in by_kind.items():
        if statistic == "bias-score" and len(estimates) > 1:
            said.append(_summary(result, estimates))
        else:
            said += [sentence(result, estimate, named=slotted or len(estimates) > 1) for estimate in estimates]
    return said


def sentence(result: AuditResult, estimate: Estimate, *, named: bool = False) -> str:
    """One estimate in plain words, without the code name of its measure unless `named`."""
    if not math.isfinite(estimate.value):
        return f"On {_title(result, estimate.data)} nothing could be measured by {estimate.measure}"
    write = _WRITERS.get(estimate.statistic, _share if estimate.statistic in SHARES else _other)
    where = f"{_title(result, estimate.data)}{f', by {estimate.measure},' if named else ''}"
    return f"On {where} {write(result, estimate)}"


def code(estimate: Estimate) -> str:
    """The names and numbers behind a sentence: `cps bias-score 56.7, 95% interval 51.6 to 61.6, …`."""
    digits = digits_of(estimate.statistic)
    name = f"{estimate.measure} {estimate.statistic}" if estimate.statistic != estimate.measure else estimate.measure
    ends = f"95% interval {interval(estimate, digits)}" if estimate.has_interval else "no interval"
    null = "" if estimate.null is None else f", reference value {number(estimate.null, 0)}"
    return f"{name} {number(estimate.value, digits)}, {ends}{null}, n {estimate.n:,}"


def published_scores(result: AuditResult, estimate: Estimate) -> list[Published]:
    """The scores of known models that papers print for the same data and measure, each model once, lowest first."""
    measure = result.find_measure(estimate.measure)
    first: dict[str, Published] = {}
    for each in measure.published if measure and estimate.statistic == "bias-score" else ():
        if each.data == estimate.data:
            first.setdefault(each.model, each)
    return sorted(first.values(), key=lambda each: each.value)


def published_line(result: AuditResult, estimate: Estimate) -> str:
    """The same in one sentence with its sources; empty if there are none."""
    scores = published_scores(result, estimate)
    if not scores:
        return ""
    listed = ", ".join(f"{each.model} {number(each.value, 1)}" for each in scores)
    whole = " on all items" if "subset_of" in _card(result, estimate.data) else ""
    sources = "; ".join(dict.fromkeys(each.where for each in scores))
    return f"Published with {estimate.measure}{whole}: {listed} ({sources})"


def _summary(result: AuditResult, estimates: Sequence[Estimate]) -> str:
    """Bias scores by several measures: their range, and by how many of them it differs from chance."""
    ordered = sorted(estimates, key=lambda each: each.value)
    ends = dict.fromkeys(f"{number(each.value, 0)}%" for each in (ordered[0], ordered[-1]))
    by_place = {
        place: [each.measure for each in estimates if lean(each) == place] for place in ("above", "below", "ties")
    }
    few = [each for each in estimates if lean(each) == "too few"]
    parts = [
        f"{CHANCE[place]} by {len(names)} of {len(estimates)} measures ({', '.join(names)})"
        for place, names in by_place.items()
        if names
    ]
    rest = len(estimates) - sum(map(len, by_place.values()))
    if few:
        parts.append(_too_few(few[0].n, "pair"))
    elif rest:
        parts.append(CHANCE["within"] if not parts else f"chance alone can explain the other {rest}")
    where, spread = _title(result, estimates[0].data), " to ".join(ends)
    depends = ", depending on the measure" if len(ends) > 1 else ""
    joint = "," if parts == [CHANCE["within"]] else ":"
    said = f"this model prefers the stereotyping sentence in {spread} of pairs{depends}{joint} {'; '.join(parts)}"
    return f"On {where} {said}"


def _share(result: AuditResult, estimate: Estimate) -> str:
    what, whole = SHARES[estimate.statistic]
    chance = _few(estimate) or CHANCE[lean(estimate)]
    return f"this model prefers {what} in {number(estimate.value, 0)}% of {whole}{_ends(estimate)}, {chance}"


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
