"""`precision`: which decisions does the precision of a model change, and does the score show it?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import get_type_hints

import numpy as np

from unmask.audit.selection import FEWEST_FITTED, ErrorTail
from unmask.audit.session import Session
from unmask.core.errors import DataError, ModelError, UnknownName
from unmask.core.estimate import NAN, Estimate, Value
from unmask.core.options import Opening, literal_choices
from unmask.core.types import Dataset, Floats, Measure, Row
from unmask.diagnose.common import results
from unmask.diagnose.spec import DiagnosisObservation, DiagnosisSettings, Observations
from unmask.findings import Cell, Finding, Plot, Table, charts
from unmask.findings.numbers import signed_number
from unmask.measures import find
from unmask.stats.paired import Comparison, apply_holm, comparisons
from unmask.stats.shares import unit_share
from unmask.stats.table import STATISTICS, Flags, Index
from unmask.stats.units import INDEPENDENT, units_of_items

FP32 = "fp32"
PARTS = ("smallest", "second", "third", "largest")  # quarters of the pairs by their margin
CHANCE = 0.001  # of an error that turns a decision, at the margin from which decisions are said to be safe
ITEMS_NOTE = (
    "Flips: pairs that are decided otherwise than in fp32, with Wilson's interval over the units of the data; to, "
    "from: those whose stereotyping sentence is preferred in this precision only, and in fp32 only. Change: of the "
    "bias score, in points (of asld, in nats); p by McNemar's test, exact if pairs are independent (asld: paired t "
    "test), with Holm's correction over the precisions and measures of a model. Few net flips and a small change hide "
    "many flips in both directions: what was deployed answers other pairs otherwise."
)
MARGIN_NOTE = (
    "Margin: size of the difference between the two sentences in fp32. Flips by quarter of the pairs, those with the "
    "smallest margin first. A rounding error turns a decision only if it is at least as large as the margin (measures "
    "that round as published: plus their last decimal). Safe from: margin from which the chance of such an error is 1 "
    f"in {1 / CHANCE:,.0f}, estimated by an extreme-value fit to the errors of all pairs; safe: share of such pairs. "
    f"A dash: fewer than {FEWEST_FITTED} pairs."
)


def precisions() -> tuple[str, ...]:
    """The precisions in which a model can be opened, fp32 first: the choices of `Opening.dtype`."""
    return literal_choices(get_type_hints(Opening)["dtype"])


@dataclass(frozen=True, slots=True)
class PrecisionRows:
    """Score rows by measure and precision, fp32 among them; and why precisions were left out."""

    measures: Mapping[str, Mapping[str, list[Row]]]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rounding:
    """The pairs scored by one measure in fp32 and in another precision."""

    observation: DiagnosisObservation
    measure: Measure
    precision: str
    exact: Sequence[Row]
    rounded: Sequence[Row]
    changes: tuple[Comparison, ...]  # of the headline: all pairs, then by category
    independent: bool = False  # take pairs for independent, whatever they share

    @property
    def where(self) -> tuple[str, str, str, str]:
        """The first cells of a row."""
        return *self.observation.names, self.measure.name, self.precision

    @property
    def margins(self) -> Floats:
        """Sizes of the differences in fp32."""
        return np.abs(np.array([row.difference for row in self.exact], dtype=np.float64))

    @property
    def errors(self) -> Floats:
        """Errors of the differences."""
        pairs = zip(self.exact, self.rounded, strict=True)
        return np.array([rounded.difference - exact.difference for exact, rounded in pairs])

    @property
    def is_flipped(self) -> Flags:
        """Which pairs are decided otherwise."""
        pairs = zip(self.exact, self.rounded, strict=True)
        return np.array([rounded.outcome != exact.outcome for exact, rounded in pairs], dtype=bool)

    def of_group(self, group: str) -> Flags:
        """Which pairs are in a group: `all`, or `category=…`."""
        name = group.partition("=")[2]
        return np.array([group == "all" or row.groups.get("category") == name for row in self.exact], dtype=bool)

    def directions(self, group: str = "all") -> tuple[int, int]:
        """How many flips of a group go to the stereotype, and how many from it."""
        kept = zip(self.exact, self.rounded, self.of_group(group), strict=True)
        wins = [(exact.outcome == "more", rounded.outcome == "more") for exact, rounded, own in kept if own]
        return wins.count((False, True)), wins.count((True, False))

    @property
    def safe_from(self) -> float:
        """The margin from which a rounding error turns a decision with estimated chance `CHANCE`; NaN if unknown."""
        errors = self.errors
        if errors.size < FEWEST_FITTED:
            return NAN
        last = 0.0 if self.measure.decimals is None else 10.0**-self.measure.decimals
        return ErrorTail.fit(errors).size_at(CHANCE) + last

    def flips_by_margin(self) -> list[Value]:
        """The share of flips in each quarter of the pairs, those with the smallest margin first."""
        quarters = np.array_split(np.argsort(self.margins, kind="stable"), len(PARTS))
        return [self.share(self.is_flipped, quarter) for quarter in quarters]

    def share(self, flags: Flags, kept: Index | None = None) -> Value:
        """The share of pairs, of those kept, in percent, with its interval over the units that they share."""
        rows = np.arange(flags.size) if kept is None else np.arange(flags.size)[kept]
        units = INDEPENDENT if self.independent else units_of_items([self.exact[i].groups for i in rows])
        return unit_share(flags[rows], units)


def observe(session: Session, data: Dataset, settings: DiagnosisSettings) -> PrecisionRows:
    """Score the data in fp32 and in every other precision in which the model can be opened."""
    wanted = settings.dtypes or precisions()
    for name in wanted:
        if name not in precisions():
            raise UnknownName("dtype", name, precisions())
    measures = session.pair_measures(data, settings.measures)
    if not measures:
        raise DataError(
            f"{data.card.name}: no measure that decides between the sentences of a pair; use other measures"
        )
    rows: dict[str, dict[str, list[Row]]] = {measure.name: {} for measure in measures}
    notes = []
    for dtype in dict.fromkeys((FP32, *wanted)):
        try:
            with session.in_dtype(dtype) as other:
                for name, items in other.scores(data, measures).items():
                    rows[name][dtype] = [item.row for item in items]
        except ModelError as error:
            if dtype == FP32 or settings.dtypes:
                raise
            notes.append(f"{session.lm.facts.id}: {dtype} is left out: {error}")
    return PrecisionRows(rows, tuple(notes))


def conclude(observations: Observations, settings: DiagnosisSettings) -> Finding:
    """Flips and changes of the score by precision, flips by margin, and flips by category."""
    every = _roundings(tuple(observations), settings)
    tables = (
        Table(
            "Items and scores by precision",
            (
                "model",
                "data",
                "measure",
                "precision",
                "pairs",
                "flips, %",
                "to",
                "from",
                "fp32",
                "score",
                "change",
                "p",
            ),
            tuple(_item_row(each) for each in every),
            ITEMS_NOTE,
        ),
        Table(
            "What rounding can flip",
            (
                *("model", "data", "measure", "precision", "largest error", "largest margin flipped"),
                *("safe from", "safe, %", *(f"{part} margins" for part in PARTS)),
            ),
            tuple(_margin_row(each) for each in every),
            MARGIN_NOTE,
        ),
        Table(
            "Flips by category",
            ("model", "data", "measure", "precision", "category", "pairs", "flips, %", "to", "from", "change"),
            tuple(row for each in every for row in _group_rows(each)),
            "Categories with a flip. To, from: towards the stereotype and away from it.",
        ),
    )
    return Finding(
        tuple(_answer(each) for each in every),
        tuple(table for table in tables if table.rows),
        _plots(every),
        tuple(dict.fromkeys(note for observation in observations for note in observation.result.notes)),
    )


def estimates(observations: Observations, settings: DiagnosisSettings) -> list[Estimate]:
    """Flips and the change of the score, for each measure and precision."""
    every = []
    for each in _roundings(tuple(observations), settings):
        what = {"n": len(each.exact), "null": 0.0}
        for name, value in (
            ("flips", each.share(each.is_flipped)),
            (f"change-{each.changes[0].statistic}", each.changes[0].difference),
        ):
            group = f"precision={each.precision}"
            every.append(each.observation.estimate(f"precision/{each.measure.name}", name, value, group=group, **what))
    return every


@lru_cache(maxsize=1)  # for the finding and the estimates
def _roundings(observations: tuple[DiagnosisObservation, ...], settings: DiagnosisSettings) -> list[Rounding]:
    every = []
    for observation in observations:
        own = [
            rounding
            for _, name, by_dtype in results([observation], "measures")
            for rounding in _of_measure(observation, name, by_dtype, settings)
        ]
        adjusted = apply_holm([each.changes[0] for each in own])
        for each, first in zip(own, adjusted, strict=True):
            changes = (first, *each.changes[1:])
            every.append(replace(each, changes=changes))
    return every


def _of_measure(
    observation: DiagnosisObservation, name: str, by_dtype: Mapping[str, list[Row]], settings: DiagnosisSettings
) -> Iterator[Rounding]:
    measure = find(name)
    for dtype, rows in by_dtype.items():
        if dtype == FP32:
            continue
        pairs = [(a, b) for a, b in zip(by_dtype[FP32], rows, strict=True) if a.scores and b.scores]
        if not pairs:
            continue
        exact, rounded = (list(side) for side in zip(*pairs, strict=True))
        found = comparisons(
            *(measure, exact, rounded),
            data=observation.names[1],
            rng_seed=settings.seed,
            independent=settings.independent,
        )
        headline = tuple(each for each in found if each.statistic == STATISTICS[measure.summary][0])
        yield Rounding(observation, measure, dtype, exact, rounded, headline, settings.independent)


def _item_row(each: Rounding) -> tuple[Cell, ...]:
    change, n = each.changes[0], len(each.exact)
    flips = each.share(each.is_flipped)
    return (*each.where, n, flips, *each.directions(), change.a_value, change.b_value, change.difference, change.p_holm)


def _margin_row(each: Rounding) -> tuple[Cell, ...]:
    margins, flipped, safe = each.margins, each.is_flipped, each.safe_from
    largest = float(margins[flipped].max()) if flipped.any() else None
    share = each.share(margins > safe) if np.isfinite(safe) else None
    error = float(np.abs(each.errors).max(initial=0.0))
    return (*each.where, error, largest, safe if share else None, share, *each.flips_by_margin())


def _group_rows(each: Rounding) -> Iterator[tuple[Cell, ...]]:
    for change in each.changes[1:]:
        own = each.of_group(change.group)
        if each.is_flipped[own].any():
            flips, category = each.share(each.is_flipped, own), change.group.partition("=")[2]
            yield (*each.where, category, int(own.sum()), flips, *each.directions(change.group), change.difference)


def _answer(each: Rounding) -> str:
    n, flips, change = len(each.exact), int(each.is_flipped.sum()), each.changes[0]
    unit = "points" if change.statistic == "bias-score" else "nats"
    parts = each.flips_by_margin()
    near = f", {parts[0].value:.1f}% of the quarter with the smallest margins, {parts[-1].value:.1f}% of the largest"
    return (
        f"{each.observation.where}, {each.measure.name}: {each.precision} decides {flips:,} of {n:,} pairs "
        f"({100 * flips / n:.1f}%) otherwise than fp32{near if flips else ''}; "
        f"the score moves by {signed_number(change.change)} {unit}"
    )


def _plots(every: Sequence[Rounding]) -> tuple[Plot, ...]:
    """Flips by quarter of the margins."""
    rows = [
        {"panel": f"{each.measure.name} · {each.observation.names[0]}", "series": each.precision, "x": number}
        | {"y": value.value, "low": value.low, "high": value.high}
        for each in every
        for number, value in enumerate(each.flips_by_margin(), start=1)
        if np.isfinite(value.value)
    ]
    if not rows:
        return ()
    alt = "Share of pairs decided otherwise than in fp32, by quarter of the margins, smallest first, and by precision."
    chart = charts.panels(rows, x="quarter of the margins, smallest first", y="flips, %")
    return (Plot("precision-flips", "Flips by margin", alt, chart),)
