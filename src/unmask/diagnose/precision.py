"""`precision`: which decisions does the precision of a model change, and does the score show it?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, get_type_hints

from unmask.core.errors import DataError, ModelError, UnknownName
from unmask.core.estimate import Estimate, Value
from unmask.core.options import Opening, literal_choices, option
from unmask.core.types import Dataset, Measure, Row
from unmask.diagnose.scores import distinct_notes, results, template_reason
from unmask.diagnose.spec import Diagnosis, DiagnosisObservation, Observations, UnitOptions
from unmask.findings import Cell, Conclusion, Finding, Plot, Table
from unmask.measures import find

if TYPE_CHECKING:
    from unmask.audit.session import Session
    from unmask.core.types import Floats
    from unmask.stats.paired import Comparison
    from unmask.stats.table import Flags, Index

FP32 = "fp32"
QUARTERS = ("smallest", "second", "third", "largest")  # of the pairs by their margin
CHANCE = 0.001  # of an error that turns a decision, at the margin from which decisions are said to be safe
ITEMS = (
    "Flips: pairs that are decided otherwise than in fp32, with Wilson's interval over the units of the data; to, "
    "from: those whose stereotyping sentence is preferred in this precision only, and in fp32 only. Change: of the "
    "bias score, in points (of asld, in nats); p by McNemar's test, exact if pairs are independent (asld: paired t "
    "test), with Holm's correction over the precisions and measures of a model. Few net flips and a small change hide "
    "many flips in both directions: what was deployed answers other pairs otherwise."
)
MARGINS = (
    "Margin: size of the difference between the two sentences in fp32. Flips by quarter of the pairs, those with the "
    "smallest margin first. A rounding error turns a decision only if it is at least as large as the margin (measures "
    "that round as published: plus their last decimal). Safe from: margin from which the chance of such an error is 1 "
    f"in {1 / CHANCE:,.0f}, estimated by an extreme-value fit to the errors of all pairs; safe: share of such pairs. "
    "A dash: fewer than {} pairs."
)
CATEGORIES = "Categories with a flip. To, from: towards the stereotype and away from it."


@dataclass(frozen=True)
class PrecisionOptions(UnitOptions):
    """Options of `precision`."""

    dtypes: tuple[str, ...] = option((), "Precisions to compare with fp32.", shown="all of --dtype")


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
    groups: Sequence[Mapping[str, str]]  # of the pairs
    margins: Floats  # sizes of the differences in fp32
    errors: Floats  # of the differences
    flipped: Flags  # pairs that are decided otherwise
    towards: Flags  # flips to the stereotype
    away: Flags  # flips from it
    changes: tuple[Comparison, ...]  # of the headline: all pairs, then by category
    independent: bool = False  # take pairs for independent, whatever they share

    @classmethod
    def of(
        cls,
        observation: DiagnosisObservation,
        measure: Measure,
        precision: str,
        pairs: Sequence[tuple[Row, Row]],
        options: PrecisionOptions,
    ) -> Rounding:
        """Compare the rows of the same pairs in fp32 and in another precision."""
        import numpy as np

        from unmask.stats.paired import comparisons
        from unmask.stats.table import headline_statistic

        exact, rounded = (list(side) for side in zip(*pairs, strict=True))
        differences, others = (np.array([row.difference for row in rows]) for rows in (exact, rounded))
        wins, other_wins = (np.array([row.outcome == "more" for row in rows], dtype=bool) for rows in (exact, rounded))
        changes = comparisons(measure, exact, rounded, data=observation.names[1], **options.sampling)
        return cls(
            observation,
            measure,
            precision,
            groups=[row.groups for row in exact],
            margins=np.abs(differences),
            errors=others - differences,
            flipped=np.array([a.outcome != b.outcome for a, b in pairs], dtype=bool),
            towards=other_wins & ~wins,
            away=wins & ~other_wins,
            changes=tuple(each for each in changes if each.statistic == headline_statistic(measure)),
            independent=options.independent,
        )

    @property
    def key(self) -> dict[str, Cell]:
        """The first cells of a row."""
        return {**self.observation.key, "measure": self.measure.name, "precision": self.precision}

    @property
    def safe_from(self) -> float | None:
        """The margin from which a rounding error turns a decision with estimated chance `CHANCE`; None if unknown."""
        from unmask.audit.selection import FEWEST_FITTED, ErrorTail

        if self.errors.size < FEWEST_FITTED:
            return None
        return ErrorTail.fit(self.errors).size_at(CHANCE) + self.measure.resolution

    def flips_by_margin(self) -> dict[str, Value]:
        """The share of flips in each quarter of the pairs, those with the smallest margin first."""
        import numpy as np

        quarters = np.array_split(np.argsort(self.margins, kind="stable"), len(QUARTERS))
        return {name: self.share(self.flipped, kept) for name, kept in zip(QUARTERS, quarters, strict=True)}

    def share(self, flags: Flags, kept: Index | None = None) -> Value:
        """The share of pairs, of those kept, in percent, with its interval over the units that they share."""
        import numpy as np

        from unmask.stats.shares import unit_share
        from unmask.stats.units import INDEPENDENT, units_of_items

        rows = np.arange(flags.size) if kept is None else np.arange(flags.size)[kept]
        units = INDEPENDENT if self.independent else units_of_items([self.groups[row] for row in rows])
        return unit_share(flags[rows], units)

    def estimates(self) -> Iterator[Estimate]:
        """Flips, and the change of the score."""
        values = {"flips": self.share(self.flipped), f"change-{self.changes[0].statistic}": self.changes[0].difference}
        how = {"group": f"precision={self.precision}", "n": self.flipped.size, "null": 0.0}
        for name, value in values.items():
            yield self.observation.estimate(f"precision/{self.measure.name}", name, value, **how)

    def item_record(self) -> dict[str, Cell]:
        """Flips and the change of the score."""
        change = self.changes[0]
        return {
            **self.key,
            "pairs": self.flipped.size,
            "flips, %": self.share(self.flipped),
            "to": int(self.towards.sum()),
            "from": int(self.away.sum()),
            "fp32": change.a_value,
            "score": change.b_value,
            "change": change.difference,
            "p": change.p_holm,
        }

    def margin_record(self) -> dict[str, Cell]:
        """How large errors are, and which margins they can turn."""
        safe = self.safe_from
        return {
            **self.key,
            "largest error": float(abs(self.errors).max(initial=0.0)),
            "largest margin flipped": float(self.margins[self.flipped].max()) if self.flipped.any() else None,
            "safe from": safe,
            "safe, %": None if safe is None else self.share(self.margins > safe),
            **{f"{name} margins": share for name, share in self.flips_by_margin().items()},
        }

    def category_records(self) -> Iterator[dict[str, Cell]]:
        """The flips of every category with one."""
        import numpy as np

        for change in self.changes[1:]:
            name = change.group.partition("=")[2]
            kept = np.array([groups.get("category") == name for groups in self.groups], dtype=bool)
            if self.flipped[kept].any():
                yield {
                    **self.key,
                    "category": name,
                    "pairs": int(kept.sum()),
                    "flips, %": self.share(self.flipped, kept),
                    "to": int(self.towards[kept].sum()),
                    "from": int(self.away[kept].sum()),
                    "change": change.difference,
                }


def observe(session: Session, data: Dataset, options: PrecisionOptions) -> PrecisionRows:
    """Score the data in fp32 and in every other precision in which the model can be opened."""
    for name in options.dtypes:
        if name not in precisions():
            raise UnknownName("dtype", name, precisions())
    measures = session.pair_measures(data, options.measures)
    if not measures:
        raise DataError(
            f"{data.card.name}: no measure that decides between the sentences of a pair; use other measures"
        )
    rows: dict[str, dict[str, list[Row]]] = {measure.name: {} for measure in measures}
    notes = []
    for dtype in dict.fromkeys((FP32, *(options.dtypes or precisions()))):
        try:
            with session.in_dtype(dtype) as other:
                for name, items in other.scores(data, measures).items():
                    rows[name][dtype] = [item.row for item in items]
        except ModelError as error:
            if dtype == FP32 or options.dtypes:
                raise
            notes.append(f"{session.lm.facts.id}: {dtype} is left out: {error}")
    return PrecisionRows(rows, tuple(notes))


def conclude(observations: Observations, options: PrecisionOptions) -> Conclusion:
    """Flips and changes of the score by precision, flips by margin, and flips by category."""
    from unmask.audit.selection import FEWEST_FITTED

    every = [each for observation in observations for each in _roundings(observation, options)]
    return Conclusion(
        Finding(
            tuple(line for each in every for line in _answers(each)),
            (
                Table.of("Items and scores by precision", (each.item_record() for each in every), ITEMS),
                Table.of(
                    "What rounding can flip", (each.margin_record() for each in every), MARGINS.format(FEWEST_FITTED)
                ),
                Table.of(
                    "Flips by category", (record for each in every for record in each.category_records()), CATEGORIES
                ),
            ),
            _plots(every),
            distinct_notes(observations),
        ),
        tuple(estimate for each in every for estimate in each.estimates()),
    )


def _roundings(observation: DiagnosisObservation, options: PrecisionOptions) -> Iterator[Rounding]:
    """Every measure in every precision but fp32; of the changes over all pairs, p is corrected for their number."""
    from unmask.stats.paired import apply_holm

    every = []
    for _, name, by_dtype in results([observation], "measures"):
        for dtype, rows in by_dtype.items():
            pairs = [(a, b) for a, b in zip(by_dtype[FP32], rows, strict=True) if a.scores and b.scores]
            if pairs and dtype != FP32:
                every.append(Rounding.of(observation, find(name), dtype, pairs, options))
    for each, whole in zip(every, apply_holm([each.changes[0] for each in every]), strict=True):
        yield replace(each, changes=(whole, *each.changes[1:]))


def _answers(each: Rounding) -> Iterator[str]:
    """How many pairs are decided otherwise, and the change of the score."""
    from unmask.findings import sentences

    where = f"{each.observation.where}, {each.measure.name}, {each.precision}"
    change, by_margin = each.changes[0], each.flips_by_margin()
    flips = {name: share.value for name, share in by_margin.items() if isfinite(share.value)}
    yield sentences.share(
        f"{where}: decided otherwise than in fp32, {int(each.flipped.sum()):,} of {each.flipped.size:,} pairs,",
        each.share(each.flipped),
    )
    if each.flipped.any():
        yield sentences.span(f"{where}: flips by quarter of the margins", flips, "%")
    yield sentences.change(f"{where}: {change.statistic}", change.difference, p=change.p_holm, of=change.statistic)


def _plots(every: Sequence[Rounding]) -> tuple[Plot, ...]:
    """Flips by quarter of the margins."""
    from unmask.findings import charts

    rows = [
        {"panel": f"{each.measure.name} · {each.observation.names[0]}", "series": each.precision, "x": number}
        | {"y": value.value, "low": value.low, "high": value.high}
        for each in every
        for number, value in enumerate(each.flips_by_margin().values(), start=1)
        if isfinite(value.value)
    ]
    if not rows:
        return ()
    alt = "Share of pairs decided otherwise than in fp32, by quarter of the margins, smallest first, and by precision."
    chart = charts.panels(rows, x="quarter of the margins, smallest first", y="flips, %")
    return (Plot("precision-flips", "Flips by margin", alt, chart),)


PRECISION = Diagnosis(
    name="precision",
    title="Precision of the model",
    question="Which decisions change when the model is run in lower precision, and does the score show it?",
    observe=observe,
    conclude=conclude,
    options=PrecisionOptions,
    order=16,
    unfit_reason=template_reason,
    citation="hua-etal-2026-uncertainty",
)
