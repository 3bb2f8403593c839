"""Plan a measurement before asking a model anything: how many pairs, writers, words and templates a difference needs.

From the data alone (its number of pairs, the units that they share, an assumed intraclass correlation), from a pilot
run (its design effects and spreads), or from two (how often the models disagree).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unmask.audit.compare import compare
from unmask.audit.parquet import rows_of
from unmask.audit.power_plan_spec import PlanSettings
from unmask.audit.result import AuditResult, load_audit
from unmask.core.errors import DataError
from unmask.core.estimate import Estimate, Value
from unmask.core.files import plain
from unmask.core.options import Options, fill_groups
from unmask.core.request import with_request
from unmask.core.types import Dataset
from unmask.findings import Cell, Finding, Plot, Section, Table, charts
from unmask.findings.envelope import Result, build
from unmask.findings.folder import result_folder
from unmask.stats.power import (
    detectable_between,
    detectable_difference,
    detectable_effect,
    from_error,
    power_of_pairs,
    required_pairs,
    required_pairs_between,
    required_units,
)
from unmask.stats.table import ScoreTable, headline_statistic, item_values
from unmask.stats.units import Components, Units, crossed_components, plural, units_of

SHARE, ANY = "bias-score", "any measure"
UNRELATED = 0.5  # share of pairs on which two unrelated models disagree
POINTS = 40  # of a curve
LEAD = (
    "Which differences can these data show, and how many pairs would show a given one? At the 5% level, two-sided. "
    "Pairs of one writer, target term or stereotype are worth less than as many independent ones: their number over "
    "the design effect."
)
Run = AuditResult | str | Path


@dataclass(frozen=True, slots=True)
class DesignPlan:
    """One statistic of one measure on one dataset: what is at hand, and what is known of its spread."""

    data: str
    measure: str
    statistic: str
    n: int
    units: Units
    design_effect: float
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
    settings, run = fill_groups(options, settings=PlanSettings, options=Options)
    if len(runs) > 2:
        raise DataError(f"{len(runs)} runs given: plan from none, one, or two of different models")
    if runs and data:
        raise DataError("data are those of the runs: give runs or data, not both")
    results = [each if isinstance(each, AuditResult) else load_audit(each) for each in runs]
    if results:
        planned, cards = list(_from_runs(results, settings)), results[0].meta["data"]
    else:
        from unmask.audit.plan import load_datasets

        datasets = load_datasets(data or "nine-axes", run)
        planned, cards = _from_data(datasets, settings), [each.facts() for each in datasets]
    with result_folder(out, "plan") as folder:
        content = build(
            "plan",
            title="Plan",
            lead=LEAD,
            models=[facts for each in results for facts in each.models],
            data=cards,
            options={**plain(asdict(settings)), "runs": len(results)},
            estimates=[estimate for each in planned for estimate in _estimates(each, settings)],
            findings=[Section("plan", "What can be seen", "", _finding(planned, settings))],
        )
        return folder.finish(content)


def _from_data(datasets: Sequence[Dataset], settings: PlanSettings) -> list[DesignPlan]:
    """A bias score on every dataset, whatever the measure."""
    found = []
    for dataset in datasets:
        names = {name for item in dataset.items for name in item.groups}
        labels = {name: np.array([item.groups.get(name, "") for item in dataset.items]) for name in names}
        units, n = units_of(labels), len(dataset.items)
        worth = settings.design_effect or _kish(units, n, settings.icc)
        disagree = UNRELATED if settings.disagree is None else settings.disagree
        found.append(DesignPlan(dataset.card.name, ANY, SHARE, n, units, worth, disagree=disagree))
    return found


def _kish(units: Units, n: int, icc: float) -> float:
    """The design effect 1 + (m − 1) × ICC, m the size of the unit of an average pair (Kish 1965)."""
    return 1 + sum(icc * (float((np.bincount(codes) ** 2).sum()) / n - 1) for codes in units.codes)


def _from_runs(results: Sequence[AuditResult], settings: PlanSettings) -> Iterator[DesignPlan]:
    """The published statistic of every measure of the first run; of two, with the disagreement between them."""
    first, rows = results[0], rows_of(results[0].items)
    changes = {}
    if len(results) == 2:
        changes = {(each.measure, each.data, each.statistic): each for each in compare(*results, seed=settings.seed)}
    for estimate in first.headlines(published=True):
        measure = first.measure(estimate.measure)
        table = ScoreTable.of(measure, rows[estimate.measure, estimate.data], data=estimate.data).headline_rows()
        statistic = headline_statistic(measure)
        counted = table.take(table.is_counted if statistic == SHARE else table.is_scored)
        disagree, between = settings.disagree, None
        if change := changes.get((estimate.measure, estimate.data, statistic)):
            disagree = change.flips / change.n if disagree is None and change.n else disagree
            between = settings.design_effect or _design_effect(change.difference, counted.units, change.n)
        crossed = len(counted.units.codes) == 2
        yield DesignPlan(
            estimate.data,
            estimate.measure,
            statistic,
            estimate.n,
            counted.units,
            settings.design_effect or _design_effect(estimate, counted.units, estimate.n),
            decided=float((counted.wins | counted.losses).mean()) if counted.items.size else 1.0,
            disagree=UNRELATED if disagree is None else disagree,
            between_effect=between,
            estimate=estimate,
            components=crossed_components(item_values(counted, statistic), counted.units) if crossed else None,
        )


def _design_effect(value: Value, units: Units, n: int) -> float:
    """The design effect of a value, at least 1; where it is unknown, every unit is worth one item, as in intervals."""
    unknown = n / min(units.counts, default=n) if n else 1.0
    return max(1.0, unknown if value.design_effect is None else value.design_effect)


def _sees(each: DesignPlan, settings: PlanSettings) -> tuple[float, float]:
    """The smallest difference from the reference value, and between two models, that is seen."""
    if each.statistic == SHARE:
        alone = detectable_effect(each.n / each.design_effect, decided=each.decided, power=settings.power)
        return alone, detectable_between(each.n, each.disagree, design_effect=each.worth_between, power=settings.power)
    assert each.estimate is not None
    null = (
        math.nan
        if each.estimate.null is None
        else detectable_difference(each.estimate, versus="null", power=settings.power)
    )
    return null, detectable_difference(each.estimate, power=settings.power)


def _pairs_needed(each: DesignPlan, settings: PlanSettings) -> tuple[int | None, int | None]:
    """Pairs needed for the difference to see: from the reference value, and between two models."""
    effect = settings.effect_of(each.statistic)
    if effect is None:
        return None, None
    if each.statistic == SHARE:
        alone = required_pairs(effect, decided=each.decided, design_effect=each.design_effect, power=settings.power)
        return alone, required_pairs_between(
            effect, each.disagree, design_effect=each.worth_between, power=settings.power
        )
    found = [required_units(each.n, seen, effect) for seen in _sees(each, settings)]
    return found[0], found[1]


def _estimates(each: DesignPlan, settings: PlanSettings) -> Iterator[Estimate]:
    """The numbers of the table, for programs."""
    named = {"measure": each.measure, "data": each.data, "n": each.n, "unit": each.units.name}
    for versus, seen in zip(("null", "model"), _sees(each, settings), strict=True):
        statistic = f"detectable-{each.statistic}-versus-{versus}"
        known = {"statistic": statistic, "design_effect": each.design_effect, "method": "power analysis"}
        yield Estimate(seen, **named, **known)  # type: ignore[arg-type]


def _finding(planned: Sequence[DesignPlan], settings: PlanSettings) -> Finding:
    tables = [_seen_table(planned, settings), *_needed_tables(planned, settings), *_crossed_tables(planned, settings)]
    return Finding(tuple(_answers(planned, settings)), tuple(tables), tuple(_plots(planned, settings)))


def _seen_table(planned: Sequence[DesignPlan], settings: PlanSettings) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            *(each.data, each.measure, each.statistic, each.n, each.units.label or f"{each.n:,} items"),
            *(each.design_effect, *_sees(each, settings)),
        )
        for each in planned
    ]
    return Table(
        f"Smallest differences seen with {100 * settings.power:g}% power",
        ("data", "measure", "statistic", "pairs", "units", "design effect", "from the reference", "between models"),
        tuple(rows),
        "Points for percentages, otherwise the statistic's own scale. Between models: the same pairs asked of two "
        "models; of a bias score by McNemar's test, of means as if their errors were unrelated, on the safe side. A "
        "bias score is that over all pairs, not the mean of both directions.",
    )


def _needed_tables(planned: Sequence[DesignPlan], settings: PlanSettings) -> Iterator[Table]:
    rows: list[tuple[Cell, ...]] = []
    for each in planned:
        if (effect := settings.effect_of(each.statistic)) is None:
            continue
        alone, between = _pairs_needed(each, settings)
        share = 100 * each.disagree if each.statistic == SHARE else None
        rows.append((each.data, each.measure, effect, alone, _units_for(each, alone), between, share))
    if rows:
        yield Table(
            f"Pairs needed to see a difference with {100 * settings.power:g}% power",
            ("data", "measure", "to see", "pairs", "units", "pairs, between models", "if they disagree on, %"),
            tuple(rows),
            "Units: if each has as many pairs as here. A dash: the models disagree on too few pairs for that.",
        )


def _units_for(each: DesignPlan, pairs: int | None) -> Cell:
    """The units of so many pairs; None if unknown or of words × templates, which have a table of their own."""
    if pairs is None or len(each.units.codes) == 2:
        return None
    count = math.ceil(pairs * each.unit_count / max(1, each.n))
    return f"{count:,} {plural(each.units.name, count)}"


def _crossed_tables(planned: Sequence[DesignPlan], settings: PlanSettings) -> Iterator[Table]:
    """For means over words × templates: what more words or more templates would show."""
    rows: list[tuple[Cell, ...]] = []
    for each in planned:
        if each.components is None:
            continue
        words, templates = each.units.counts
        for more_words, more_templates in ((1, 1), (2, 1), (1, 2), (4, 1), (1, 4), (2, 2)):
            shape = words * more_words, templates * more_templates
            error = each.components.error(*shape)
            seen = detectable_difference(from_error(error), versus="null", power=settings.power)
            rows.append((each.data, each.measure, *shape, seen, _effect_cell(each, settings, seen)))
    if rows:
        yield Table(
            "Words and templates",
            ("data", "measure", "words", "templates", "seen from the reference", "enough"),
            tuple(rows),
            "What tables of so many words and templates would show: the variances of words, of templates and of the "
            "rest are those of the run. Enough: for the difference that should be seen.",
            digits=3,
        )


def _effect_cell(each: DesignPlan, settings: PlanSettings, seen: float) -> Cell:
    effect = settings.effect_of(each.statistic)
    return None if effect is None else "yes" if seen <= effect else "no"


def _answers(planned: Sequence[DesignPlan], settings: PlanSettings) -> Iterator[str]:
    for each in planned:
        alone, between = _sees(each, settings)
        digits, scale = (1, " points") if each.statistic == SHARE else (3, "")
        over = f" of {each.units.label}" if each.units.codes else ""
        seen = f"{each.statistic} {alone:.{digits}f}{scale} off its reference value" if math.isfinite(alone) else ""
        both = " and ".join(filter(None, (seen, f"a difference of {between:.{digits}f}{scale} between two models")))
        line = f"{each.data}, {each.measure}: {each.n:,} pairs{over} show {both}"
        needed, effect = _pairs_needed(each, settings)[0], settings.effect_of(each.statistic)
        if needed is not None:
            of = f" ({_units_for(each, needed)})" if len(each.units.codes) == 1 else ""
            line += f"; {effect:g}{scale} takes {needed:,} pairs{of}"
        yield line


def _plots(planned: Sequence[DesignPlan], settings: PlanSettings) -> Iterator[Plot]:
    """Power against the number of pairs, for the difference to see."""
    effect = settings.effect_of(SHARE)
    rows: list[dict[str, Any]] = []
    for each in planned:
        if each.statistic != SHARE or effect is None:
            continue
        alone, between = _pairs_needed(each, settings)
        most = max(each.n, *(2 * needed for needed in (alone, between) if needed is not None))
        pairs = np.unique(np.linspace(most / POINTS, most, POINTS).round())
        where = each.data if each.measure == ANY else f"{each.measure}, {each.data}"
        curves = {f"{where}: from 50": power_of_pairs(effect, pairs / each.design_effect, decided=each.decided)}
        if between is not None:
            off = effect / each.disagree / 2
            powers = power_of_pairs(off, pairs / each.worth_between, decided=each.disagree)
            curves[f"{where}: between models"] = powers
        for series, powers in curves.items():
            rows += [{"x": float(x), "y": float(y), "series": series} for x, y in zip(pairs, powers, strict=True)]
    if rows:
        title = f"Power to see {effect:g} points"
        alt = f"{title}, in percent, against the number of pairs, for each measure and dataset."
        yield Plot("plan-power", title, alt, charts.curves(rows, x="pairs", y="power, %"))
