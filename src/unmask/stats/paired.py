"""Paired comparison of two runs: what changed?

`paired_statistics` is the one list of statistics: the gate, `unmask compare` and the page of a comparison all read it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

import numpy as np

from unmask.core.errors import StatsError
from unmask.core.estimate import Value
from unmask.core.seeds import generator
from unmask.core.statistic import BALANCED, OF_WORDS, statistic
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
from unmask.stats.intervals import mean, mean_interval, mean_test, paired_interval, paired_test
from unmask.stats.table import STATISTICS, Flags, ScoreTable, item_values
from unmask.stats.triples import TERM, UNIT, by_term, icat_change_interval, overall
from unmask.stats.units import INDEPENDENT, MIN_CROSSED, WORD, Units

OF_TERMS = ("lms", "ss", "icat")  # statistics over target terms
NOT_JUDGED = {"magnitude": "mean-difference"}  # a measure of sizes is judged by them; that mean is another measure's


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
        if self.null is None or statistic(self.statistic).better != "nearer":
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
    """A statistic over a group of items in two runs: the items of both in the same order; `left_out` counts others."""

    a: ScoreTable
    b: ScoreTable
    left_out: int
    group: str = "all"
    statistic: str = ""  # empty: the items of the group, whatever a statistic counts
    units: Units = field(init=False)

    def __post_init__(self) -> None:
        """Find the units once: every interval and test of the pair is over them."""
        object.__setattr__(self, "units", INDEPENDENT if self.of_terms or self.of_words else self.a.units)

    @property
    def key(self) -> tuple[str, str]:
        """The statistic and its group of items."""
        return self.statistic, self.group

    @property
    def of_terms(self) -> bool:
        """Whether the statistic is over target terms."""
        return self.statistic in OF_TERMS

    @property
    def of_words(self) -> bool:
        """Whether the statistic is over words."""
        return self.statistic.startswith(OF_WORDS)

    @property
    def unit(self) -> str:
        """What is resampled."""
        return WORD if self.of_words else TERM if self.of_terms else self.units.tag

    @property
    def count(self) -> int:
        """Number of items, or of words where the statistic is over words."""
        return int(np.unique(self.a.labels["word"]).size) if self.of_words else self.a.items.size

    @property
    def flips(self) -> int:
        """Number of items on which the runs disagree whether the stereotyping sentence wins."""
        return int((self.a.wins != self.b.wins).sum())

    @property
    def agree(self) -> bool:
        """Whether the runs have the same scores: only then is no change certain."""
        return np.array_equal(self.a.difference, self.b.difference, equal_nan=True)

    @property
    def null(self) -> float | None:
        """The reference value of the statistic."""
        return reference_value(self.a.measure, self.statistic)

    def restrict_to(self, name: str) -> Self:
        """A statistic over items that count in both runs: those in the denominator of a bias score, or those scored."""
        a, b = self.a, self.b
        kept = a.is_counted & b.is_counted if is_share(name) else a.is_scored & b.is_scored
        left_out = self.left_out + int((~kept).sum())
        return replace(self, a=a.take(kept), b=b.take(kept), left_out=left_out, statistic=name)

    def by_directions(self) -> Self | None:
        """The mean over both directions of the statistic, over the items that have one; None without.

        Of pairs most of which have the same direction; of templates about words with a usual gender, without words of
        both or with too few for an interval there is none.
        """
        name = f"{BALANCED}{self.statistic}"
        if not statistic(self.statistic).crossed:
            directions = self.a.labels["direction"]
            return self._take(is_directed(directions), name) if is_unbalanced(directions) else None
        directions = self.a.labels[USUAL]
        usual = directions != ""
        few = not has_both(directions[usual]) or np.unique(self.a.labels["word"][usual]).size < MIN_CROSSED
        return None if few else self._take(usual, name)

    def _take(self, kept: Flags, name: str) -> Self:
        """A statistic over some of the items; the others are not counted as left out."""
        return replace(self, a=self.a.take(kept), b=self.b.take(kept), statistic=name)

    def values(self) -> tuple[Floats, Floats]:
        """The values the statistic averages, in each run: by pair, by term or by word."""
        if self.of_terms:
            return getattr(by_term(self.a), self.statistic), getattr(by_term(self.b), self.statistic)
        if self.of_words:
            return sizes_by_word(self.a), sizes_by_word(self.b)
        plain = self.statistic.removeprefix(BALANCED)
        a, b = item_values(self.a, plain), item_values(self.b, plain)
        if plain == self.statistic:
            return a, b
        crossed = statistic(plain).crossed
        directions = self.a.labels[USUAL if crossed else "direction"]
        if crossed:  # towards the usual gender of the word
            signs = np.where(directions == DIRECTIONS[0], 1.0, -1.0)
            a, b = signs * a, signs * b
        return balance_directions(a, directions), balance_directions(b, directions)

    def mean_interval(self, values: Floats, *, rng: np.random.Generator) -> Value:
        """The mean of such values with its interval over units."""
        found = mean_interval(values, rng=rng, unit=UNIT if self.of_terms else "", units=self.units)
        return replace(found, unit=self.unit)


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
    return tuple(compare_pairs(paired_statistics(measure, a, b, data=data, independent=independent), rng_seed))


def compare_pairs(paired: Sequence[PairedRuns], rng_seed: int) -> Iterator[Comparison]:
    """The same, of statistics that are paired."""
    judged = {pair.key for pair in judged_statistics(paired)}
    for pair in paired:
        before, after, difference, p = change(pair, rng=generator(rng_seed, pair.group))
        yield Comparison(
            measure=pair.a.measure.name,
            data=pair.a.data,
            group=pair.group,
            statistic=pair.statistic,
            a_value=before,
            b_value=after,
            change=difference.value,
            low=difference.low,
            high=difference.high,
            n=pair.count,
            flips=pair.flips,
            left_out=pair.left_out,
            method=difference.method,
            p=p,
            unit=difference.unit,
            design_effect=difference.design_effect,
            null=pair.null,
            tested=pair.key in judged,
        )


def published_comparison(
    measure: Measure, a: Sequence[Row], b: Sequence[Row], *, data: str, rng_seed: int, independent: bool = False
) -> Comparison:
    """The statistic that was published with the measure, over all items that both runs have."""
    found = comparisons(measure, a, b, data=data, rng_seed=rng_seed, independent=independent)
    return next(each for each in found if each.statistic == STATISTICS[measure.summary][0])


def paired_statistics(
    measure: Measure, a: Sequence[Row], b: Sequence[Row], *, data: str, independent: bool = False
) -> list[PairedRuns]:
    """Every statistic and group that two runs are compared by, the headline first, with the items both have.

    Of pairs most of which have the same direction, the mean of both directions stands before the mean of all pairs.
    Of templates two more stand after the signed mean: the mean towards the usual gender of a profession, both genders'
    counted alike, because the signed mean mostly says how often "he" is expected; and the size of words' leans, because
    leans to both sides cancel in it.
    """
    groups = list(paired_groups(measure, a, b, data=data, independent=independent))
    paired = [pair.restrict_to(name) for name in STATISTICS[measure.summary] for pair in groups]
    if measure.summary == "share":
        return [each for pair in paired for each in (pair.by_directions(), pair) if each is not None]
    signed = paired[0]
    if not statistic(signed.statistic).crossed:
        return paired
    usual = signed.by_directions()
    has_words = (groups[0].a.labels["word"] != "").all()
    sizes = [replace(signed, statistic=f"{OF_WORDS}{signed.statistic}")] if has_words else []
    return [*paired, *([] if usual is None else [usual]), *sizes]


def judged_statistics(paired: Sequence[PairedRuns]) -> list[PairedRuns]:
    """Those of `paired_statistics` that decide.

    The mean of both directions decides instead of that of all pairs, if both exist, and a category that has all items
    is judged once. Of templates both decide: the mean over all words is what a model has that says "he" of everybody.
    """
    keys = {pair.key for pair in paired}
    items = {pair.statistic: pair.a.items for pair in paired if pair.group == "all"}
    beside = [] if not paired else [NOT_JUDGED.get(paired[0].a.measure.summary)]
    return [
        pair
        for pair in paired
        if (statistic(pair.statistic).crossed or (f"{BALANCED}{pair.statistic}", pair.group) not in keys)
        and pair.statistic not in beside
        and (pair.group == "all" or not np.array_equal(pair.a.items, items.get(pair.statistic, ())))
    ]


def is_share(name: str) -> bool:
    """Whether it is a share of pairs won, over all pairs or in both directions alike."""
    return name.removeprefix(BALANCED) == "bias-score"


def reference_value(measure: Measure, name: str) -> float | None:
    """The value of a model without the preference that a statistic is about; None if there is none."""
    return measure.null if statistic(name).is_percent else 0.0


def worsening_of(name: str, a: float, b: float, null: float | None) -> float:
    """How much worse b is than a in the statistic's own sense of worse."""
    better = statistic(name).better
    if better == "higher":
        return a - b
    return b - a if null is None or better == "lower" else abs(b - null) - abs(a - null)


def sizes_by_word(table: ScoreTable) -> Floats:
    """The size of each word's mean difference, words in order."""
    _, codes = np.unique(table.labels["word"], return_inverse=True)
    counts = np.bincount(codes)
    return np.abs(np.asarray(np.bincount(codes, table.difference) / counts, np.float64))


def apply_holm(
    uncorrected: Iterable[Comparison], family: Callable[[Comparison], str] = lambda _: "all"
) -> tuple[Comparison, ...]:
    """The comparisons with `p_holm`, each over those of its family; an empty family: it is not tested."""
    corrected = list(uncorrected)
    families: dict[str, list[int]] = {}
    for index, comparison in enumerate(corrected):
        families.setdefault(family(comparison), []).append(index)
    families.pop("", None)
    for members in families.values():
        for index, p in zip(members, holm([corrected[index].p for index in members]), strict=True):
            corrected[index] = replace(corrected[index], p_holm=p)
    return tuple(corrected)


def change(pair: PairedRuns, *, rng: np.random.Generator) -> Change:
    """The statistic's change from run a to run b over the items given."""
    if pair.statistic == "icat":
        first, second = by_term(pair.a), by_term(pair.b)
        difference = icat_change_interval(first, second, rng=rng)
        return Change(overall(first).icat, overall(second).icat, difference, None)
    a, b = pair.values()
    if is_share(pair.statistic):
        return Change(mean(a), mean(b), *_change_of_wins(pair))
    if a.size and not (b - a).any():
        return Change(mean(a), mean(b), Value(0.0, 0.0, 0.0, NO_CHANGE, unit=pair.unit), None)
    return Change(mean(a), mean(b), pair.mean_interval(b - a, rng=rng), mean_test(b - a, 0.0, pair.units))


def _change_of_wins(pair: PairedRuns) -> tuple[Value, float | None]:
    """The change of a bias score: Tango's interval, McNemar's exact test, or both over units."""
    if pair.a.items.size and pair.agree:
        return Value(0.0, 0.0, 0.0, NO_CHANGE, unit=pair.units.tag), 1.0
    if pair.statistic.startswith(BALANCED):
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
) -> Iterator[PairedRuns]:
    """The runs joined by item: group `all`, then each category; StatsError if no item is scored in both."""
    first, second = (ScoreTable.of(measure, rows, data=data, independent=independent) for rows in (a, b))
    whole = _joined(first.headline_rows(), second.headline_rows(), "all")
    if not (whole.a.is_scored & whole.b.is_scored).any():
        raise StatsError(f"no item of {data} is scored by {measure.name} in both runs; compare runs on the same data")
    others = dict(second.split_by("category"))
    yield whole
    for group, part in first.split_by("category"):
        yield _joined(part, others.get(group, second.take(np.empty(0, dtype=np.intp))), group)


def _joined(a: ScoreTable, b: ScoreTable, group: str) -> PairedRuns:
    for table in (a, b):
        if np.unique(table.items).size < table.items.size:
            raise StatsError(f"an item of {table.data} occurs twice in one run; runs are joined by item")
    items, in_a, in_b = np.intersect1d(a.items, b.items, assume_unique=True, return_indices=True)
    mine, left_out = a.take(in_a), a.items.size + b.items.size - 2 * items.size
    return PairedRuns(mine, replace(b.take(in_b), labels=mine.labels), left_out, group)


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
    from scipy.stats import binomtest

    return float(binomtest(table.first, table.disagreements).pvalue)
