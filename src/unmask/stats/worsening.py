"""How much worse a run is than its baselines or a limit, with the noise of that number, and the decision of a gate.

All worsenings of a gate are decided together: the more there are, the more often one of them is a false alarm.
`docs/statistics.md` defines the answers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np

from unmask.core.errors import StatsError
from unmask.core.estimate import NAN, Estimate, Value
from unmask.core.files import plain
from unmask.core.seeds import generator
from unmask.core.statistic import BALANCED, LEVEL, statistic
from unmask.core.types import ONE_TRAINING, Floats, Measure, Row
from unmask.stats.bootstrap import NO_CHANGE, NO_SPREAD
from unmask.stats.corrections import holm
from unmask.stats.directions import balanced_share
from unmask.stats.intervals import critical, mean, mover_interval, paired_interval, upper_tail
from unmask.stats.paired import PairedRuns, change, is_share, judged_statistics, paired_statistics
from unmask.stats.power import detectable_difference, standard_error
from unmask.stats.shares import unit_share
from unmask.stats.trainings import TrainingNoise, TrainingSpread
from unmask.stats.triples import by_term, icat_interval

SURE = 0.95  # the share of unchanged runs whose interval ends within the margin
SMALL, LARGEST_MARGIN = 0.1, 0.2  # of the standard deviation of an item: bounds of the default margin
FEWEST_OF_GROUP = 8  # items of a bias type that is judged
BY_GROUP = ("share", "ss")  # summaries of measures that are judged by bias type too
UNCHANGED = Value(0.0, 0.0, 0.0, NO_CHANGE)
OF_SHARES = ("wilson", "newcombe", "score")  # how methods of score intervals begin
EVIDENCE = ("amount", "ways", "spread", "rise", "beyond", "trainings")  # fields that other programs do not read

Against = Literal["baseline", "limit"]
Answer = Literal["not worse", "worse", "cannot tell", "missing"]  # missing: a value does not exist
Ways = tuple[tuple[Value, ...], ...]  # worse by x if in one of these ways every value exceeds x


@dataclass(frozen=True, slots=True)
class Worsening:
    """How much worse b is than the baseline a, or than a limit, with its noise; `decide` gives the answer.

    `amount` is |b − null| − |a − null| of what is better the nearer it is to its reference value and of estimates of
    other commands, b − a of what is better the lower, a − b of what is better the higher.
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
    against: Against = "baseline"
    group: str = "all"  # or a bias type: `category=gender`
    ways: Ways = ()
    spread: float = NAN  # standard deviation of an item in a
    rise: Value | None = None  # b − a, where the amount is a distance
    beyond: Value | None = None  # how far b is beyond the reference value, on the side on which a is not
    trainings: TrainingSpread | None = None  # of several baselines: how much they differ
    tolerance: float = 0.0  # worse: the lower end, at the level that Holm's method gives it, exceeds this
    margin: float | None = None  # not worse: the upper end does not exceed this; None: the default
    detectable: float = NAN  # a worsening that these data show in 80 of 100 cases, among so many verdicts
    least: float = 0.0  # a smaller worsening is called unchanged, however certain; 0 if tolerance or margin was given
    p: float = 1.0
    p_holm: float = 1.0
    answer: Answer = "cannot tell"
    turned: bool = False  # worse because it leans to the other side now

    def facts(self) -> dict[str, Any]:
        """The verdict for other programs."""
        known = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in EVIDENCE}
        amount = {"low": self.amount.low, "high": self.amount.high, "method": self.amount.method}
        return {**known, "worsening": self.amount.value, **amount}

    def p_value(self, tolerance: float) -> float:
        """The p-value against "not worse by more than the tolerance": below 0.05 if the 95% interval is above it."""
        ways = self.ways or ((self.amount,),)
        one_sided = min(max(_p_above(value, tolerance) for value in way) for way in ways)
        return min(1.0, 2 * one_sided)

    def p_turned(self, margin: float) -> float:
        """The p-value against "on the side of the reference value on which a was not, by no more than the margin"."""
        return 1.0 if self.beyond is None else min(1.0, 2 * _p_above(self.beyond, margin))

    def detectable_at(self, level: float = LEVEL) -> float:
        """The smallest worsening that is found in 80 of 100 samples at this level; NaN without an interval."""
        return detectable_difference(self.rise or self.amount, versus="null", alpha=level)

    def unchanged_size(self) -> float:
        """The smallest worsening that a user would not call unchanged: 5 points, or a tenth of an item's deviation."""
        margin = statistic(self.statistic).margin
        return SMALL * self.spread if margin is None else margin

    def default_margin(self) -> float:
        """What a user would call unchanged: 5 points, or what these items can show if that is more, at most 10.

        They can show what 95 of 100 runs that did not change are certain not to exceed.
        In other units, a tenth and a fifth of an item's standard deviation; 0 if it is unknown: then only what is
        certainly no worse passes.
        """
        least = self.unchanged_size()
        most = least * LARGEST_MARGIN / SMALL
        visible = detectable_difference(self.rise or self.amount, versus="null", power=SURE)
        return min(max(least, visible), most) if math.isfinite(visible) and math.isfinite(least) else 0.0


def decide(worsenings: Sequence[Worsening]) -> tuple[Worsening, ...]:
    """The worsenings of a gate with their answers, within what each tolerates.

    Worse: the p-value, corrected by Holm, is below 0.05, and the worsening is none that a user would call
    unchanged. In terms of intervals: the lower end, at the level that Holm's method gives to this verdict, exceeds the
    tolerance; or the lean is on the other side of the reference value now, by more than the margin. Not worse: the
    upper end of the 95% interval is within the margin; that needs no correction, because a gate passes only if every
    verdict over all items does (Berger 1982).
    """
    level = LEVEL / max(1, len(worsenings))
    bounded = [_with_bounds(each, level) for each in with_training_noise(worsenings)]
    adjusted = holm([each.p for each in bounded])
    return tuple(_with_answer(each, p) for each, p in zip(bounded, adjusted, strict=True) if p is not None)


def _with_bounds(worsening: Worsening, level: float) -> Worsening:
    """With what counts as a worsening, what these data can show of one, and the p-value of one."""
    tolerance, least = worsening.tolerance, 0.0
    margin = tolerance + worsening.default_margin() if worsening.margin is None else worsening.margin
    if worsening.margin is None and not tolerance and worsening.against == "baseline":
        least = worsening.unchanged_size()
    return replace(
        worsening,
        margin=margin,
        least=least if math.isfinite(least) else 0.0,
        detectable=tolerance + worsening.detectable_at(level),
        p=min(worsening.p_value(tolerance), worsening.p_turned(margin)),
    )


def _with_answer(worsening: Worsening, p_holm: float) -> Worsening:
    amount, margin = worsening.amount, worsening.margin or 0.0
    answer: Answer = "not worse" if amount.has_interval and amount.high <= margin else "cannot tell"
    turned = p_holm < LEVEL and worsening.p_turned(margin) < worsening.p_value(worsening.tolerance)
    if not math.isfinite(amount.value):
        answer = "missing"
    elif p_holm < LEVEL and (turned or not amount.value < worsening.least):
        answer = "worse"
    return replace(worsening, p_holm=p_holm, answer=answer, turned=turned)


def worsenings(
    measure: Measure,
    baselines: Sequence[Sequence[Row]],
    candidate: Sequence[Row],
    *,
    data: str,
    rng_seed: int,
    independent: bool = False,
) -> Iterator[Worsening]:
    """The worsening of every statistic that decides, over all items and by bias type.

    Of several baselines, which are trainings alike but for their seed, the mean counts; how much they differ from each
    other is part of the noise, see `with_training_noise`.
    """
    if len(baselines) > 1:
        scored = [{row.item for row in rows if row.outcome != "unscored"} for rows in (*baselines, candidate)]
        shared = set.intersection(*scored)
        *baselines, candidate = ([row for row in rows if row.item in shared] for rows in (*baselines, candidate))
    paired = [paired_statistics(measure, rows, candidate, data=data, independent=independent) for rows in baselines]
    return paired_worsenings(paired, rng_seed)


def paired_worsenings(paired: Sequence[Sequence[PairedRuns]], rng_seed: int) -> Iterator[Worsening]:
    """The same, from the statistics of the candidate paired with each baseline."""
    first, *others = ({pair.key: pair for pair in _judged(pairs)} for pairs in paired)
    for key, pair in first.items():
        if all(key in other for other in others):
            yield headline_worsening([pair, *(other[key] for other in others)], rng_seed)


def _judged(paired: Sequence[PairedRuns]) -> Iterator[PairedRuns]:
    """The statistics that decide, over all items and by bias type."""
    whole = max(pair.a.items.size for pair in paired)
    for pair in judged_statistics(paired):
        by_group = pair.a.measure.summary in BY_GROUP
        if pair.group == "all" or (by_group and FEWEST_OF_GROUP <= pair.a.items.size < whole):
            yield pair


def headline_worsening(pairs: Sequence[PairedRuns], rng_seed: int) -> Worsening:
    """The worsening of one statistic over the items of all runs, which are those it counts.

    Args:
        pairs: each baseline with the run
        rng_seed: of the bootstrap
    """
    pair, rng = pairs[0], generator(rng_seed, "all")
    better = statistic(pair.statistic).better
    # icat is no mean: of several baselines the first counts
    runs = [] if pair.statistic == "icat" else [each.values()[0] for each in pairs]
    worsening = Worsening(
        measure=pair.a.measure.name,
        data=pair.a.data,
        statistic=pair.statistic,
        a_value=NAN,
        b_value=NAN,
        null=pair.null,
        amount=UNCHANGED,
        n=pair.count,
        left_out=pair.left_out,
        group=pair.group,
        spread=_spread(pair, rng_seed),
        trainings=TrainingSpread.of(runs, pair.units) if len(runs) > 1 else None,
    )
    if better == "nearer" and pair.null is None:
        raise StatsError(f"{worsening.measure} has no null value to compare with; gate on another measure")
    if len(runs) > 1:
        a, b = np.mean(runs, axis=0), pair.values()[1]
        certain = better != "nearer" and not (b - a).any()
        before, after, rise = mean(a), mean(b), UNCHANGED if certain else _mean(b - a, pair, rng)
    else:
        before, after, rise, _ = change(pair, rng=rng)
    worsening = replace(worsening, a_value=before, b_value=after)
    if better != "nearer":
        return replace(worsening, amount=negative(rise) if better == "higher" else rise)
    a, b = np.mean(runs, axis=0), pair.values()[1]
    if not (b - a).any() and all(each.agree for each in pairs):
        return worsening
    own = _own(pair, b, rng)
    plus = _mean(a + b - 2 * (pair.null or 0.0), pair, rng)
    return distance_worsening(worsening, _certain(rise), plus, own)


def _certain(value: Value) -> Value:
    """The value; with an interval of no width if what it is the mean of does not vary."""
    return replace(value, low=value.value, high=value.value) if value.method.startswith(NO_SPREAD) else value


def distance_worsening(worsening: Worsening, less: Value, plus: Value, own: Value) -> Worsening:
    """|b − null| − |a − null|, with an interval that is robust to the kinks at the null.

    With B = b − null and A = a − null it equals max over the sign s of min over the sign t of sB + tA, and
    also min max. Each sB + tA is a mean with an interval of its own; the low end is the max min of their
    low ends, the high end the min max of their high ends, which is the wider choice. (`tools.gate_rates`
    prints its false alarms, `tools.coverage --rejected` those of a BCa bootstrap of the distance.)

    Args:
        worsening: with its values
        less: B − A with its interval
        plus: B + A
        own: b
    """
    null = worsening.null or 0.0
    before, after = worsening.a_value - null, worsening.b_value - null
    far = shift(own, -null)
    beyond = (far if after > 0 else negative(far)) if before * after < 0 else None
    return replace(_with_distance(worsening, less, plus), beyond=beyond)


def _with_distance(worsening: Worsening, less: Value, plus: Value) -> Worsening:
    """The worsening with the interval that B − A and B + A give it."""
    null = worsening.null or 0.0
    amount = abs(worsening.b_value - null) - abs(worsening.a_value - null)
    value = Value(amount, *distance_interval(less, plus), less.method, df=_fewest_df(less, plus)).widen()
    return replace(worsening, amount=value, ways=ways_of_distance(less, plus), rise=less)


def estimate_worsening(a: Estimate, b: Estimate) -> Worsening:
    """The worsening of an estimate that is no audit's, as if the two were independent: the interval is MOVER's."""
    a, b = (replace(each, df=interval_df(each)) for each in (a, b))
    assert a.null is not None
    spread = standard_error(a) * math.sqrt(a.n) if a.has_interval and a.n > 1 else NAN
    amount = Value(abs(b.value - a.null) - abs(a.value - a.null), method="an estimate has no interval")
    worsening = Worsening(
        measure=a.measure,
        data=a.data,
        statistic=a.statistic,
        a_value=a.value,
        b_value=b.value,
        null=a.null,
        amount=amount,
        n=min(a.n, b.n),
        left_out=abs(a.n - b.n),
        spread=spread,
    )
    if math.isfinite(a.value) and plain(a) == plain(b):  # NaN is not equal to itself, null is
        return replace(worsening, amount=UNCHANGED)
    if any(each.method.endswith(ONE_TRAINING) for each in (a, b)):
        return replace(worsening, amount=replace(amount, method=ONE_TRAINING))
    if not (a.has_interval and b.has_interval):
        return worsening
    mirrored = replace(a, value=2 * a.null - a.value, low=2 * a.null - a.high, high=2 * a.null - a.low)
    less, plus = (replace(mover_interval(each, b), df=_fewest_df(a, b)) for each in (a, mirrored))
    return distance_worsening(worsening, less, plus, b)


def limit_worsening(estimate: Estimate, limit: float) -> Worsening:
    """How far an estimate is beyond a limit, on either side of its reference value."""
    null = estimate.null or 0.0
    own = Value(estimate.value, estimate.low, estimate.high, estimate.method, df=interval_df(estimate))
    if own.method.endswith(ONE_TRAINING):
        own = Value(own.value, method=ONE_TRAINING)
    signed, allowed = shift(own, -null), abs(limit - null)
    return Worsening(
        measure=estimate.measure,
        data=estimate.data,
        statistic=estimate.statistic,
        a_value=limit,
        b_value=estimate.value,
        null=null,
        amount=shift(abs(signed), -allowed),
        n=estimate.n,
        ways=((shift(signed, -allowed),), (shift(negative(signed), -allowed),)),
        against="limit",
        margin=0.0,
    )


def interval_df(estimate: Estimate) -> float | None:
    """The degrees of freedom of an interval; n − 1 if a mean does not say.

    None, a normal quantile: score intervals of independent pairs, whose variance follows from the share.
    """
    if estimate.df is not None or estimate.method.startswith(OF_SHARES) or estimate.n < 2:
        return estimate.df
    return estimate.n - 1.0


def with_training_noise(worsenings: Sequence[Worsening]) -> list[Worsening]:
    """The worsenings of one gate; those against several baselines with the noise between trainings."""
    families: dict[str, list[Worsening]] = {}
    for each in worsenings:
        families.setdefault(each.statistic.removeprefix(BALANCED), []).append(each)
    return [_widen(each, families[each.statistic.removeprefix(BALANCED)]) for each in worsenings]


def _widen(worsening: Worsening, family: Sequence[Worsening]) -> Worsening:
    """The worsening with the noise between trainings, of which others of its statistic tell: those by bias type."""
    if (own := worsening.trainings) is None:
        return worsening
    known = [each for each in family if each.trainings is not None and each.trainings.ratio is not None]
    known = [each for each in known if each.group != "all"] or known
    spreads = [each.trainings for each in known if each.trainings is not None]
    noise = TrainingNoise.pool(own, spreads, len({(each.data, each.group) for each in known}))
    times = 1 + 1 / own.trainings  # B − A and B + A alike: A is the mean of the baselines
    if worsening.rise is None:
        return replace(worsening, amount=noise.widen(worsening.amount, times))
    less, plus = (noise.widen(value, times) for value in worsening.ways[0])
    beyond = None if worsening.beyond is None else noise.widen(worsening.beyond, 1.0)
    return replace(_with_distance(worsening, less, plus), beyond=beyond)


def _spread(pair: PairedRuns, rng_seed: int) -> float:
    """The standard deviation of an item in run a."""
    if pair.statistic == "icat":
        terms = by_term(pair.a)
        own = icat_interval(terms, rng=generator(rng_seed, "baseline"))
        return standard_error(own) * math.sqrt(terms.ss.size)
    values, _ = pair.values()
    return float(np.std(values, ddof=1)) if values.size > 1 else NAN


def _own(pair: PairedRuns, values: Floats, rng: np.random.Generator) -> Value:
    """The statistic of run b with its interval."""
    if not is_share(pair.statistic):
        return _mean(values, pair, rng)
    if pair.statistic.startswith(BALANCED):
        return balanced_share(pair.b.wins, pair.b.labels["direction"], pair.units)
    return unit_share(pair.b.wins, pair.units)


def distance_interval(less: Value, plus: Value) -> tuple[float, float]:
    """Ends for |B| − |A| from the intervals of B − A and of B + A; see `distance_worsening`. It is at most |B − A|."""
    low = max(min(less.low, plus.low), min(-less.high, -plus.high))
    return low, min(max(less.high, -plus.low), max(plus.high, -less.low), max(less.high, -less.low))


def _fewest_df(first: Value, second: Value) -> float | None:
    """The degrees of freedom of a value that two intervals decide: the fewer."""
    return min((each.df for each in (first, second) if each.df is not None), default=None)


def ways_of_distance(less: Value, plus: Value) -> Ways:
    """In which ways |B| exceeds |A| by x: both B − A and B + A are above x, or both below −x."""
    return (less, plus), (negative(less), negative(plus))


def negative(value: Value) -> Value:
    """The value and its interval with the other sign."""
    return replace(value, value=-value.value, low=-value.high, high=-value.low)


def shift(value: Value, by: float) -> Value:
    """The value and its interval, moved."""
    return replace(value, value=value.value + by, low=value.low + by, high=value.high + by)


def _mean(values: Floats, pair: PairedRuns, rng: np.random.Generator) -> Value:
    """A mean with its interval, which has zero width if the values do not vary."""
    if pair.statistic == "bias-score" and np.isin(values, (-100.0, 0.0, 100.0)).all():
        return paired_interval(values, pair.units)
    return _certain(pair.mean_interval(values, rng=rng))


def _p_above(value: Value, tolerance: float) -> float:
    """The one-sided p-value of a value above the tolerance, from the lower end of its interval and its quantile."""
    if not value.has_interval:
        return 1.0
    if (error := (value.value - value.low) / critical(value.df)) <= 0:
        return float(value.value <= tolerance)
    return upper_tail((value.value - tolerance) / error, value.df)
