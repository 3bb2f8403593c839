"""The gate: is a run worse than its baseline, not worse, or can the data not tell?

All verdicts are decided together: the more there are, the more often one of them is a false alarm.
`docs/statistics.md` defines the three answers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from unmask.core.estimate import Value
from unmask.stats.corrections import holm
from unmask.stats.detectable import ALPHA
from unmask.stats.worsening import Against, Worsening, with_training_noise

Answer = Literal["not worse", "worse", "cannot tell", "missing"]  # missing: a value does not exist


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """A worsening, what was allowed, and the answer."""

    measure: str
    data: str
    statistic: str
    against: Against
    a_value: float  # of the baseline, or the limit
    b_value: float
    null: float | None
    worsening: float
    low: float
    high: float
    tolerance: float  # worse: the lower end, at the level that Holm's method gives it, exceeds this
    margin: float  # not worse: the upper end does not exceed this
    detectable: float  # a worsening that these data show in 80 of 100 cases, among so many verdicts
    least: float  # a smaller worsening is called unchanged, however certain; 0 if tolerance or margin was given
    n: int
    left_out: int
    method: str
    p: float
    p_holm: float
    answer: Answer
    group: str = "all"  # or a bias type: `category=gender`
    turned: bool = False  # worse because it leans to the other side now

    @property
    def difference(self) -> Value:
        """The worsening with its interval."""
        return Value(self.worsening, self.low, self.high, self.method)


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is accepted of one worsening: `margin` None is the default one, the tolerance and what the data can see."""

    tolerance: float = 0.0
    margin: float | None = None

    @property
    def is_default(self) -> bool:
        """Whether neither was given: then what a user would call unchanged is no worsening, however certain."""
        return not self.tolerance and self.margin is None

    def least(self, worsening: Worsening) -> float:
        """The smallest worsening that is not called unchanged; 0 of a limit, or if the user said what to accept."""
        least = worsening.least() if self.is_default and worsening.against == "baseline" else 0.0
        return least if math.isfinite(least) else 0.0


def decide(worsenings: Sequence[Worsening], allowed: Sequence[Allowance]) -> tuple[GateVerdict, ...]:
    """The verdicts on all worsenings of a gate.

    Worse: the p-value, corrected by Holm, is below 0.05, and the worsening is none that a user would call
    unchanged. In terms of intervals: the lower end, at the level that
    Holm's method gives to this verdict, exceeds the tolerance; or the lean is on the other side of the reference value
    now, by more than the margin. Not worse: the upper end of the 95% interval is within the margin; that needs no
    correction, because a gate passes only if every verdict over all items does (Berger 1982).
    """
    worsenings = with_training_noise(worsenings)
    margins = [
        limits.tolerance + each.default_margin() if limits.margin is None else limits.margin
        for each, limits in zip(worsenings, allowed, strict=True)
    ]
    known = list(zip(worsenings, allowed, margins, strict=True))
    ps = [min(each.p(limits.tolerance), each.p_turned(margin)) for each, limits, margin in known]
    adjusted = [p for p in holm(ps) if p is not None]  # all of them
    level = ALPHA / max(1, len(worsenings))
    return tuple(
        _verdict(each, limits, margin, (p, p_holm), level)
        for (each, limits, margin), p, p_holm in zip(known, ps, adjusted, strict=True)
    )


def _verdict(each: Worsening, allowed: Allowance, margin: float, ps: tuple[float, float], level: float) -> GateVerdict:
    amount, tolerance = each.amount, allowed.tolerance
    turned = ps[1] < ALPHA and each.p_turned(margin) < each.p(tolerance)
    least = allowed.least(each)
    small = not turned and amount.value < least
    return GateVerdict(
        measure=each.measure,
        data=each.data,
        statistic=each.statistic,
        against=each.against,
        a_value=each.a_value,
        b_value=each.b_value,
        null=each.null,
        worsening=amount.value,
        low=amount.low,
        high=amount.high,
        tolerance=tolerance,
        margin=margin,
        detectable=tolerance + each.detectable(level),
        least=least,
        n=each.n,
        left_out=each.left_out,
        method=amount.method,
        p=ps[0],
        p_holm=ps[1],
        answer=_answer(amount, 1.0 if small else ps[1], margin),
        group=each.group,
        turned=turned,
    )


def _answer(amount: Value, p_holm: float, margin: float) -> Answer:
    if not math.isfinite(amount.value):
        return "missing"
    if p_holm < ALPHA:
        return "worse"
    return "not worse" if amount.has_interval and amount.high <= margin else "cannot tell"
