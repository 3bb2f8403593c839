"""How much worse a run is than its baseline, item by item, with the noise of that number."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from unmask.core.errors import StatsError
from unmask.core.estimate import NAN, Value
from unmask.core.seeds import generator
from unmask.core.types import OF_WORDS, Floats, Measure, Row
from unmask.stats.bootstrap import NO_CHANGE, NO_SPREAD
from unmask.stats.compare import PairedRuns, change, mean_change, paired_groups
from unmask.stats.detectable import ALPHA, detectable_difference, standard_error
from unmask.stats.means import CROSSED, crossed_mean, mean
from unmask.stats.score_intervals import paired_interval
from unmask.stats.shares import unit_share
from unmask.stats.student import quantile, upper_tail
from unmask.stats.table import headline_statistic
from unmask.stats.triples import by_term, icat_interval
from unmask.stats.word_leans import lean_size, word_leans

SMALL_EFFECT = 0.2  # of the standard deviation of an item (Cohen 1988): the largest default margin
UNCHANGED = Value(0.0, 0.0, 0.0, NO_CHANGE)

Against = Literal["baseline", "limit"]
Ways = tuple[tuple[Value, ...], ...]  # worse by x if in one of these ways every value exceeds x


@dataclass(frozen=True, slots=True)
class Worsening:
    """How much worse b is than the baseline a, or than a limit, with its noise.

    `amount` is |b − null| − |a − null| for bias scores, ss, appd, association and estimates of other commands, b − a
    for asld and the size of words' leans, and a − b for lms and icat, of which more is better.
    """

    measure: str
    data: str
    statistic: str
    a_value: float  # of the baseline, or the limit
    b_value: float
    null: float | None
    amount: Value
    n: int
    left_out: int = 0
    ways: Ways = ()
    baseline: Value = Value(NAN)  # a with its own interval
    spread: float = NAN  # standard deviation of an item in a
    against: Against = "baseline"

    def p(self, tolerance: float) -> float:
        """The p-value against "not worse by more than the tolerance": below 0.05 if the 95% interval is above it."""
        ways = self.ways or ((self.amount,),)
        one_sided = min(max(_p_above(value, tolerance) for value in way) for way in ways)
        return min(1.0, 2 * one_sided)

    def detectable(self, alpha: float = ALPHA) -> float:
        """The smallest worsening that is found in 80 of 100 samples at this level; NaN without an interval."""
        return detectable_difference(self.amount, versus="null", alpha=alpha)

    def default_margin(self, alpha: float = ALPHA) -> float:
        """The difference that the baseline's items can show between two unrelated models, at most a small effect.

        0 if it is unknown: then only what is certainly no worse passes.
        """
        visible, small = detectable_difference(self.baseline, alpha=alpha), SMALL_EFFECT * self.spread
        return min(visible, small) if math.isfinite(visible) and math.isfinite(small) else 0.0


def worsenings(
    measure: Measure,
    baseline: Sequence[Row],
    candidate: Sequence[Row],
    *,
    data: str,
    rng_seed: int,
    independent: bool = False,
) -> Iterator[Worsening]:
    """The worsening of the headline over items both runs scored; of a lean, also that of the size of words' leans."""
    statistic = headline_statistic(measure)
    _, whole = next(paired_groups(measure, baseline, candidate, data=data, independent=independent))
    yield headline_worsening(whole.restrict_to(statistic), statistic, rng_seed)
    if statistic in CROSSED and (whole.a.labels["word"] != "").all():
        yield _of_words(whole, baseline, candidate, rng_seed)


def headline_worsening(pair: PairedRuns, statistic: str, rng_seed: int) -> Worsening:
    """The worsening of one statistic over the items of both runs, which are those it counts."""
    found = _measure(pair, statistic, generator(rng_seed, "all"))
    own, spread = _baseline(pair, statistic, generator(rng_seed, "baseline"))
    return Worsening(
        measure=pair.a.measure.name,
        data=pair.a.data,
        statistic=statistic,
        a_value=found.a,
        b_value=found.b,
        null=pair.a.measure.null,
        amount=found.amount,
        n=pair.a.items.size,
        left_out=pair.left_out,
        ways=found.ways,
        baseline=own,
        spread=spread,
    )


def _of_words(whole: PairedRuns, baseline: Sequence[Row], candidate: Sequence[Row], rng_seed: int) -> Worsening:
    """The worsening of the mean absolute lean of a word: leans in both directions do not cancel each other there."""
    shared = {*whole.a.items.tolist()}
    leans = word_leans(*([row for row in rows if row.item in shared] for rows in (baseline, candidate)))
    sizes, words = lean_size(leans, rng_seed), len(leans.words)
    same = np.array_equal(leans.before, leans.after)
    return Worsening(
        measure=whole.a.measure.name,
        data=whole.a.data,
        statistic=f"{OF_WORDS}{headline_statistic(whole.a.measure)}",
        a_value=sizes.before.value,
        b_value=sizes.after.value,
        null=0.0,
        amount=UNCHANGED if same else sizes.change,
        n=words,
        baseline=sizes.before,
        spread=float(np.std(np.abs(leans.before), ddof=1)) if words > 1 else NAN,
    )


def _baseline(pair: PairedRuns, statistic: str, rng: np.random.Generator) -> tuple[Value, float]:
    """The statistic of run a with its interval, and the standard deviation of an item."""
    if statistic == "icat":
        terms = by_term(pair.a)
        own, units = icat_interval(terms, rng=rng), terms.ss.size
        return own, standard_error(own) * math.sqrt(units)
    values, _ = pair.values(statistic)
    spread = float(np.std(values, ddof=1)) if values.size > 1 else NAN
    own = unit_share(pair.a.wins, pair.units) if statistic == "bias-score" else _mean(values, pair, statistic, rng)
    return own, spread


class _Parts(NamedTuple):
    a: float
    b: float
    amount: Value
    ways: Ways = ()


def _measure(pair: PairedRuns, statistic: str, rng: np.random.Generator) -> _Parts:
    """How much worse b is than a, in the statistic's own sense of worse (see `Worsening`)."""
    if statistic in ("bias-score", "ss", *CROSSED):
        return _distance(pair, statistic, rng)
    a, b, rise, _ = change(pair, statistic, rng=rng)
    return _Parts(a, b, rise if statistic == "asld" else negative(rise))


def _distance(pair: PairedRuns, statistic: str, rng: np.random.Generator) -> _Parts:
    """|b − null| − |a − null|, with an interval that is robust to the kinks at the null.

    With B = b − null and A = a − null it equals max over the sign s of min over the sign t of sB + tA, and
    also min max. Each sB + tA is a mean with an interval of its own; the low end is the max min of their
    low ends, the high end the min max of their high ends, which is the wider choice. (`tools.gate_rates`
    prints its false alarms, `tools.coverage --rejected` those of a BCa bootstrap of the distance.)
    """
    measure = pair.a.measure
    if (null := measure.null) is None:
        raise StatsError(f"{measure.name} has no null value to compare with; gate on another measure")
    a, b = pair.values(statistic)
    if not (b - a).any():
        return _Parts(mean(a), mean(b), UNCHANGED)
    less, plus = (_mean(column, pair, statistic, rng) for column in (b - a, a + b - 2 * null))
    value = abs(mean(b) - null) - abs(mean(a) - null)
    amount = Value(value, *distance_interval(less, plus), less.method, df=fewest_df(less, plus)).widen()
    return _Parts(mean(a), mean(b), amount, ways_of_distance(less, plus))


def distance_interval(less: Value, plus: Value) -> tuple[float, float]:
    """Ends for |B| − |A| from the intervals of B − A and of B + A; see `_distance`."""
    low = max(min(less.low, plus.low), min(-less.high, -plus.high))
    return low, min(max(less.high, -plus.low), max(plus.high, -less.low))


def fewest_df(first: Value, second: Value) -> float | None:
    """The degrees of freedom of a value that two intervals decide: the fewer."""
    return min((each.df for each in (first, second) if each.df is not None), default=None)


def ways_of_distance(less: Value, plus: Value) -> Ways:
    """In which ways |B| exceeds |A| by x: both B − A and B + A are above x, or both below −x."""
    return (less, plus), (negative(less), negative(plus))


def negative(value: Value) -> Value:
    """The value and its interval with the other sign."""
    return replace(value, value=-value.value, low=-value.high, high=-value.low)


def _mean(values: Floats, pair: PairedRuns, statistic: str, rng: np.random.Generator) -> Value:
    """A mean with its interval, which has zero width if the values do not vary."""
    if statistic == "bias-score":  # −100, 0 or 100
        return paired_interval(values, pair.units)
    if statistic in CROSSED:
        found = crossed_mean(values, pair.units, rng=rng)[0]
    else:
        found = mean_change(values, pair, statistic, rng=rng)
    return replace(found, low=found.value, high=found.value) if found.method.startswith(NO_SPREAD) else found


def _p_above(value: Value, tolerance: float) -> float:
    """The one-sided p-value of a value above the tolerance, from the lower end of its interval and its quantile."""
    if not value.has_interval:
        return 1.0
    if (error := (value.value - value.low) / quantile(1 - ALPHA / 2, value.df)) <= 0:
        return float(value.value <= tolerance)
    return upper_tail((value.value - tolerance) / error, value.df)
