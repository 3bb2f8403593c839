"""Regression of measures on a property of pairs, shared by `frequency` and `length`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from unmask.core.estimate import Estimate, Value
from unmask.core.types import Row
from unmask.diagnose.common import results
from unmask.diagnose.spec import DiagnosisSettings, Observations
from unmask.findings import Cell, Plot, Table, charts
from unmask.measures import find
from unmask.stats.regression import PropertyRegression, regress_on_property

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
    rows: Mapping[str, Sequence[Row]], by: Mapping[str, float], settings: DiagnosisSettings, *, data: str
) -> dict[str, PropertyRegression]:
    """Regress every measure on a property of pairs, given by item; empty if no pair has it."""
    seed, independent = settings.seed, settings.independent
    return {
        name: regress_on_property(find(name), own, by, data=data, seed=seed, independent=independent)
        for name, own in rows.items()
        if by
    }


def tables(observations: Observations, *, what: str, step: str) -> tuple[Table, ...]:
    """Standardised slopes and the bias score at equal property; then slopes in the measures' own units."""
    followed: list[tuple[Cell, ...]] = []
    in_units: list[tuple[Cell, ...]] = []
    for observation, measure, fit in results(observations, "regressions"):
        named = (*observation.names, measure, fit.line.n)
        scores = (None, None) if fit.score is None or fit.wins is None else (fit.score, fit.wins.intercept)
        followed.append((*named, fit.r, fit.r_squared, fit.line.p, *scores))
        in_units.append((*named, fit.line.slope, fit.mean, fit.line.intercept))
    if not followed:
        return ()
    first = ("model", "data", "measure", "pairs")
    slopes = (*first, "standardised slope", "R²", "p", "bias score", f"bias score at equal {what}")
    lines = (*first, f"slope per {step}", "mean difference", f"difference at equal {what}")
    title = "The lines in the units of the measures"
    return (
        Table(f"How far measures follow {what}", slopes, tuple(followed), FOLLOWS.format(what=what)),
        Table(title, lines, tuple(in_units), UNITS.format(what=what), digits=4),
    )


def answers(observations: Observations, *, what: str) -> Iterator[str]:
    """For each model and dataset: which measure depends most and least on the property, and the effect."""
    for observation in observations:
        own: Mapping[str, PropertyRegression] = observation.result.regressions
        fitted = [name for name, fit in own.items() if math.isfinite(fit.r.value)]
        if own and not fitted:
            yield f"{observation.where}: no line can be fitted, too few pairs differ in {what} or in score"
        if not fitted:
            continue
        fitted.sort(key=lambda name: own[name].r_squared.value)
        answer = f"{observation.where}: {what} explains {_share(fitted[-1], own[fitted[-1]])}"
        yield answer + (f", and {_share(fitted[0], own[fitted[0]])}" if len(fitted) > 1 else "")
        changes = {name: change for name in fitted if (change := _change(own[name])) is not None}
        if changes:
            most = max(changes, key=lambda name: abs(changes[name][0].value - changes[name][1]))
            left, score = changes[most]
            between = f" ({left.low:.1f} to {left.high:.1f})" if left.has_interval else ""
            yield (
                f"{observation.where}: at equal {what} the bias score of {most}, which changes most, would "
                f"be {left.value:.1f}{between} instead of {score:.1f}"
            )


def slopes_plot(observations: Observations, *, id: str, what: str) -> tuple[Plot, ...]:
    """Standardised slopes with their intervals; empty if there are none."""
    alt = f"How strongly each measure's difference follows {what}: standardised slopes with their intervals."
    rows = [
        (" · ".join((measure, *observation.names)), fit.r, "")
        for observation, measure, fit in results(observations, "regressions")
        if math.isfinite(fit.r.value)
    ]
    return charts.interval_plots(id, f"Slopes on {what}", alt, rows, axis=f"standardised slope on {what}", null=0.0)


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


def _share(measure: str, fit: PropertyRegression) -> str:
    r_squared, pairs = fit.r_squared, f"{fit.line.n:,} pairs"
    ends = f" ({100 * r_squared.low:.1f} to {100 * r_squared.high:.1f})" if r_squared.has_interval else ""
    return f"{100 * r_squared.value:.1f}%{ends} of the variance of {measure} over {pairs}"


def _change(fit: PropertyRegression) -> tuple[Value, float] | None:
    """The bias score at equal property and the bias score; None where either is unknown."""
    if fit.score is None or fit.wins is None or not math.isfinite(fit.wins.intercept.value):
        return None
    return fit.wins.intercept, fit.score.value
