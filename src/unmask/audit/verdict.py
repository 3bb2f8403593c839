"""The verdict on a headline estimate, which page, Markdown and model card print.

It says what leans in plain words, how sure that is, what known models have, which difference between two models the
data would show, and what is known of the measure: only for the model family, items, language and bias types it was
tested on.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from unmask.audit.headline import code, published_line, sentence
from unmask.audit.interpretation import FAILED, INVALID, PERCENT, WEAK, digits_of, failure
from unmask.core.estimate import Estimate
from unmask.findings.numbers import number
from unmask.stats.power import detectable_difference

if TYPE_CHECKING:
    from unmask.audit.result import AuditResult

GUIDE = "docs/which-measure.md"  # which measure should I trust, and for what
NOT_TESTED = "not tested for this model, language or bias type"
CATEGORY = "category="  # prefix of the group of a bias type
UNITS = {
    "asld": "nats",
    "mean-difference": "nats",
    "balanced-mean-difference": "nats",
    "association": "nats",
    "effect-size": "standard deviations",
}


@dataclass(frozen=True, slots=True)
class MeasureFact:
    """A planted bias that a measure follows, and what that was tested on: what `unmask diagnose validity` printed."""

    measure: str
    statistic: str
    category: str  # the bias type
    data: str  # whose items of this bias type were scored
    architecture: str  # of the models
    language: str
    r: float  # with the signed dose: only rows of at least 0.85 are in the table
    models: int
    command: str
    date: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The parts of a verdict, each a sentence without its full stop."""

    measure: str
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
    """The verdict on a headline estimate of an audit."""
    failed = failure(result, estimate.data, estimate.measure)
    words = f"On {estimate.data} {FAILED}" if failed == INVALID else sentence(result, estimate)
    leans = f"{words} ({code(estimate)})" + (f"; {WEAK}" if failed and failed != INVALID else "")
    known = published_line(result, estimate)
    return Verdict(estimate.measure, leans, known, detectable_line(estimate), validity_line(result, estimate))


def cautions(result: AuditResult, estimates: Sequence[Estimate]) -> list[str]:
    """Two lines for all headline estimates of a dataset: which difference it would show, and what is known of them."""
    smallest: dict[str, list[Estimate]] = {}
    for estimate in estimates:
        if math.isfinite(detectable_difference(estimate)):
            smallest.setdefault(_unit(estimate), []).append(estimate)
    sizes = "; ".join(_smallest(unit, found) for unit, found in smallest.items())
    lines = [_detectable_text(sizes)] if sizes else []
    return [*lines, *([f"validity: {_validity_text(result, estimates)} ({GUIDE})"] if estimates else [])]


def sentence_case(line: str) -> str:
    """The line with a capital letter and a full stop."""
    return f"{line[:1].upper()}{line[1:]}."


def _smallest(unit: str, estimates: Sequence[Estimate]) -> str:
    """The smallest visible difference of measures in one unit: `10.1 to 10.9 points`, `0.692 nats (sld)`."""
    ordered = sorted(estimates, key=detectable_difference)
    sizes = [number(detectable_difference(each), digits_of(each.statistic)) for each in (ordered[0], ordered[-1])]
    name = f" ({estimates[0].measure})" if len(estimates) == 1 else ""
    return f"{' to '.join(dict.fromkeys(sizes))} {unit}".strip() + name


def _validity_text(result: AuditResult, estimates: Sequence[Estimate]) -> str:
    """Which of the measures are known to follow a planted bias, and that the others were not tested."""
    facts = {estimate.measure: facts_about(result, estimate) for estimate in estimates}
    known = [fact for own in facts.values() for fact in own]
    rest = [measure for measure, own in facts.items() if not own]
    if not known:
        return NOT_TESTED
    categories = _categories(known)
    follow = [_follower(each, facts[each.measure], categories) for each in estimates if facts[each.measure]]
    return (
        f"{_planted(known)} the higher their score on such items by {_joined(follow)}: a manipulation check, as these "
        f"measures read the same predictions; {NOT_TESTED}: {', '.join([*rest, 'other bias types'])}"
    )


def _planted(facts: Sequence[MeasureFact]) -> str:
    """What had been done to the models that the facts are about; what followed from it comes after the comma."""
    models = f"{max(fact.models for fact in facts)} small models of this architecture"
    about = _joined(_categories(facts))
    return f"the more stereotyping {models} had been made about {about}, in what they predict for masked words,"


def _follower(estimate: Estimate, facts: Sequence[MeasureFact], categories: Sequence[str]) -> str:
    """The measure, with the statistic that follows if it is not the one shown, and the bias types if not all."""
    statistic, own = facts[0].statistic, _categories(facts)
    other = [] if statistic == estimate.statistic else [f"its {statistic}"]
    notes = [*other, *([] if own == list(categories) else [_joined(own)])]
    return f"{estimate.measure} ({', '.join(notes)})" if notes else estimate.measure


def _categories(facts: Sequence[MeasureFact]) -> list[str]:
    return sorted({fact.category for fact in facts})


def _joined(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def _unit(estimate: Estimate) -> str:
    return "points" if estimate.statistic in PERCENT else UNITS.get(estimate.statistic, "")


def detectable_line(estimate: Estimate) -> str:
    """The difference from an unrelated model that the data would show; empty without an interval."""
    least = detectable_difference(estimate)
    if not math.isfinite(least):
        return ""
    size = f"{number(least, digits_of(estimate.statistic))} {_unit(estimate)}".strip()
    return sentence_case(_detectable_text(size)).removesuffix(".")


def _detectable_text(size: str) -> str:
    """What the number is: an unrelated model has other errors; a related one differs on few items, which is tested."""
    shown = f"these data would show a difference of {size} between two unrelated models in 80 of 100 cases"
    return f"{shown}; smaller differences need the command unmask compare"


def validity_line(result: AuditResult, estimate: Estimate) -> str:
    """Whether the measure is known to follow biases whose size is known, and where to read about it."""
    own = facts_about(result, estimate)
    if not own:
        return f"Validity: {NOT_TESTED} ({GUIDE})"
    score = "this score" if own[0].statistic == estimate.statistic else f"its {own[0].statistic}"
    return (
        f"Validity: {_planted(own)} the higher {score} on such items: a manipulation check, as this measure reads the "
        f"same predictions; not tested for other bias types ({GUIDE})"
    )


def facts_about(result: AuditResult, estimate: Estimate) -> list[MeasureFact]:
    """The biases that a measure follows among those tested: for this architecture, language, items and bias types.

    Of the statistic of the estimate, or else of another one of the measure. A language that the card does not state
    and items without a category are not taken for tested; nor are other items about the bias type, of which some deny
    the stereotype (`controls`).
    """
    cards = result.meta.get("data") or ()
    card: Mapping[str, Any] = next((each for each in cards if each.get("name") == estimate.data), {})
    languages, architecture = set(card.get("languages") or ()), result.meta.get("model", {}).get("architecture")
    categories = {each.group.removeprefix(CATEGORY) for each in result.estimates if _is_category(each, estimate)}
    tested = [
        fact
        for fact in measure_facts()
        if (fact.measure, fact.data, fact.architecture) == (estimate.measure, estimate.data, architecture)
        and languages == {fact.language}
        and fact.category in categories
    ]
    shown = [fact for fact in tested if fact.statistic == estimate.statistic]
    return shown or [fact for fact in tested if fact.statistic == tested[0].statistic]


def _is_category(each: Estimate, headline: Estimate) -> bool:
    """Whether an estimate is about one bias type of the headline's items."""
    return (each.measure, each.data) == (headline.measure, headline.data) and each.group.startswith(CATEGORY)


@cache
def measure_facts() -> tuple[MeasureFact, ...]:
    """What is known about measures, from the table beside this module."""
    text = (resources.files("unmask.audit") / "measure_facts.csv").read_text(encoding="utf-8")
    return tuple(_fact(row) for row in csv.DictReader(text.splitlines()))


def _fact(row: Mapping[str, str]) -> MeasureFact:
    what = row["measure"], row["statistic"], row["category"], row["data"]
    return MeasureFact(
        *what, row["architecture"], row["language"], float(row["r"]), int(row["models"]), row["command"], row["date"]
    )
