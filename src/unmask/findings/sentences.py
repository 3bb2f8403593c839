"""The sentences about numbers: one rule of verdict, and about ten forms that obey it.

A form takes the noun phrase it is about and an estimate or a value; nothing else in unmask says that something leans,
rose, fell or is related. A score near its reference value is "no preference found by this measure", never "no bias".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Protocol

from unmask.core.estimate import Estimate, Value
from unmask.core.statistic import CHANGES, FEW, LEVEL, Place, Statistic, statistic
from unmask.findings.numbers import number, p_value, signed_number

GENDER = ("men", "women")  # the sides of templates, unless the data name their own words
FAILED, WEAK = "a check failed: do not interpret this number", "a check failed: do not quote this number without it"
BASELINE = "a baseline that reads no word of the sentences, no evidence of a preference"
ALIKE = "both directions counted alike"
CANCEL = "words lean both ways and cancel"
WORSE, BETTER, NEARER = "worse", "better", "nearer to no preference"
SMALL = "worse, by less than the gate counts as a change"
UNSURE = "worse, but not beyond chance for the gate"
TURNED = "on the other side of no preference now"
TURNED_WORSE = f"{WORSE}, {TURNED}"
CHANCE: Mapping[str, str] = {  # what chance makes of a share, by where its interval lies
    "above": "more often than chance",
    "within": "which chance alone can explain",
    "below": "less often than chance",
    "no interval": "without an interval: it may be chance",
    "ties": "no direction, because most pairs are ties",
    "no null": "without a reference value to compare it with",
    "too few": "too few items for a verdict",
}


class Changed(Protocol):
    """A statistic in two runs: `change` is b − a."""

    @property
    def statistic(self) -> str:
        """Its name."""

    @property
    def a_value(self) -> float:
        """In the first run."""

    @property
    def b_value(self) -> float:
        """In the other."""

    @property
    def change(self) -> float:
        """The other minus the first."""

    @property
    def null(self) -> float | None:
        """The reference value."""

    @property
    def has_turned(self) -> bool:
        """Whether the values lie on different sides of the reference value."""


def verdict(estimate: Estimate) -> Place:
    """Where an estimate lies relative to its reference value: `above` or `below` only if interval and test agree.

    A group is judged by its p after Holm's correction; the whole by its interval and p, and not under `FEW` items.
    Neither is where most pairs are ties: a share that is low because ties count as not won is no preference.
    """
    facts = statistic(estimate.statistic)
    if estimate.null is None or not estimate.has_interval:
        return "no null" if estimate.null is None else "no interval"
    if facts.question == "pairs" and 2 * estimate.ties > estimate.n:
        return "ties"
    side: Place = "above" if estimate.value > estimate.null else "below"
    if estimate.group != "all" and estimate.p_holm is not None:
        return side if estimate.p_holm < LEVEL else "within"
    if estimate.n < FEW and estimate.group == "all" and facts.needs_items:
        return "too few"
    p = estimate.p if estimate.p_holm is None else estimate.p_holm
    return side if estimate.excludes(estimate.null) and (p is None or p < LEVEL) else "within"


def place(value: Value, null: float = 0.0, p: float | None = None) -> Place:
    """The same for a value that is no estimate of a statistic: a difference, a correlation, a change."""
    if not value.has_interval:
        return "no interval"
    if not value.excludes(null) or (p is not None and not p < LEVEL):
        return "within"
    return "above" if value.value > null else "below"


def lean(estimate: Estimate, sides: tuple[str, str] = GENDER, *, short: bool = False) -> str:
    """What an estimate says of a preference: `leans towards stereotypes`; `sides`: of templates."""
    if not math.isfinite(estimate.value):
        return "not measured"
    text = statistic(estimate.statistic).reading(verdict(estimate), short=short)
    return text.replace("{first}", sides[0]).replace("{second}", sides[1])


def side_words(sides: tuple[str, str]) -> tuple[str, str]:
    """The words of the two sides: the masculine and the feminine word, or the user's own."""
    return ("the masculine word", "the feminine word") if sides == GENDER else sides


def statement(
    where: str,
    estimate: Estimate,
    *,
    sides: tuple[str, str] = GENDER,
    of_words: Estimate | None = None,
    baseline: bool = False,
) -> str:
    """A headline in plain words, with the name of its measure; `of_words`: how far single words lean."""
    facts, measure = statistic(estimate.statistic), estimate.measure
    if not math.isfinite(estimate.value):
        return f"On {where} nothing could be measured by {measure}"
    if facts.preferred is not None:
        what, whole = facts.preferred
        amount = f"{number(estimate.value, 0)}% of {whole}{_ends(estimate)}"
        alike = f", {ALIKE}" if facts.is_balanced else ""
        if baseline:
            return f"On {where} {measure} prefers {what} in {amount}{alike}: {BASELINE}"
        side = verdict(estimate)
        chance = too_few(estimate.n, "item") if side == "too few" else CHANCE[side]
        return f"On {where} this model prefers {what} in {amount} by {measure}{alike}, {chance}"
    if facts.question == "slots":
        text = _of_slot(estimate, side_words(sides), of_words)
    elif facts.statement:
        amount = f"{number(estimate.value, 2)} {facts.unit}{_ends(estimate)}"
        text = facts.statement.format(value=number(estimate.value, 0), size=amount)
    else:
        text = f"{lean(estimate, sides)} ({number(estimate.value, 2)}{_ends(estimate)})"
    return f"On {where}, by {measure}, {text}"


def movement(name: str, *, rose: bool, sides: tuple[str, str] = GENDER) -> str:
    """What a statistic that rose or fell says: `scores moved towards the other sentence`."""
    facts = statistic(name)
    text = facts.moves[0 if rose else 1].replace("{noun}", facts.noun or name)
    return text.replace("{first}", sides[0]).replace("{second}", sides[1])


def direction_of_change(change: Changed, worse: str = "") -> str:
    """Which way a significant change went: `rose, nearer to its reference value`; `worse`: that it is for the worse."""
    way, null = CHANGES.reading("above" if change.change > 0 else "below", short=True), change.null
    if statistic(change.statistic).better == "higher":
        return f"{way}: {worse or 'better'} by this statistic"
    if null is None:
        return way
    where = "further from"
    if change.has_turned:
        where = "to the other side of"
    elif abs(change.b_value - null) < abs(change.a_value - null):
        where = "nearer to"
    return f"{way}, {where} its reference value{f' ({worse})' if worse else ''}"


def cancels(estimate: Estimate, of_words: Estimate | None) -> bool:
    """Whether no lean is found on average although single words lean: to both sides."""
    significant = of_words is not None and of_words.p is not None and of_words.p < LEVEL
    return significant and estimate.group == "all" and verdict(estimate) == "within"


def change(what: str, difference: Value, *, p: float | None = None, of: Statistic | str = "") -> str:
    """A change between two runs: `cps on crows-pairs: rose by 3.1 points (1.0 to 5.2)`."""
    facts = statistic(of) if isinstance(of, str) else of
    where = place(difference, p=p)
    if where not in ("above", "below"):
        return _unseen(what, "change", difference, facts.digits, facts.change_unit)
    return f"{what}: {'rose' if where == 'above' else 'fell'} by {_magnitude(difference, facts)}"


def difference(what: str, first: str, second: str, value: Value, *, p: float | None = None, of: str = "") -> str:
    """Two groups compared: `true positive rate: higher for women than for men, by 0.031 (0.010 to 0.052)`."""
    where = place(value, p=p)
    if isinstance(value, Estimate):
        of, where = value.statistic, verdict(value)
        if where == "too few":
            return cannot_tell(what, too_few(value.n, "item"))
    facts = statistic(of)
    if where not in ("above", "below"):
        return _unseen(what, "difference", value, facts.digits, facts.change_unit)
    return f"{what}: {'higher' if where == 'above' else 'lower'} {first} than {second}, by {_magnitude(value, facts)}"


def size(what: str, value: Value, unit: str = "", digits: int = 2) -> str:
    """A size without direction: `halves of the pairs differ by 3.1 points (2.0 to 4.2)`."""
    return f"{what} {quantity(value, unit, digits)}"


def span(what: str, values: Mapping[str, float], unit: str = "", digits: int = 1) -> str:
    """The least and the most of several named sizes: `… by 3.1 (aul) to 5.2 points (sss)`."""
    least, most = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
    ends = " to ".join(f"{number(values[name], digits)} ({name})" for name in dict.fromkeys((least, most)))
    return f"{what} {ends} {unit}".rstrip()


def share(what: str, value: Value, null: float | None = None, *, p: float | None = None) -> str:
    """A percentage and what chance makes of it: `the longer is preferred in 58.0% (52.1 to 63.9), more than chance`."""
    text = f"{what} {quantity(value, '%', 1)}"
    chance = {"above": ", more than chance", "below": ", less than chance", "within": ", which chance can explain"}
    return text if null is None else text + chance.get(place(value, null, p), ", without an interval")


def correlation(what: str, value: Value, *, symbol: str = "r", p: float | None = None) -> str:
    """A relation between two numbers: `score and length: related, r +0.41 (+0.20 to +0.60)`."""
    where = place(value, p=p)
    text = f"{symbol} {_signed(value)}{_p(p)}"
    if where in ("above", "below"):
        direction = "rise together" if where == "above" else "one rises as the other falls"
        return f"{what}: {direction}, {text}"
    if where == "no interval":
        return cannot_tell(what, f"{text}, no interval")
    return f"{what}: no relation found, {text}"


def agreement(what: str, value: Value, *, symbol: str, by_chance: float = 0.0) -> str:
    """Agreement beside that by chance: `annotators and rules: κ 0.71 (0.60 to 0.80)`."""
    text = f"{what}: {symbol} {quantity(value, '', 2)}"
    beyond = {"above": "", "below": ", less than by chance", "within": ", which chance can explain"}
    return text + beyond.get(place(value, by_chance), ", no interval")


def effect(what: str, before: float, after: float, difference: Value, *, p: float | None = None, of: str = "") -> str:
    """What a treatment did: `bias-score 61.2 to 55.0: fell by 6.2 points (2.1 to 10.3)`."""
    digits = statistic(of).digits
    return change(f"{what} {number(before, digits)} to {number(after, digits)}", difference, p=p, of=of)


def cannot_tell(what: str, why: str) -> str:
    """Nothing can be concluded, and why."""
    return f"{what}: cannot tell ({why})"


def capital(text: str) -> str:
    """The text with a capital letter."""
    return f"{text[:1].upper()}{text[1:]}"


def too_few(n: int, noun: str, what: str = "a verdict") -> str:
    """`12 items are too few for a verdict`."""
    return f"{n:,} {noun} is too few for {what}" if n == 1 else f"{n:,} {noun}s are too few for {what}"


def invalid(what: str, why: str) -> str:
    """A number that a failed check forbids to read."""
    return f"{what}: a check failed ({why}): do not interpret this number"


def quantity(value: Value, unit: str = "", digits: int = 2) -> str:
    """A number with its unit and interval: `58.0% (52.1 to 63.9)`, `3.1 points (1.0 to 5.2)`."""
    amount = number(value.value, digits) + (unit if unit == "%" else f" {unit}" if unit else "")
    return f"{amount} ({number(value.low, digits)} to {number(value.high, digits)})" if value.has_interval else amount


def _of_slot(estimate: Estimate, sides: tuple[str, str], of_words: Estimate | None) -> str:
    """The lean of templates; how far a single word leans is said too, because leans in both directions cancel."""
    first, second = sides
    where, unit = verdict(estimate), " nats" if statistic(estimate.statistic).unit == "nats" else ""
    mean = f"{number(estimate.value, 2)}{unit}"
    word = "" if of_words is None else f"a single word leans by {number(of_words.value, 2)}{unit} on average"
    if cancels(estimate, of_words):
        return f"{CANCEL}: {word}, either to {first} or to {second}, on average {mean}{_ends(estimate)}"
    if where in ("above", "below"):
        more, less = (first, second) if where == "above" else (second, first)
        amount = f"by {number(abs(estimate.value), 2)}{unit}{_ends(estimate, turned=where == 'below')} on average"
        text = f"the words raise the probability of {more} more than that of {less}, {amount}"
        text = text if unit else f"this model finds {more} more probable than {less}, {amount}"
    elif where == "no interval":  # too few words or templates: what was not tested is not said to be absent
        text = f"nothing can be said of a preference for {first} or {second}: {estimate.method}"
        text += f" (mean {mean}, no interval)"
    else:
        few, none = too_few(estimate.n, "item"), f"no preference for {first} or {second} was found on average"
        interval = f"{number(estimate.low, 2)} to {number(estimate.high, 2)}"
        text = f"{few if where == 'too few' else none} ({number(estimate.value, 2)}, 95% interval {interval})"
    return f"{text}; {word}" if word else text


def _ends(estimate: Estimate, *, turned: bool = False) -> str:
    """The interval in brackets: `(51–62%)`; `turned`: of the value with the other sign."""
    if not estimate.has_interval:
        return ""
    if statistic(estimate.statistic).is_percent:
        return f" ({number(estimate.low, 0)}–{number(estimate.high, 0)}%)"
    low, high = (-estimate.high, -estimate.low) if turned else (estimate.low, estimate.high)
    return f" ({number(low, 2)} to {number(high, 2)})"


def _magnitude(value: Value, facts: Statistic) -> str:
    """The size of a difference without its sign; of one that would be shown as zero, that it is smaller than shown."""
    low, high = sorted((abs(value.low), abs(value.high)))
    least = 10.0**-facts.digits
    if abs(value.value) < least / 2:
        return f"less than {number(least, facts.digits)} {facts.change_unit}".rstrip()
    return quantity(Value(abs(value.value), low, high), facts.change_unit, facts.digits)


def _unseen(what: str, noun: str, value: Value, digits: int, unit: str) -> str:
    """No change found, or none that could be tested."""
    amount = f"{_signed(value, digits)} {unit}".rstrip()
    return f"{what}: no {noun} found, {amount}" if value.has_interval else cannot_tell(what, f"{amount}, no interval")


def _signed(value: Value, digits: int = 2) -> str:
    ends = f" ({signed_number(value.low, digits)} to {signed_number(value.high, digits)})" if value.has_interval else ""
    return signed_number(value.value, digits) + ends


def _p(p: float | None) -> str:
    return "" if p is None else f", p {p_value(p)}"
