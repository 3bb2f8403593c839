"""Regression of measures on a property of pairs, shared by `frequency` and `length`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from unmask.diagnose.scores import results
from unmask.diagnose.spec import Observations, UnitOptions
from unmask.findings import Plot, Table
from unmask.measures import find

if TYPE_CHECKING:
    from unmask.core.estimate import Estimate
    from unmask.core.types import Row
    from unmask.stats.regression import PropertyRegression

FOLLOWS = (
    "Over pairs, the difference is more − less; for sld its size, on the size of the difference in {what}. "
    "Standardised slope: standard deviations of the difference for one of {what}, which is Pearson's "
    "correlation, with the interval of Fisher's z (jackknife); 0 if a measure does not depend on it, ±1 if it depends "
    "on nothing else. R² is its square. p: slope against 0, least squares with HC3 errors. At equal {what}: "
    "the intercept of the least-squares line through 100 × won, HC3 interval; 50 is no preference. Intervals and p are "
    "over the units of the data."
)
UNITS = (
    "Least-squares line of the differences, in the measure's own units, with HC3 intervals: its slope, and "
    "its intercept, which is the mean difference to expect where {what} is equal. 0 is no preference; not so "
    "for sld, which is a size."
)


def measure_regressions(
    rows: Mapping[str, Sequence[Row]], by: Mapping[str, float], options: UnitOptions, *, data: str
) -> dict[str, PropertyRegression]:
    """Regress every measure on a property of pairs, given by item; empty if no pair has it."""
    from unmask.stats.regression import regress_on_property

    seed, independent = options.seed, options.independent
    return {
        name: regress_on_property(find(name), of_measure, by, data=data, seed=seed, independent=independent)
        for name, of_measure in rows.items()
        if by
    }


def estimates(diagnosis: str, observations: Observations) -> list[Estimate]:
    """The standardised slope of every measure, and its bias score at equal property."""
    every = []
    for observation, measure, fit in results(observations, "regressions"):
        name, n = f"{diagnosis}/{measure}", fit.line.n
        every.append(observation.estimate(name, "standardised-slope", fit.r, null=0.0, n=n, p=fit.line.p))
        if fit.wins is not None:
            left = fit.wins.intercept
            every.append(observation.estimate(name, "bias-score-at-equal", left, null=50.0, n=fit.wins.n))
    return every


def tables(observations: Observations, *, what: str, step: str) -> tuple[Table, ...]:
    """Standardised slopes and the bias score at equal property; then slopes in the measures' own units."""
    slopes, lines = [], []
    for observation, measure, fit in results(observations, "regressions"):
        first = {**observation.key, "measure": measure, "pairs": fit.line.n}
        slopes.append(
            first
            | {"standardised slope": fit.r, "R²": fit.r_squared, "p": fit.line.p, "bias score": fit.score}
            | {f"bias score at equal {what}": fit.wins and fit.wins.intercept}
        )
        lines.append(
            first
            | {f"slope per {step}": fit.line.slope, "mean difference": fit.mean}
            | {f"difference at equal {what}": fit.line.intercept}
        )
    return (
        Table.of(f"How far measures follow {what}", slopes, FOLLOWS.format(what=what)),
        Table.of("The lines in the units of the measures", lines, UNITS.format(what=what), digits=4),
    )


def answers(observations: Observations, *, what: str) -> Iterator[str]:
    """For each model and dataset: how much of the variance the property explains, and the strongest relation."""
    from unmask.findings import sentences

    for observation in observations:
        fits: Mapping[str, PropertyRegression] = observation.result.regressions
        where, known = observation.where, {name: fit for name, fit in fits.items() if math.isfinite(fit.r.value)}
        if known:
            most = max(known, key=lambda name: known[name].r_squared.value)
            explained = {name: 100 * fit.r_squared.value for name, fit in known.items()}
            yield sentences.span(f"{where}: {what} explains, in % of the variance,", explained)
            yield sentences.correlation(f"{where}, {most}: score and {what}", known[most].r, p=known[most].line.p)
        elif fits:
            yield f"{where}: no line can be fitted, too few pairs differ in {what} or in score"
        shifts = {
            name: (fit.score.value, fit.wins.intercept)
            for name, fit in known.items()
            if fit.score is not None and fit.wins is not None and fit.wins.intercept.has_interval
        }
        if shifts:
            most = max(shifts, key=lambda name: abs(shifts[name][1].value - shifts[name][0]))
            score, left = shifts[most]
            yield sentences.size(f"{where}, {most}: bias score {score:.1f}, at equal {what}", left, digits=1)


def slopes_plot(observations: Observations, *, id: str, what: str) -> tuple[Plot, ...]:
    """Standardised slopes with their intervals; empty if there are none."""
    from unmask.findings import charts

    alt = f"How strongly each measure's difference follows {what}: standardised slopes with their intervals."
    rows = [
        (" · ".join((measure, *observation.names)), fit.r, "")
        for observation, measure, fit in results(observations, "regressions")
        if math.isfinite(fit.r.value)
    ]
    return charts.interval_plots(id, f"Slopes on {what}", alt, rows, axis=f"standardised slope on {what}", null=0.0)
