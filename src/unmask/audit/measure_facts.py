"""What is known of measures, and which differences data can show: what a reader of a number should know beside it.

A measure is known to follow a bias only for the model family, items, language and bias types it was tested on.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from unmask.audit.interpretation import data_card
from unmask.core.estimate import Estimate
from unmask.core.statistic import statistic
from unmask.findings.numbers import number
from unmask.findings.sentences import capital
from unmask.stats.power import detectable_difference

if TYPE_CHECKING:
    from unmask.audit.result import AuditResult

GUIDE = "docs/which-measure.md"  # which measure should I trust, and for what
NOT_TESTED = "not tested for this model, language or bias type"
CATEGORY = "category="  # prefix of the group of a bias type


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


@cache
def measure_facts() -> tuple[MeasureFact, ...]:
    """What is known about measures, from the table beside this module."""
    text = (resources.files("unmask.audit") / "measure_facts.csv").read_text(encoding="utf-8")
    kinds = {"r": float, "models": int}
    names = [field.name for field in fields(MeasureFact)]
    rows = csv.DictReader(text.splitlines())
    return tuple(MeasureFact(*(kinds.get(name, str)(row[name]) for name in names)) for row in rows)


def cautions(result: AuditResult, estimates: Sequence[Estimate]) -> list[str]:
    """Two lines for all headline estimates of a dataset: which difference it would show, and what is known of them."""
    by_unit: dict[str, list[Estimate]] = {}
    for estimate in estimates:
        if math.isfinite(detectable_difference(estimate)):
            by_unit.setdefault(statistic(estimate.statistic).change_unit, []).append(estimate)
    sizes = "; ".join(_smallest(unit, members) for unit, members in by_unit.items())
    lines = [_detectable(sizes)] if sizes else []
    return [*lines, *([f"validity: {_known(result, estimates)} ({GUIDE})"] if estimates else [])]


def detectable_line(estimate: Estimate) -> str:
    """The difference from an unrelated model that the data would show; empty without an interval."""
    least, facts = detectable_difference(estimate), statistic(estimate.statistic)
    size = f"{number(least, facts.digits)} {facts.change_unit}".strip()
    return capital(_detectable(size)) if math.isfinite(least) else ""


def validity_line(result: AuditResult, estimate: Estimate) -> str:
    """Whether the measure is known to follow biases whose size is known, and where to read about it."""
    facts = facts_about(result, estimate)
    if not facts:
        return f"Validity: {NOT_TESTED} ({GUIDE})"
    score = "this score" if facts[0].statistic == estimate.statistic else f"its {facts[0].statistic}"
    return (
        f"Validity: {_planted(facts)} the higher {score} on such items: a manipulation check, as this measure reads "
        f"the same predictions; not tested for other bias types ({GUIDE})"
    )


def facts_about(result: AuditResult, estimate: Estimate) -> list[MeasureFact]:
    """The biases that a measure follows among those tested: for this architecture, language, items and bias types.

    Of the statistic of the estimate, or else of another one of the measure. A language that the card does not state
    and items without a category are not taken for tested; nor are other items about the bias type, of which some deny
    the stereotype (`controls`).
    """
    languages = set(data_card(result, estimate.data).get("languages") or ())
    of_measure = [e.group for e in result.estimates if (e.measure, e.data) == (estimate.measure, estimate.data)]
    categories = {group.removeprefix(CATEGORY) for group in of_measure if group.startswith(CATEGORY)}
    wanted = (estimate.measure, estimate.data, result.meta["model"].get("architecture"))
    tested = [
        fact
        for fact in measure_facts()
        if (fact.measure, fact.data, fact.architecture) == wanted
        if languages == {fact.language} and fact.category in categories
    ]
    shown = [fact for fact in tested if fact.statistic == estimate.statistic]
    return shown or [fact for fact in tested if fact.statistic == tested[0].statistic]


def _smallest(unit: str, estimates: Sequence[Estimate]) -> str:
    """The smallest visible difference of measures in one unit: `10.1 to 10.9 points`, `0.692 nats (sld)`."""
    ordered = sorted(estimates, key=detectable_difference)
    ends = [number(detectable_difference(e), statistic(e.statistic).digits) for e in (ordered[0], ordered[-1])]
    name = f" ({estimates[0].measure})" if len(estimates) == 1 else ""
    return f"{' to '.join(dict.fromkeys(ends))} {unit}".strip() + name


def _detectable(size: str) -> str:
    """What the number is: an unrelated model has other errors; a related one differs on few items, which is tested."""
    shown = f"these data would show a difference of {size} between two unrelated models in 80 of 100 cases"
    return f"{shown}; smaller differences need the command unmask compare"


def _known(result: AuditResult, estimates: Sequence[Estimate]) -> str:
    """Which of the measures are known to follow a planted bias, and that the others were not tested."""
    facts = {estimate.measure: facts_about(result, estimate) for estimate in estimates}
    known = [fact for of_measure in facts.values() for fact in of_measure]
    if not known:
        return NOT_TESTED
    follow, every = [], _categories(known)
    for estimate in estimates:
        if of_measure := facts[estimate.measure]:
            notes = [] if of_measure[0].statistic == estimate.statistic else [f"its {of_measure[0].statistic}"]
            notes += [] if (own := _categories(of_measure)) == every else [_joined(own)]
            follow.append(f"{estimate.measure} ({', '.join(notes)})" if notes else estimate.measure)
    rest = [measure for measure, of_measure in facts.items() if not of_measure]
    return (
        f"{_planted(known)} the higher their score on such items by {_joined(follow)}: a manipulation check, as these "
        f"measures read the same predictions; {NOT_TESTED}: {', '.join([*rest, 'other bias types'])}"
    )


def _planted(facts: Sequence[MeasureFact]) -> str:
    """What had been done to the models that the facts are about; what followed from it comes after the comma."""
    models = f"{max(fact.models for fact in facts)} small models of this architecture"
    about = _joined(_categories(facts))
    return f"the more stereotyping {models} had been made about {about}, in what they predict for masked words,"


def _categories(facts: Sequence[MeasureFact]) -> list[str]:
    return sorted({fact.category for fact in facts})


def _joined(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)
