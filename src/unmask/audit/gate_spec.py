"""The types of the gate: what is allowed, and the result with its answer and exit code."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

from unmask.audit.interpretation import PERCENT
from unmask.core.errors import DataError, UnknownName, quote
from unmask.core.files import plain
from unmask.core.options import MAX_SEED, check_number, check_values, option
from unmask.core.statistic import BALANCED, OF_WORDS
from unmask.core.types import Check

if TYPE_CHECKING:
    from unmask.stats.worsening import GateVerdict, Worsening

MEAN = "mean-difference"
SPREAD_PER_POINT = 0.02  # standard deviations of an item that a point of bias score corresponds to
NATS = ("asld", "association", MEAN)
GateAnswer = Literal["pass", "fail", "cannot tell"]
EXIT_CODES: Mapping[GateAnswer, int] = {"pass": 0, "fail": 1, "cannot tell": 3}
LARGEST = {"bias-score": 50.0, "appd": 1.0}  # the worsening of a statistic from its reference value to its end
_NAMED = re.compile(r"(?P<name>[^=]+)=(?P<number>[^=,]*)(?:,|$)")  # a name may contain commas: `accuracy, women, %`


def _plain(statistic: str) -> str:
    """The statistic of all items, of which it is the mean over words or over both directions."""
    return statistic.removeprefix(OF_WORDS).removeprefix(BALANCED)


def largest(statistic: str) -> float:
    """The largest possible worsening of a statistic."""
    return LARGEST.get(_plain(statistic), math.inf)


def unit_of(statistic: str) -> str:
    """The unit of a statistic: points for percentages, nats, else that of its own."""
    base = _plain(statistic)
    if base in PERCENT or base.endswith("%"):
        return "points"
    return "nats" if base in NATS else base


@dataclass(frozen=True, slots=True)
class PerStatistic:
    """A number for each statistic, or one for all."""

    by_name: Mapping[str, float] = field(default_factory=dict)
    common: float | None = None

    @classmethod
    def parse(cls, given: object, name: str = "value", least: float | None = None) -> PerStatistic:
        """From a number, numbers by statistic, or text such as `bias-score=2,appd=0.05`; None is none."""
        if isinstance(given, PerStatistic):
            parsed = given
        elif isinstance(given, Mapping):
            parsed = cls({str(key): _number(value, name, given) for key, value in given.items()})
        elif given is None:
            parsed = cls()
        elif isinstance(given, str) and "=" in given:
            parsed = cls(_split(given, name))
        else:
            parsed = cls(common=_number(given, name, given))
        for value in (*parsed.by_name.values(), *(() if parsed.common is None else (parsed.common,))):
            check_number(name, value, least=least)
        return parsed

    def __bool__(self) -> bool:
        return bool(self.by_name) or self.common is not None

    def get(self, statistic: str) -> float | None:
        """The number of a statistic, or of its mean over both directions; None if none was given.

        One number is for everything but mean differences, which stand beside bias scores in another unit.
        """
        plain = statistic.removeprefix(BALANCED)
        common = None if plain == MEAN else self.common
        return self.by_name.get(statistic, self.by_name.get(plain, common))

    def get_for(self, worsening: Worsening) -> float | None:
        """The same for a worsening: of a mean difference what corresponds to the points of the bias score.

        Five points are a tenth of an item's standard deviation, as in the default margin.
        """
        number = self.get(worsening.statistic)
        is_mean = worsening.statistic.removeprefix(BALANCED) == MEAN
        points = self.get("bias-score") if is_mean and number is None else None
        return number if points is None else points * SPREAD_PER_POINT * worsening.spread

    def check(self, name: str, statistics: Collection[str]) -> None:
        """Refuse names that are no statistic of this gate, one number for several units, and what accepts anything."""
        known = {*statistics, *(statistic.removeprefix(BALANCED) for statistic in statistics)}
        for given in self.by_name:
            if given not in known:
                raise UnknownName("statistic in this gate", given, known)
        plain = sorted({statistic.removeprefix(BALANCED) for statistic in statistics} - {MEAN})
        if self.common is not None and len({unit_of(statistic) for statistic in plain}) > 1:
            example = ",".join(f"{statistic}={self.common:g}" for statistic in plain)
            raise DataError(
                f"{name} is {self.common:g} for statistics of different units ({', '.join(plain)}): "
                f"give a number for each, as in {example}"
            )
        for statistic in sorted(statistics):
            most = largest(statistic)
            if name == "tolerance" and (number := self.get(statistic)) is not None and number >= most:
                raise DataError(
                    f"{name} is {number:g} for {statistic}, which no worsening can exceed: expected less than {most:g}"
                )


def _split(text: str, name: str) -> dict[str, float]:
    """The numbers of `bias-score=2,appd=0.05`."""
    found: dict[str, float] = {}
    end = 0
    for match in _NAMED.finditer(text):
        if match.start() != end:
            break
        found[match["name"].strip()] = _number(match["number"], name, text)
        end = match.end()
    if end != len(text) or text.endswith(","):
        raise _refusal(name, text)
    return found


def _number(given: Any, name: str, whole: object) -> float:
    try:
        return float(given)
    except (TypeError, ValueError):
        raise _refusal(name, whole) from None


def _refusal(name: str, given: object) -> DataError:
    return DataError(
        f"{name} is {quote(given)}, expected a number, or numbers by statistic such as bias-score=2,appd=0.05"
    )


@dataclass(frozen=True, slots=True)
class GateOptions:
    """What the gate judges and what it accepts."""

    measures: tuple[str, ...] = option((), "Only these measures.", flag="--measure", shown="all of the baseline")
    tolerance: PerStatistic = option(
        PerStatistic(),
        "Worsening that is accepted: one number, or by statistic as in bias-score=2,appd=0.05.",
        shown="0",
    )
    margin: PerStatistic = option(
        PerStatistic(),
        "Worsening that must be excluded to pass, in the same form.",
        shown="the tolerance and 5 points, or what the data can show if more, at most 10",
    )
    max: PerStatistic = option(
        PerStatistic(),
        "Limit of a statistic, as in bias-score=60; it holds on both sides of the reference value (40 to 60).",
        shown="none",
    )
    allow_missing: bool = option(False, "Accept that data or items of the baseline are missing in the run.")
    independent: bool = option(False, "Take pairs for independent, whatever writer, term, … they share.")
    seed: int = option(0, "Random seed of the bootstrap.", least=0, most=MAX_SEED)

    def __post_init__(self) -> None:
        """Parse what the command line gives as text, and refuse invalid values."""
        given: Any = self.measures  # in Python a single name or a list will do
        object.__setattr__(self, "measures", (given,) if isinstance(given, str) else tuple(given))
        for name, least in (("tolerance", 0.0), ("margin", 0.0), ("max", None)):
            object.__setattr__(self, name, PerStatistic.parse(getattr(self, name), name, least))
        check_values(self)


@dataclass(frozen=True, slots=True)
class MissingData:
    """Data or items that the baseline has and the run lacks."""

    measure: str
    data: str
    detail: str


@dataclass(frozen=True, slots=True)
class GateResult:
    """The verdicts of a gate and what could not be judged; `answer` and `exit_code` sum them up."""

    verdicts: tuple[GateVerdict, ...]
    missing: tuple[MissingData, ...] = ()
    failed_checks: tuple[Check, ...] = ()
    not_judged: tuple[tuple[str, str], ...] = ()  # data and measures that the run has and the baseline lacks
    allow_missing: bool = False
    baselines: int = 1  # how many there were; 0: limits alone
    kind: str = "audit"  # of the run

    @property
    def answer(self) -> GateAnswer:
        """Fail if anything is worse or missing or a check failed; pass if everything is not worse; else cannot tell.

        A bias type can be worse; whether it is certainly not worse is asked of all items only.
        """
        answers = {each.answer for each in self.verdicts if each.group == "all" or each.answer == "worse"}
        lacking = bool(self.missing) and not self.allow_missing
        if lacking or self.failed_checks or answers & {"worse", "missing"}:
            return "fail"
        return "pass" if answers == {"not worse"} else "cannot tell"

    @property
    def exit_code(self) -> int:
        """0 if it passes, 1 if it fails, 3 if the data cannot tell."""
        return EXIT_CODES[self.answer]

    def to_json(self) -> dict[str, Any]:
        """The result as JSON types."""
        parts = {each.name: plain(getattr(self, each.name)) for each in fields(self)}
        return {"answer": self.answer, "exit_code": self.exit_code, **parts}

    def __str__(self) -> str:
        """The lines that the command prints."""
        from unmask.audit.gate_text import lines

        return "\n".join(lines(self))
