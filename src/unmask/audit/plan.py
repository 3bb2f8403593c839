"""Plan a measurement before asking a model anything: how many pairs, writers, words and templates a difference needs.

From the data alone (its number of pairs, the units that they share, an assumed intraclass correlation), from a pilot
run (its design effects and spreads), or from two (how often the models disagree).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from unmask.audit.gate import PerStatistic
from unmask.core.errors import DataError
from unmask.core.estimate import Estimate, Value
from unmask.core.files import plain
from unmask.core.options import MAX_SEED, OptionGroup, Options, fill_groups, option
from unmask.core.request import with_request
from unmask.core.statistic import BIAS_SCORE

if TYPE_CHECKING:  # the settings are those of a command, whose help needs none of these
    from pathlib import Path

    from unmask.audit.result import AuditResult
    from unmask.core.types import Dataset
    from unmask.findings import Cell, Finding, Plot, Table
    from unmask.findings.envelope import Result
    from unmask.stats.paired import Comparison
    from unmask.stats.units import Components, Units

    Run = AuditResult | str | Path

SHARE, ANY = BIAS_SCORE.name, "any measure"
UNRELATED = 0.5  # share of pairs on which two unrelated models disagree
POINTS = 40  # of a curve
SHAPES = ((1, 1), (2, 1), (1, 2), (4, 1), (1, 4), (2, 2))  # times the words and the templates at hand
LEAD = (
    "Which differences can these data show, and how many pairs would show a given one? At the 5% level, two-sided. "
    "Pairs of one writer, target term or stereotype are worth less than as many independent ones: their number over "
    "the design effect."
)


@dataclass(frozen=True)
class PlanSettings(OptionGroup):
    """What should be seen, and what is known of the data."""

    effect: PerStatistic = option(
        PerStatistic({SHARE: 5.0}),
        "Difference to see: points, or by statistic as in bias-score=5,appd=0.05.",
        shown="5 points of a bias score",
    )
    power: float = option(0.8, "Probability of seeing it, 0.5 to 0.99.", least=0.5, most=0.99)
    design_effect: float | None = option(
        None, "Design effect.", shown="from the runs, or from the units of the data and --icc", least=0.1, most=1000
    )
    icc: float = option(
        0.01, "Without runs: how alike pairs of one writer, term, … are (intraclass correlation).", least=0, most=1
    )
    disagree: float | None = option(
        None, "Share of pairs on which two models disagree.", shown="from two runs, or 0.5: unrelated", least=0, most=1
    )
    seed: int = option(0, "Random seed of the bootstrap.", least=0, most=MAX_SEED)

    def __post_init__(self) -> None:
        """Parse what the command line gives as text, and refuse invalid values."""
        effect = PerStatistic.parse(self.effect, "effect", 0.0) or PerStatistic({SHARE: 5.0})
        object.__setattr__(self, "effect", effect)
        super().__post_init__()
        for value in effect.values:
            if not value > 0:
                raise DataError(f"effect is {value:g}, expected more than 0")

    def effect_of(self, name: str) -> float | None:
        """The difference to see of a statistic; one number is for bias scores."""
        effect = self.effect.by_name.get(name)
        return self.effect.common if effect is None and name == SHARE else effect


@dataclass(frozen=True)
class DesignPlan:
    """One statistic of one measure on one dataset: what these data show of it, and what a difference takes."""

    data: str
    measure: str
    statistic: str
    n: int
    units: Units
    design_effect: float
    effect: float | None  # the difference to see
    power: float
    decided: float = 1.0  # share of pairs that are not ties
    disagree: float = UNRELATED  # share of pairs on which two models disagree
    between_effect: float | None = None  # design effect of the change between two models; None: as for one
    estimate: Estimate | None = None  # of a pilot
    components: Components | None = None  # of words × templates

    @property
    def unit_count(self) -> int:
        """How many units there are: of words × templates, cells."""
        return self.n if not self.units.codes or len(self.units.codes) == 2 else self.units.counts[0]

    @property
    def worth_between(self) -> float:
        """The design effect of a change between two models."""
        return self.design_effect if self.between_effect is None else self.between_effect

    @cached_property
    def visible(self) -> tuple[float, float]:
        """The smallest difference from the reference value, and between two models, that is seen."""
        from unmask.stats.power import detectable_between, detectable_difference, detectable_effect

        if self.estimate is None or self.statistic == SHARE:
            alone = detectable_effect(self.n / self.design_effect, decided=self.decided, power=self.power)
            worth = self.worth_between
            return alone, detectable_between(self.n, self.disagree, design_effect=worth, power=self.power)
        null = math.nan
        if self.estimate.null is not None:
            null = detectable_difference(self.estimate, versus="null", power=self.power)
        return null, detectable_difference(self.estimate, power=self.power)

    @cached_property
    def requirement(self) -> tuple[int | None, int | None]:
        """Pairs needed for the difference to see: from the reference value, and between two models."""
        from unmask.stats.power import required_pairs, required_pairs_between, required_units

        if self.effect is None:
            return None, None
        if self.statistic != SHARE:
            alone, between = (required_units(self.n, seen, self.effect) for seen in self.visible)
            return alone, between
        return (
            required_pairs(self.effect, decided=self.decided, design_effect=self.design_effect, power=self.power),
            required_pairs_between(self.effect, self.disagree, design_effect=self.worth_between, power=self.power),
        )

    def units_for(self, pairs: int | None) -> Cell:
        """The units of so many pairs; None if unknown or of words × templates, which have a table of their own."""
        from unmask.stats.units import plural

        if pairs is None or len(self.units.codes) == 2:
            return None
        count = math.ceil(pairs * self.unit_count / max(1, self.n))
        return f"{count:,} {plural(self.units.name, count)}"

    def estimates(self) -> Iterator[Estimate]:
        """The smallest differences that are seen, for programs."""
        for versus, seen in zip(("null", "model"), self.visible, strict=True):
            yield Estimate(
                seen,
                method="power analysis",
                unit=self.units.name,
                design_effect=self.design_effect,
                measure=self.measure,
                data=self.data,
                statistic=f"detectable-{self.statistic}-versus-{versus}",
                n=self.n,
            )

    def answer(self) -> str:
        """What these pairs show, and how many pairs the difference to see takes."""
        alone, between = self.visible
        digits, scale = (1, " points") if self.statistic == SHARE else (3, "")
        over = f" of {self.units.label}" if self.units.codes else ""
        both = [f"{self.statistic} {alone:.{digits}f}{scale} off its reference value"] if math.isfinite(alone) else []
        both.append(f"a difference of {between:.{digits}f}{scale} between two models")
        line = f"{self.data}, {self.measure}: {self.n:,} pairs{over} show {' and '.join(both)}"
        pairs = self.requirement[0]
        if pairs is None:
            return line
        units = f" ({self.units_for(pairs)})" if len(self.units.codes) == 1 else ""
        return f"{line}; {self.effect:g}{scale} takes {pairs:,} pairs{units}"

    def curves(self) -> Iterator[dict[str, Any]]:
        """Power against the number of pairs, for the difference to see of a bias score."""
        import numpy as np

        from unmask.stats.power import power_of_pairs

        if self.statistic != SHARE or self.effect is None:
            return
        alone, between = self.requirement
        most = max(self.n, 2 * (alone or 0), 2 * (between or 0))
        pairs = np.unique(np.linspace(most / POINTS, most, POINTS).round())
        where = self.data if self.measure == ANY else f"{self.measure}, {self.data}"
        curves = {"from 50": power_of_pairs(self.effect, pairs / self.design_effect, decided=self.decided)}
        if between is not None:
            off = self.effect / self.disagree / 2
            curves["between models"] = power_of_pairs(off, pairs / self.worth_between, decided=self.disagree)
        for name, powers in curves.items():
            for x, y in zip(pairs.tolist(), powers.tolist(), strict=True):
                yield {"x": x, "y": y, "series": f"{where}: {name}"}


@with_request("plan", "runs")
def plan(
    *runs: Run, data: str | Path | Dataset | Sequence[Any] = (), out: str | Path | None = None, **options: Any
) -> Result:
    """Plan a measurement: what the data can see, and how many pairs a difference needs.

    Args:
        runs: pilot audits or their folders: none, one, or two of different models on the same data.
        data: without runs, names of datasets, files of pairs, or loaded `Dataset`s; default: nine-axes.
        out: the result folder; None: nothing is written.
        options: fields of `PlanSettings` (effect, power, design_effect, icc, disagree) and of `Options` (limit,
            data_dir, …), or these groups themselves as `settings` and `options`.
    """
    from unmask.audit.result import AuditResult, load_audit
    from unmask.audit.session import load_datasets
    from unmask.findings import Section
    from unmask.findings.envelope import build
    from unmask.findings.folder import result_folder

    settings, run = fill_groups(options, settings=PlanSettings, options=Options)
    if len(runs) > 2:
        raise DataError(f"{len(runs)} runs given: plan from none, one, or two of different models")
    if runs and data:
        raise DataError("data are those of the runs: give runs or data, not both")
    results = [each if isinstance(each, AuditResult) else load_audit(each) for each in runs]
    if results:
        planned, cards = list(_from_runs(results, settings)), results[0].meta["data"]
    else:
        datasets = load_datasets(data or "nine-axes", run)
        planned, cards = [_from_data(each, settings) for each in datasets], [each.facts() for each in datasets]
    with result_folder(out, "plan") as folder:
        content = build(
            "plan",
            title="Plan",
            lead=LEAD,
            models=[facts for each in results for facts in each.models],
            data=cards,
            options={**plain(asdict(settings)), "runs": len(results)},
            estimates=[estimate for each in planned for estimate in each.estimates()],
            findings=[Section("plan", "What can be seen", "", _finding(planned, settings))],
        )
        return folder.finish(content)


def _from_data(dataset: Dataset, settings: PlanSettings) -> DesignPlan:
    """A bias score on a dataset, whatever the measure."""
    from unmask.stats.units import units_of_items

    units, n = units_of_items([item.groups for item in dataset.items]), len(dataset.items)
    return DesignPlan(
        data=dataset.card.name,
        measure=ANY,
        statistic=SHARE,
        n=n,
        units=units,
        design_effect=settings.design_effect or _kish(units, n, settings.icc),
        effect=settings.effect_of(SHARE),
        power=settings.power,
        disagree=UNRELATED if settings.disagree is None else settings.disagree,
    )


def _kish(units: Units, n: int, icc: float) -> float:
    """The design effect 1 + (m − 1) × ICC, m the size of the unit of an average pair (Kish 1965)."""
    import numpy as np

    return 1 + sum(icc * (float((np.bincount(codes) ** 2).sum()) / n - 1) for codes in units.codes)


def _from_runs(results: Sequence[AuditResult], settings: PlanSettings) -> Iterator[DesignPlan]:
    """The published statistic of every measure of the first run; of two, with the disagreement between them."""
    from unmask.audit.compare import compare
    from unmask.audit.parquet import rows_of
    from unmask.stats.table import ScoreTable, headline_statistic, item_values
    from unmask.stats.units import crossed_components

    first, rows = results[0], rows_of(results[0].items)
    changes: dict[tuple[str, str, str], Comparison] = {}
    if len(results) == 2:
        changes = {(each.measure, each.data, each.statistic): each for each in compare(*results, seed=settings.seed)}
    for estimate in first.headlines(published=True):
        measure = first.measure(estimate.measure)
        table = ScoreTable.of(measure, rows[estimate.measure, estimate.data], data=estimate.data).headline_rows()
        name = headline_statistic(measure)
        counted = table.take(table.is_counted if name == SHARE else table.is_scored)
        disagree, between = settings.disagree, None
        if change := changes.get((estimate.measure, estimate.data, name)):
            disagree = change.flips / change.n if disagree is None and change.n else disagree
            between = settings.design_effect or _design_effect(change.difference, counted.units, change.n)
        crossed = len(counted.units.codes) == 2
        yield DesignPlan(
            data=estimate.data,
            measure=estimate.measure,
            statistic=name,
            n=estimate.n,
            units=counted.units,
            design_effect=settings.design_effect or _design_effect(estimate, counted.units, estimate.n),
            effect=settings.effect_of(name),
            power=settings.power,
            decided=float((counted.wins | counted.losses).mean()) if counted.items.size else 1.0,
            disagree=UNRELATED if disagree is None else disagree,
            between_effect=between,
            estimate=estimate,
            components=crossed_components(item_values(counted, name), counted.units) if crossed else None,
        )


def _design_effect(value: Value, units: Units, n: int) -> float:
    """The design effect of a value, at least 1; where it is unknown, every unit is worth one item, as in intervals."""
    unknown = n / min(units.counts, default=n) if n else 1.0
    return max(1.0, unknown if value.design_effect is None else value.design_effect)


def _finding(planned: Sequence[DesignPlan], settings: PlanSettings) -> Finding:
    from unmask.findings import Finding, Plot, charts

    plots: tuple[Plot, ...] = ()
    if points := [point for each in planned for point in each.curves()]:
        title = f"Power to see {settings.effect_of(SHARE):g} points"
        alt = f"{title}, in percent, against the number of pairs, for each measure and dataset."
        plots = (Plot("plan-power", title, alt, charts.curves(points, x="pairs", y="power, %")),)
    tables = (_seen_table(planned, settings), _needed_table(planned, settings), _crossed_table(planned))
    return Finding(tuple(each.answer() for each in planned), tuple(table for table in tables if table.rows), plots)


def _seen_table(planned: Sequence[DesignPlan], settings: PlanSettings) -> Table:
    from unmask.findings import Table

    rows: list[tuple[Cell, ...]] = []
    for each in planned:
        units = each.units.label or f"{each.n:,} items"
        rows.append((each.data, each.measure, each.statistic, each.n, units, each.design_effect, *each.visible))
    return Table(
        f"Smallest differences seen with {100 * settings.power:g}% power",
        ("data", "measure", "statistic", "pairs", "units", "design effect", "from the reference", "between models"),
        tuple(rows),
        "Points for percentages, otherwise the statistic's own scale. Between models: the same pairs asked of two "
        "models; of a bias score by McNemar's test, of means as if their errors were unrelated, on the safe side. A "
        "bias score is that over all pairs, not the mean of both directions.",
    )


def _needed_table(planned: Sequence[DesignPlan], settings: PlanSettings) -> Table:
    from unmask.findings import Table

    rows: list[tuple[Cell, ...]] = []
    for each in planned:
        if each.effect is not None:
            alone, between = each.requirement
            share = 100 * each.disagree if each.statistic == SHARE else None
            rows.append((each.data, each.measure, each.effect, alone, each.units_for(alone), between, share))
    return Table(
        f"Pairs needed to see a difference with {100 * settings.power:g}% power",
        ("data", "measure", "to see", "pairs", "units", "pairs, between models", "if they disagree on, %"),
        tuple(rows),
        "Units: if each has as many pairs as here. A dash: the models disagree on too few pairs for that.",
    )


def _crossed_table(planned: Sequence[DesignPlan]) -> Table:
    """For means over words × templates: what more words or more templates would show."""
    from unmask.findings import Table
    from unmask.stats.power import detectable_difference, from_error

    rows: list[tuple[Cell, ...]] = []
    for each in planned:
        if each.components is None:
            continue
        words, templates = each.units.counts
        for more_words, more_templates in SHAPES:
            shape = words * more_words, templates * more_templates
            seen = detectable_difference(from_error(each.components.error(*shape)), versus="null", power=each.power)
            enough = None if each.effect is None else "yes" if seen <= each.effect else "no"
            rows.append((each.data, each.measure, *shape, seen, enough))
    return Table(
        "Words and templates",
        ("data", "measure", "words", "templates", "seen from the reference", "enough"),
        tuple(rows),
        "What tables of so many words and templates would show: the variances of words, of templates and of the "
        "rest are those of the run. Enough: for the difference that should be seen.",
        digits=3,
    )
