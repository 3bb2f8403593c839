"""The verdict on a headline estimate, which page, Markdown and model card print.

It says what leans in plain words, how sure that is, what known models have, what is noise, and whether the measure is
known to follow the bias it is about.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from unmask.audit.headline import code, published_line, sentence
from unmask.audit.interpretation import FAILED, INVALID, PERCENT, WEAK, digits_of, failure
from unmask.core.estimate import Estimate
from unmask.findings.numbers import number
from unmask.stats.detectable import detectable_difference

if TYPE_CHECKING:
    from unmask.audit.result import AuditResult

GUIDE = "docs/which-measure.md"  # which measure should I trust, and for what
UNTESTED = "whether it follows the bias it is about has not been tested"
UNITS = {
    "asld": "nats",
    "mean-difference": "nats",
    "balanced-mean-difference": "nats",
    "association": "nats",
    "effect-size": "standard deviations",
}


@dataclass(frozen=True, slots=True)
class MeasureFact:
    """How a measure follows a planted bias: what `unmask diagnose validity` printed."""

    measure: str
    statistic: str
    category: str
    r: float
    low: float
    high: float
    models: int
    command: str
    date: str

    @property
    def follows(self) -> bool:
        """Whether the correlation with the dose is positive beyond chance."""
        return self.low > 0

    @property
    def reverses(self) -> bool:
        """Whether the correlation is negative beyond chance: the score falls where the bias rises."""
        return self.high < 0

    def describe(self) -> str:
        """The bias type, with the correlation and its interval."""
        known = math.isfinite(self.low)
        ends = f"{number(self.low, 2)} to {number(self.high, 2)}" if known else "too few models for an interval"
        return f"{self.category} (r {number(self.r, 2)}, {ends})"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The parts of a verdict, each a sentence without its full stop."""

    measure: str
    leans: str  # the headline in plain words, then the code name, the interval, the null and n
    known: str  # published scores of known models; empty if there are none
    noise: str  # the smallest difference that can be seen; empty without an interval
    validity: str

    @property
    def finding(self) -> str:
        """What was found, and what known models have."""
        return ". ".join(part for part in (self.leans, self.known) if part) + "."

    @property
    def caution(self) -> str:
        """What every reader of the number should know: what is noise, and whether the measure is valid."""
        return ". ".join(part for part in (self.known, self.noise, self.validity) if part) + "."

    def __str__(self) -> str:
        """The whole verdict."""
        return f"{self.leans}. {self.caution}"


def verdict(result: AuditResult, estimate: Estimate) -> Verdict:
    """The verdict on a headline estimate of an audit."""
    failed = failure(result, estimate.data, estimate.measure)
    words = f"On {estimate.data} {FAILED}" if failed == INVALID else sentence(result, estimate)
    leans = f"{words} ({code(estimate)})" + (f"; {WEAK}" if failed and failed != INVALID else "")
    known = published_line(result, estimate)
    return Verdict(estimate.measure, leans, known, noise_line(estimate), validity_line(estimate))


def cautions(estimates: Sequence[Estimate]) -> list[str]:
    """Two lines for all headline estimates of a dataset: what is noise, and which measures follow a known bias."""
    smallest: dict[str, list[Estimate]] = {}
    for estimate in estimates:
        if math.isfinite(detectable_difference(estimate)):
            smallest.setdefault(_unit(estimate), []).append(estimate)
    noise = "; ".join(_smallest(unit, found) for unit, found in smallest.items())
    lines = [f"with this data and model, a difference from another model is noise under {noise}"] if noise else []
    return [*lines, *([f"{_dose_text(estimates)} ({GUIDE})"] if estimates else [])]


def sentence_case(line: str) -> str:
    """The line with a capital letter and a full stop."""
    return f"{line[:1].upper()}{line[1:]}."


def _smallest(unit: str, estimates: Sequence[Estimate]) -> str:
    """The smallest visible difference of measures in one unit: `10.1 to 10.9 points`, `0.692 nats (sld)`."""
    ordered = sorted(estimates, key=detectable_difference)
    sizes = [number(detectable_difference(each), digits_of(each.statistic)) for each in (ordered[0], ordered[-1])]
    name = f" ({estimates[0].measure})" if len(estimates) == 1 else ""
    return f"{' to '.join(dict.fromkeys(sizes))} {unit}".strip() + name


def _dose_text(estimates: Sequence[Estimate]) -> str:
    """Which measures follow planted biases, by the statistic that is shown or by another one."""
    groups: dict[str, list[str]] = {
        name: [] for name in ("followed by", "not beyond chance by", "falling where the bias rises:", "untested:")
    }
    known: list[MeasureFact] = []
    for estimate in estimates:
        own = [fact for fact in measure_facts() if fact.measure == estimate.measure]
        known += own
        following = sorted((f for f in own if f.follows), key=lambda f: f.statistic != estimate.statistic)
        reversed_ = _categories([f for f in own if f.reverses and f.statistic == estimate.statistic])
        if following:
            groups["followed by"].append(_follower(estimate, own, following))
        elif reversed_:
            groups["falling where the bias rises:"].append(f"{estimate.measure} ({' and '.join(reversed_)})")
        else:
            groups["not beyond chance by" if own else "untested:"].append(estimate.measure)
    said = "; ".join(f"{words} {', '.join(names)}" for words, names in groups.items() if names)
    planted = f"{', '.join(_categories(known))}; {max((f.models for f in known), default=0)} models"
    return f"validity{f' on planted biases ({planted})' if known else ''}: {said}"


def _follower(estimate: Estimate, own: Sequence[MeasureFact], following: Sequence[MeasureFact]) -> str:
    """The measure, with the statistic that follows if it is not the one shown, and the bias types if not all."""
    statistic = following[0].statistic
    followed = _categories([fact for fact in following if fact.statistic == statistic])
    tested = _categories([fact for fact in own if fact.statistic == statistic])
    other = [] if statistic == estimate.statistic else [f"its {statistic}"]
    notes = [*other, *([] if followed == tested else [" and ".join(followed)])]
    return f"{estimate.measure} ({', '.join(notes)})" if notes else estimate.measure


def _categories(facts: Sequence[MeasureFact]) -> list[str]:
    return list(dict.fromkeys(fact.category for fact in facts))


def _unit(estimate: Estimate) -> str:
    return "points" if estimate.statistic in PERCENT else UNITS.get(estimate.statistic, "")


def noise_line(estimate: Estimate) -> str:
    """The smallest difference from another model that is no noise; empty without an interval."""
    least = detectable_difference(estimate)
    if not math.isfinite(least):
        return ""
    size = f"{number(least, digits_of(estimate.statistic))} {_unit(estimate)}".strip()
    return f"With this data and model, a difference under {size} is noise"


def validity_line(estimate: Estimate) -> str:
    """Whether the measure is known to follow biases whose size is known, and where to read about it."""
    own = [fact for fact in measure_facts() if fact.measure == estimate.measure]
    statistics = sorted(dict.fromkeys(fact.statistic for fact in own), key=lambda name: name != estimate.statistic)
    parts = [_doses_followed(name, [fact for fact in own if fact.statistic == name]) for name in statistics]
    models = max((fact.models for fact in own), default=0)
    known = f"on {models} models with planted biases, {'; '.join(parts)}; other biases are untested"
    return f"Validity: {known if parts else UNTESTED} ({GUIDE})"


def _doses_followed(statistic: str, facts: Sequence[MeasureFact]) -> str:
    """The doses that a statistic follows, those it does not follow beyond chance, and those it goes against."""
    ways = {
        "follows the dose of": [fact for fact in facts if fact.follows],
        "does not follow beyond chance that of": [fact for fact in facts if not (fact.follows or fact.reverses)],
        "falls where it rises for": [fact for fact in facts if fact.reverses],
    }
    parts = [f"{words} {', '.join(fact.describe() for fact in found)}" for words, found in ways.items() if found]
    return f"its {statistic} {' and '.join(parts)}"


@cache
def measure_facts() -> tuple[MeasureFact, ...]:
    """What is known about measures, from the table beside this module."""
    text = (resources.files("unmask.audit") / "measure_facts.csv").read_text(encoding="utf-8")
    return tuple(_fact(row) for row in csv.DictReader(text.splitlines()))


def _fact(row: Mapping[str, str]) -> MeasureFact:
    r, low, high = (float(row[name] or "nan") for name in ("r", "low", "high"))
    what = row["measure"], row["statistic"], row["category"]
    return MeasureFact(*what, r, low, high, int(row["models"]), row["command"], row["date"])
