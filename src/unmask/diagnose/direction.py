"""`direction`: are stereotypes of advantaged groups scored alike? (Kaneko & Bollegala 2022, Table 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from unmask.audit.plan import has_field
from unmask.audit.session import Session
from unmask.core.estimate import Estimate
from unmask.core.types import Dataset
from unmask.diagnose.common import interval_row
from unmask.diagnose.published import published_value
from unmask.diagnose.spec import Diagnosis, DiagnosisObservation, DiagnosisSettings
from unmask.findings import Cell, Finding, Plot, Table, charts
from unmask.measures import find
from unmask.stats import estimates as score_estimates

SIDES = {"advantaged": "direction=antistereo", "disadvantaged": "direction=stereo"}
GAP = "direction-gap"
DirectionScores = dict[str, dict[str, Estimate]]  # by measure: advantaged, disadvantaged and their gap


def observe(session: Session, data: Dataset, settings: DiagnosisSettings) -> DirectionScores:
    """Bias scores of both directions and their gap, by measure."""
    measures = [
        measure for measure in session.pair_measures(data, settings.measures) if measure.summary == "share"
    ]
    by_measure: DirectionScores = {}
    for name, items in session.scores(data, measures).items():
        rows = [item.row for item in items]
        measured = score_estimates(find(name), rows, data=data.card.name, rng_seed=settings.seed)
        scores = {estimate.group: estimate for estimate in measured if estimate.statistic == "bias-score"}
        gaps = {estimate.statistic: estimate for estimate in measured if estimate.group == "all"}
        if GAP in gaps:
            by_measure[name] = {side: scores[group] for side, group in SIDES.items()} | {GAP: gaps[GAP]}
    return by_measure


def conclude(observations: Sequence[DiagnosisObservation], settings: DiagnosisSettings) -> Finding:
    """A table of both scores and |Diff| beside the published ones, and a plot of both directions."""
    rows = [
        _row(observation, name, scores)
        for observation in observations
        for name, scores in observation.result.items()
    ]
    table = Table(
        "Bias score by direction of the stereotype",
        ("model", "data", "measure", "advantaged", "disadvantaged", "|Diff|", "p", "published |Diff|"),
        tuple(rows),
        "Advantaged: the stereotype is of the advantaged group (CrowS-Pairs' antistereo). A measure that "
        "is unaffected by how frequent a group's words are has |Diff| near 0. Interval of |Diff| by "
        "Newcombe, p by Fisher's exact test.",
    )
    return Finding(tuple(_answers(observations)), (table,), (_plot(observations),) if rows else ())


def estimates(observations: Sequence[DiagnosisObservation], settings: DiagnosisSettings) -> list[Estimate]:
    """|Diff| of every measure, then the bias scores of both directions."""
    return [
        replace(
            scores[key],
            measure=f"direction/{name}",
            group="all" if key == GAP else f"group={key}",
            model=observation.names[0],
        )
        for observation in observations
        for name, scores in observation.result.items()
        for key in (GAP, *SIDES)
    ]


def _row(observation: DiagnosisObservation, name: str, scores: dict[str, Estimate]) -> tuple[Cell, ...]:
    model, data = observation.names
    paper = published_value("direction", model, data=data, measure=name, statistic="difference")
    numbers = (scores[key] for key in (*SIDES, GAP))
    return (model, data, name, *numbers, scores[GAP].p, paper)


def _answers(observations: Sequence[DiagnosisObservation]) -> list[str]:
    lines = []
    for observation in observations:
        gaps = {name: scores[GAP] for name, scores in observation.result.items()}
        if not gaps:
            continue
        *_, most = ranked = sorted(gaps, key=lambda name: gaps[name].value)
        others = f" and {ranked[0]} least ({gaps[ranked[0]].value:.1f} points)" if len(ranked) > 1 else ""
        lines.append(
            f"{observation.where}: the direction of the stereotype moves {most}{' most' if others else ''} "
            f"({gaps[most].value:.1f} points){others}"
        )
    return lines


def _plot(observations: Sequence[DiagnosisObservation]) -> Plot:
    rows = [
        interval_row(" · ".join((name, *observation.names)), scores[side], side)
        for observation in observations
        for name, scores in observation.result.items()
        for side in SIDES
    ]
    alt = "Bias score by measure for stereotypes of advantaged and of disadvantaged groups, with intervals."
    chart = charts.intervals(rows, axis="bias score, %", null=50.0)
    return Plot("direction", "Bias score by direction", alt, chart)


def _unfit_reason(data: Dataset) -> str:
    return "" if has_field(data, "direction") else "its pairs have no direction"


DIRECTION = Diagnosis(
    name="direction",
    title="Advantaged against disadvantaged",
    question="Does a score depend on whether the stereotype is of an advantaged or a disadvantaged group?",
    observe=observe,
    conclude=conclude,
    estimates=estimates,
    order=4,
    unfit_reason=_unfit_reason,
    citation="kaneko-bollegala-2022-unmasking",
)
