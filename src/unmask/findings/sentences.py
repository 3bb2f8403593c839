"""The sentences about numbers: one rule of verdict, and about ten forms that obey it.

A form takes the noun phrase it is about and an estimate or a value; nothing else in unmask says that something leans,
rose, fell or is related. A score near its reference value is "no preference found by this measure", never "no bias".
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from unmask.core.estimate import Estimate, Value
from unmask.core.statistic import FEW, LEVEL, Place, Statistic, statistic
from unmask.findings.numbers import number, p_value, signed_number

GENDER = ("men", "women")  # the sides of templates, unless the data name their own words


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


def change(what: str, difference: Value, *, p: float | None = None, of: Statistic | str = "") -> str:
    """A change between two runs: `cps on crows-pairs: rose by 3.1 points (1.0 to 5.2)`."""
    facts = statistic(of) if isinstance(of, str) else of
    verbs = {"above": "rose by", "below": "fell by"}
    where = place(difference, p=p)
    if where in verbs:
        low, high = sorted((abs(difference.low), abs(difference.high)))
        size = Value(abs(difference.value), low, high)
        return f"{what}: {verbs[where]} {quantity(size, facts.change_unit, facts.digits)}"
    return _unseen(what, "change", difference, facts.digits, facts.change_unit)


def difference(what: str, first: str, second: str, estimate: Estimate) -> str:
    """Two groups compared: `true positive rate: higher for women than for men, by 0.031 (0.010 to 0.052)`."""
    facts, where = statistic(estimate.statistic), verdict(estimate)
    unit = "" if facts.unit.startswith("difference") else facts.change_unit
    if where == "too few":
        return cannot_tell(what, too_few(estimate.n, "item"))
    if where not in ("above", "below"):
        return _unseen(what, "difference", estimate, facts.digits, unit)
    text = quantity(abs(estimate), unit, facts.digits)
    return f"{what}: {'higher' if where == 'above' else 'lower'} {first} than {second}, by {text}"


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
    beyond = {"above": "", "below": ", less than by chance", "within": ", no more than by chance can be told"}
    return text + beyond.get(place(value, by_chance), ", no interval")


def effect(what: str, before: float, after: float, difference: Value, *, p: float | None = None, of: str = "") -> str:
    """What a treatment did: `bias-score 61.2 to 55.0: fell by 6.2 points (2.1 to 10.3)`."""
    digits = statistic(of).digits
    return change(f"{what} {number(before, digits)} to {number(after, digits)}", difference, p=p, of=of)


def cannot_tell(what: str, why: str) -> str:
    """Nothing can be concluded, and why."""
    return f"{what}: cannot tell ({why})"


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


def _unseen(what: str, noun: str, value: Value, digits: int, unit: str) -> str:
    """No change found, or none that could be tested."""
    amount = f"{_signed(value, digits)} {unit}".rstrip()
    return f"{what}: no {noun} found, {amount}" if value.has_interval else cannot_tell(what, f"{amount}, no interval")


def _signed(value: Value, digits: int = 2) -> str:
    ends = f" ({signed_number(value.low, digits)} to {signed_number(value.high, digits)})" if value.has_interval else ""
    return signed_number(value.value, digits) + ends


def _p(p: float | None) -> str:
    return "" if p is None else f", p {p_value(p)}"
