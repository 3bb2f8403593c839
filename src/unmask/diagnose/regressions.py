"""Regression of measures on a property of pairs, shared by `frequency` and `length`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from unmask.core.estimate import Estimate
from unmask.core.types import Row
from unmask.diagnose.common import interval_row
from unmask.diagnose.spec import DiagnosisObservation
from unmask.findings import Cell, Plot, Table, Value, charts
from unmask.measures import find
from unmask.stats.regression import PropertyRegression, regress_on_property

FOLLOWS = (
    "Over pairs, the difference is more − less; for sld its size, on the size of the difference in {what}. "
    "Standardised slope: standard deviations of the difference for one of {what}, which is Pearson's "
    "correlation, with a bootstrap interval; 0 if a measure does not depend on it, ±1 if it depends "
    "on nothing else. R² is its square. p: slope against 0, least squares with HC3 errors. At equal "
    "{what}: the "
    "intercept of the least-squares line through 100 × won, HC3 interval; 50 is no preference."
)
UNITS = (
    "Least-squares line of the differences, in the measure's own units, with HC3 intervals: its slope, and "
    "its intercept, which is the mean difference to expect where {what} is equal. 0 is no preference; not so "
    "for sld, which is a size."
)


@dataclass(frozen=True, slots=True)
class RegressionCase:
    """One measure of one model on one dataset, regressed on a property of pairs."""

    model: str
    data: str
    measure: str
    regression: PropertyRegression

    @property
    def label(self) -> str:
        """Label in plots."""
        return f"{self.measure} · {self.model} · {self.data}"


def regression_cases(observations: Sequence[DiagnosisObservation]) -> list[RegressionCase]:
    """The regressions of every model, dataset and measure, in that order."""
    return [
        RegressionCase(*observation.names, measure, regression)
        for observation in observations
        for measure, regression in observation.result.regressions.items()
    ]


def measure_regressions(
    rows: Mapping[str, Sequence[Row]], by: Mapping[str, float], *, data: str, seed: int
) -> dict[str, PropertyRegression]:
    """Regress every measure on a property of pairs, given by item; empty if no pair has it."""
    return {
        name: regress_on_property(find(name), rows[name], by, data=data, seed=seed) for name in rows if by
    }


def tables(listed: Sequence[RegressionCase], *, what: str, step: str) -> tuple[Table, ...]:
    """Standardised slopes and the bias score at equal property; then slopes in the measures' own units."""
    if not listed:
        return ()
    first = ("model", "data", "measure", "pairs")
    return (
        Table(
            f"How far measures follow {what}",
            (*first, "standardised slope", "R²", "p", "bias score", f"bias score at equal {what}"),
            tuple(_followed(case) for case in listed),
            FOLLOWS.format(what=what),
        ),
        Table(
            "The lines in the units of the measures",
            (*first, f"slope per {step}", "mean difference", f"difference at equal {what}"),
            tuple(_in_units(case) for case in listed),
            UNITS.format(what=what),
            digits=4,
        ),
    )


def answers(listed: Sequence[RegressionCase], *, what: str) -> Iterator[str]:
    """For each model and dataset: which measure depends most and least on the property, and the effect."""
    for model, data in dict.fromkeys((case.model, case.data) for case in listed):
        own = [case for case in listed if (case.model, case.data) == (model, data)]
        fitted = sorted(
            (case for case in own if _finite(case.regression.r)),
            key=lambda case: case.regression.r_squared.value,
        )
        if not fitted:
            yield f"{model} on {data}: no line can be fitted, too few pairs differ in {what} or in score"
            continue
        answer = f"{model} on {data}: {what} explains {_share(fitted[-1])}"
        yield answer + (f", and {_share(fitted[0])}" if len(fitted) > 1 else "")
        moved = [(abs(change), case) for case in fitted if (change := _change(case.regression)) is not None]
        if moved:
            yield f"{model} on {data}: {_moved(max(moved, key=lambda move: move[0])[1], what)}"


def slopes_plot(listed: Sequence[RegressionCase], *, id: str, what: str) -> tuple[Plot, ...]:
    """Standardised slopes with their intervals; empty if there are none."""
    rows = [interval_row(case.label, slope) for case in listed if _finite(slope := case.regression.r)]
    alt = f"How strongly each measure's difference follows {what}: standardised slopes with their intervals."
    axis = f"standardised slope on {what}"
    return (Plot(id, f"Slopes on {what}", alt, charts.intervals(rows, axis=axis, null=0.0)),) if rows else ()


def estimates(diagnosis: str, observations: Sequence[DiagnosisObservation]) -> list[Estimate]:
    """The standardised slope of every measure, and its bias score at equal property."""
    every = []
    for observation in observations:
        for measure, fit in observation.result.regressions.items():
            name, n = f"{diagnosis}/{measure}", fit.line.n
            slope = observation.estimate(name, "standardised-slope", fit.r, null=0.0, n=n, p=fit.line.p)
            every.append(slope)
            if fit.wins is not None:
                left = fit.wins.intercept
                every.append(observation.estimate(name, "bias-score-at-equal", left, null=50.0, n=fit.wins.n))
    return every


def _followed(case: RegressionCase) -> tuple[Cell, ...]:
    regression = case.regression
    scores: tuple[Cell, Cell] = (None, None)
    if regression.score is not None and regression.wins is not None:
        scores = regression.score, regression.wins.intercept
    return (*_named(case), regression.r, regression.r_squared, regression.line.p, *scores)


def _in_units(case: RegressionCase) -> tuple[Cell, ...]:
    regression = case.regression
    return (*_named(case), regression.line.slope, regression.mean, regression.line.intercept)


def _named(case: RegressionCase) -> tuple[str, str, str, int]:
    return case.model, case.data, case.measure, case.regression.line.n


def _share(case: RegressionCase) -> str:
    r_squared = case.regression.r_squared
    ends = f" ({100 * r_squared.low:.1f} to {100 * r_squared.high:.1f})"
    between = ends if r_squared.has_interval else ""
    pairs = f"{case.regression.line.n:,} pairs"
    return f"{100 * r_squared.value:.1f}%{between} of the variance of {case.measure} over {pairs}"


def _change(regression: PropertyRegression) -> float | None:
    """Bias score at zero property minus the bias score, in points."""
    if regression.score is None or regression.wins is None or not _finite(regression.wins.intercept):
        return None
    return regression.wins.intercept.value - regression.score.value


def _moved(case: RegressionCase, what: str) -> str:
    assert case.regression.score is not None
    assert case.regression.wins is not None
    left = case.regression.wins.intercept
    between = f" ({left.low:.1f} to {left.high:.1f})" if left.has_interval else ""
    return (
        f"at equal {what} the bias score of {case.measure}, which changes most, would be "
        f"{left.value:.1f}{between} instead of {case.regression.score.value:.1f}"
    )


def _finite(fitted: Value) -> bool:
    return math.isfinite(fitted.value)
