"""Paired comparison of two runs: what changed?

`paired_statistics` is the one list of statistics: the gate, `unmask compare` and the page of a comparison all read it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

import numpy as np
from scipy.stats import binomtest

from unmask.core.errors import StatsError
from unmask.core.estimate import Value
from unmask.core.seeds import generator
from unmask.core.statistic import BALANCED, OF_WORDS
from unmask.core.types import USUAL, Floats, Measure, Row
from unmask.stats.bootstrap import NO_CHANGE
from unmask.stats.corrections import holm
from unmask.stats.directions import (
    DIRECTIONS,
    balance_directions,
    balanced_change,
    has_both,
    is_directed,
    is_unbalanced,
)
from unmask.stats.intervals import CROSSED, crossed_mean, mean, mean_interval, mean_test, paired_interval, paired_test
from unmask.stats.table import STATISTICS, Flags, ScoreTable, item_values
from unmask.stats.triples import TERM, UNIT, by_term, icat_change_interval, overall
from unmask.stats.units import INDEPENDENT, MIN_CROSSED, WORD, Units


@dataclass(frozen=True, slots=True)
class ContingencyTable:
    """How often both predictors were right, only the first, only the second, or neither."""

    both: int
    first: int
    second: int
    neither: int

    @property
    def n(self) -> int:
        """Number of items."""
        return self.both + self.first + self.second + self.neither

    @property
    def disagreements(self) -> int:
        """Items on which exactly one predictor is right; the test depends on these alone."""
        return self.first + self.second


def cross_tabulate(first: Flags, second: Flags) -> ContingencyTable:
    """Contingency table of two correctness vectors over the same items in the same order."""
    if first.shape != second.shape:
        raise StatsError(f"{first.size} predictions against {second.size}: McNemar's test needs the same items in both")
    counts = (first & second, first & ~second, ~first & second, ~first & ~second)
    return ContingencyTable(*(int(cell.sum()) for cell in counts))


def mcnemar_p(table: ContingencyTable) -> float | None:
    """Two-sided exact p-value for equal accuracy over independent items; None without disagreements."""
    if not table.disagreements:
        return None
    return float(binomtest(table.first, table.disagreements).pvalue)


OF_TERMS = ("lms", "ss", "icat")  # statistics over target terms
MORE_IS_BETTER = ("lms", "icat")
NOT_JUDGED = {"magnitude": "mean-difference"}  # a measure of sizes is judged by them; that mean is another measure's
SIZES = ("asld", f"{OF_WORDS}appd", f"{OF_WORDS}association")  # without a direction: more is worse


@dataclass(frozen=True, slots=True)
class Comparison:
    """One statistic in two runs, over the items both have; `change` is b − a."""

    measure: str
    data: str
    group: str
    statistic: str
    a_value: float
    b_value: float
    change: float
    low: float
    high: float
    n: int
    flips: int  # items on which the runs disagree whether the stereotyping sentence wins
    left_out: int  # items in one run only, or not scored in both
    method: str
    p: float | None = None  # against no change
    p_holm: float | None = None  # over its family of those passed to `apply_holm`
    run: int = 1  # index of run b among several
    unit: str = ""  # what was resampled: "writer", "target term", …
    design_effect: float | None = None  # variance of the change over that of independent items
    null: float | None = None  # the reference value of the statistic
    tested: bool = True  # False: it only stands beside others, as `judged_statistics` says, or is of a baseline
    answer: str = ""  # of a gate with its defaults; empty: it does not judge this
    least: float = 0.0  # a smaller worsening is none for that gate

    @property
    def worsening(self) -> float:
        """How much worse b is than a: farther from the reference value, or less of what more is better of."""
        return worsening_of(self.statistic, self.a_value, self.b_value, self.null)

    @property
    def is_worse(self) -> bool:
        """Whether b is worse than a: as the gate says, or, of what it does not judge, by the distances alone."""
        return self.answer == "worse" if self.answer else self.worsening > 0 and not self.has_turned

    @property
    def has_turned(self) -> bool:
        """Whether the values lie on different sides of the reference value: the distances do not say which is worse.

        A value that was farther from it, and is nearer now than the change is known, has not turned.
        """
        if self.null is None or self.statistic in (*MORE_IS_BETTER, *SIZES):
            return False
        before, after = self.a_value - self.null, self.b_value - self.null
        near = abs(after) < abs(before) and abs(after) <= (self.high - self.low) / 2
        return before * after < 0 and not near

    @property
    def difference(self) -> Value:
        """The change with its interval."""
        return Value(self.change, self.low, self.high, self.method, unit=self.unit, design_effect=self.design_effect)


@dataclass(frozen=True, slots=True)
class PairedRuns:
    """The items of both runs in the same order; `left_out` counts the others."""

    a: ScoreTable
    b: ScoreTable
    left_out: int
    units: Units = field(init=False)

    def __post_init__(self) -> None:
        """Find the units once: every interval and test of the pair is over them."""
        object.__setattr__(self, "units", self.a.units)

    def count(self, statistic: str) -> int:
        """Number of items, or of words where the statistic is over words."""
        return int(np.unique(self.a.labels["word"]).size) if statistic.startswith(OF_WORDS) else self.a.items.size

    @property
    def flips(self) -> int:
        """Number of items on which the runs disagree whether the stereotyping sentence wins."""
        return int((self.a.wins != self.b.wins).sum())

    def restrict_to(self, statistic: str) -> Self:
        """Keep items that count in both runs: those in the denominator of a bias score, else those scored."""
        a, b = self.a, self.b
        kept = a.is_counted & b.is_counted if is_share(statistic) else a.is_scored & b.is_scored
        return replace(self, a=a.take(kept), b=b.take(kept), left_out=self.left_out + int((~kept).sum()))

    def with_usual_gender(self) -> Self | None:
        """The items whose word has a usual gender; None without words of both, or with too few for an interval."""
        directions = self.a.labels[USUAL]
        usual = directions != ""
        if not has_both(directions[usual]) or np.unique(self.a.labels["word"][usual]).size < MIN_CROSSED:
            return None
        return self.take(usual)

    def with_direction(self) -> Self:
        """The items that have a direction."""
        return self.take(is_directed(self.a.labels["direction"]))

    def take(self, kept: Flags) -> Self:
        """Some of the items; the others are not counted as left out."""
        return replace(self, a=self.a.take(kept), b=self.b.take(kept))

    def values(self, statistic: str) -> tuple[Floats, Floats]:
        """The values the statistic averages, in each run: by pair (of those restricted to), by term or by word."""
        if statistic in ("lms", "ss"):
            return getattr(by_term(self.a), statistic), getattr(by_term(self.b), statistic)
        if statistic.startswith(OF_WORDS):
            return sizes_by_word(self.a), sizes_by_word(self.b)
        plain = statistic.removeprefix(BALANCED)
        a, b = item_values(self.a, plain), item_values(self.b, plain)
        if plain == statistic:
            return a, b
        directions = self.a.labels[USUAL if plain in CROSSED else "direction"]
        if plain in CROSSED:  # towards the usual gender of the word
            signs = np.where(directions == DIRECTIONS[0], 1.0, -1.0)
            a, b = signs * a, signs * b
        return balance_directions(a, directions), balance_directions(b, directions)

    def units_for(self, statistic: str) -> Units:
        """What is resampled of the values of a statistic: nothing but themselves of terms and words."""
        return INDEPENDENT if statistic in OF_TERMS or statistic.startswith(OF_WORDS) else self.units


class Change(NamedTuple):
    """A statistic in two runs, and b − a with its p-value."""

    a: float
    b: float
    difference: Value
    p: float | None


def comparisons(
    measure: Measure, a: Sequence[Row], b: Sequence[Row], *, data: str, rng_seed: int, independent: bool = False
) -> tuple[Comparison, ...]:
    """Every statistic that can be compared item by item, the headline (group `all`) first."""
    found = []
    paired = list(paired_statistics(measure, a, b, data=data, independent=independent))
    judged = {(statistic, group) for statistic, group, _ in judged_statistics(measure, paired)}
    for statistic, group, pair in paired:
        result = change(pair, statistic, rng=generator(rng_seed, group))
        difference = result.difference
        found.append(
            Comparison(
                measure=measure.name,
                data=data,
                group=group,
                statistic=statistic,
                a_value=result.a,
                b_value=result.b,
                change=difference.value,
                low=difference.low,
                high=difference.high,
                n=pair.count(statistic),
                flips=pair.flips,
                left_out=pair.left_out,
                method=difference.method,
                p=result.p,
                unit=difference.unit,
                design_effect=difference.design_effect,
                null=reference_value(measure, statistic),
                tested=(statistic, group) in judged,
            )
        )
    return tuple(found)


def published_comparison(
    measure: Measure, a: Sequence[Row], b: Sequence[Row], *, data: str, rng_seed: int, independent: bool = False
) -> Comparison:
    """The statistic that was published with the measure, over all items that both runs have."""
    found = comparisons(measure, a, b, data=data, rng_seed=rng_seed, independent=independent)
    return next(each for each in found if each.statistic == STATISTICS[measure.summary][0])


def paired_statistics(
    measure: Measure, a: Sequence[Row], b: Sequence[Row], *, data: str, independent: bool = False
) -> Iterator[tuple[str, str, PairedRuns]]:
    """Every statistic and group that two runs are compared by, the headline first, with the items both have.

    Of pairs most of which have the same direction, the mean of both directions stands before the mean of all pairs.
    Of templates two more stand after the signed mean: the mean towards the usual gender of a profession, both genders'
    counted alike, because the signed mean mostly says how often "he" is expected; and the size of words' leans, because
    leans to both sides cancel in it.
    """
    groups = list(paired_groups(measure, a, b, data=data, independent=independent))
    for statistic in STATISTICS[measure.summary]:
        for group, whole in groups:
            pair = whole.restrict_to(statistic)
            if measure.summary == "share" and is_unbalanced(pair.a.labels["direction"]):
                yield f"{BALANCED}{statistic}", group, pair.with_direction()
            yield statistic, group, pair
    ((_, whole), *_) = groups
    if statistic not in CROSSED:
        return
    scored = whole.restrict_to(statistic)
    if (usual := scored.with_usual_gender()) is not None:
        yield f"{BALANCED}{statistic}", "all", usual
    if (whole.a.labels["word"] != "").all():
        yield f"{OF_WORDS}{statistic}", "all", scored


def judged_statistics(
    measure: Measure, paired: Sequence[tuple[str, str, PairedRuns]]
) -> list[tuple[str, str, PairedRuns]]:
    """Those of `paired_statistics` that decide.

    The mean of both directions decides instead of that of all pairs, if both exist, and a category that has all items
    is judged once. Of templates both decide: the mean over all words is what a model has that says "he" of everybody.
    """
    names = {(statistic, group) for statistic, group, _ in paired}
    items = {statistic: pair.a.items for statistic, group, pair in paired if group == "all"}
    return [
        (statistic, group, pair)
        for statistic, group, pair in paired
        if (statistic in CROSSED or (f"{BALANCED}{statistic}", group) not in names)
        and statistic != NOT_JUDGED.get(measure.summary)
        and (group == "all" or not np.array_equal(pair.a.items, items.get(statistic, ())))
    ]


def is_share(statistic: str) -> bool:
    """Whether it is a share of pairs won, over all pairs or in both directions alike."""
    return statistic.removeprefix(BALANCED) == "bias-score"


def reference_value(measure: Measure, statistic: str) -> float | None:
    """The value of a model without the preference that a statistic is about; None if there is none."""
    if is_share(statistic) or statistic in OF_TERMS:
        return measure.null
    return 0.0


def worsening_of(statistic: str, a: float, b: float, null: float | None) -> float:
    """How much worse b is than a in the statistic's own sense of worse."""
    if statistic in MORE_IS_BETTER:
        return a - b
    if null is None or statistic in SIZES:
        return b - a
    return abs(b - null) - abs(a - null)


def sizes_by_word(table: ScoreTable) -> Floats:
    """The size of each word's mean difference, words in order."""
    _, codes = np.unique(table.labels["word"], return_inverse=True)
    counts = np.bincount(codes)
    return np.abs(np.asarray(np.bincount(codes, table.difference) / counts, np.float64))


def apply_holm(
    uncorrected: Sequence[Comparison], family: Callable[[Comparison], str] = lambda _: "all"
) -> tuple[Comparison, ...]:
    """The comparisons with `p_holm`, each over those of its family; an empty family: it is not tested."""
    families = [family(comparison) for comparison in uncorrected]
    adjusted: list[float | None] = [None] * len(families)
    for name in {*families} - {""}:
        members = [index for index, own in enumerate(families) if own == name]
        for index, p in zip(members, holm([uncorrected[index].p for index in members]), strict=True):
            adjusted[index] = p
    return tuple(replace(comparison, p_holm=p) for comparison, p in zip(uncorrected, adjusted, strict=True))


def change(pair: PairedRuns, statistic: str, *, rng: np.random.Generator) -> Change:
    """The statistic's change from run a to run b over the items given."""
    if statistic == "icat":
        first, second = by_term(pair.a), by_term(pair.b)
        difference = icat_change_interval(first, second, rng=rng)
        return Change(overall(first).icat, overall(second).icat, difference, None)
    a, b = pair.values(statistic)
    if statistic in CROSSED:
        return Change(mean(a), mean(b), *crossed_mean(b - a, pair.units, rng=rng))
    if is_share(statistic):
        return Change(mean(a), mean(b), *_change_of_wins(pair, statistic))
    if a.size and not (b - a).any():
        return Change(mean(a), mean(b), Value(0.0, 0.0, 0.0, NO_CHANGE, unit=unit_name(pair, statistic)), None)
    return Change(mean(a), mean(b), mean_change(b - a, pair, statistic, rng=rng), _mean_test(b - a, pair, statistic))


def mean_change(values: Floats, pair: PairedRuns, statistic: str, *, rng: np.random.Generator) -> Value:
    """The mean of values by item, or by target term, with its interval over units."""
    if statistic in OF_TERMS:
        return replace(mean_interval(values, rng=rng, unit=UNIT), unit=TERM)
    return replace(mean_interval(values, rng=rng, units=pair.units_for(statistic)), unit=unit_name(pair, statistic))


def unit_name(pair: PairedRuns, statistic: str) -> str:
    """What is resampled."""
    if statistic.startswith(OF_WORDS):
        return WORD
    return TERM if statistic in OF_TERMS else pair.units.tag


def _mean_test(values: Floats, pair: PairedRuns, statistic: str) -> float | None:
    return mean_test(values, 0.0, pair.units_for(statistic))


def _change_of_wins(pair: PairedRuns, statistic: str) -> tuple[Value, float | None]:
    """The change of a bias score: Tango's interval, McNemar's exact test, or both over units.

    Only where the scores themselves are the same is no change certain.
    """
    if pair.a.items.size and np.array_equal(pair.a.difference, pair.b.difference, equal_nan=True):
        return Value(0.0, 0.0, 0.0, NO_CHANGE, unit=pair.units.tag), 1.0
    if statistic.startswith(BALANCED):
        changes = 100.0 * (pair.b.wins.astype(np.float64) - pair.a.wins)
        return balanced_change(changes, pair.a.labels["direction"], pair.units)
    return wins_change(pair.a.wins, pair.b.wins, pair.units)


def wins_change(a: Flags, b: Flags, units: Units) -> tuple[Value, float | None]:
    """Share of wins in b minus that in a, in points, over the same items: Tango's interval, McNemar's test.

    The test is exact if the items are independent, else both are over units.
    """
    changes = 100.0 * (b.astype(np.float64) - a)
    # did equally many items flip in both directions?
    p = mcnemar_p(cross_tabulate(a, b)) if units.independent else paired_test(changes, units)
    return paired_interval(changes, units), 1.0 if p is None and changes.size and not changes.any() else p


def paired_groups(
    measure: Measure, a: Sequence[Row], b: Sequence[Row], *, data: str, independent: bool = False
) -> Iterator[tuple[str, PairedRuns]]:
    """The runs joined by item: group `all`, then each category; StatsError if no item is scored in both."""
    first, second = (ScoreTable.of(measure, rows, data=data, independent=independent) for rows in (a, b))
    whole = _joined(first.headline_rows(), second.headline_rows())
    if not (whole.a.is_scored & whole.b.is_scored).any():
        raise StatsError(f"no item of {data} is scored by {measure.name} in both runs; compare runs on the same data")
    others = dict(second.split_by("category"))
    yield "all", whole
    for group, part in first.split_by("category"):
        yield group, _joined(part, others.get(group, second.take(np.empty(0, dtype=np.intp))))


def _joined(a: ScoreTable, b: ScoreTable) -> PairedRuns:
    for table in (a, b):
        if np.unique(table.items).size < table.items.size:
            raise StatsError(f"an item of {table.data} occurs twice in one run; runs are joined by item")
    items, in_a, in_b = np.intersect1d(a.items, b.items, assume_unique=True, return_indices=True)
    mine = a.take(in_a)
    return PairedRuns(mine, replace(b.take(in_b), labels=mine.labels), a.items.size + b.items.size - 2 * items.size)
