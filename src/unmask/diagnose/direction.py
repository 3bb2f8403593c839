"""`direction`: are stereotypes of advantaged groups scored alike? (Kaneko & Bollegala 2022, Table 3)."""

from __future__ import annotations

from dataclasses import replace

from unmask.audit.session import Session, has_field
from unmask.core.estimate import Estimate
from unmask.core.types import Dataset
from unmask.diagnose.common import results
from unmask.diagnose.spec import DiagnosisObservation, DiagnosisSettings, Observations
from unmask.findings import Cell, Finding, Table, charts
from unmask.measures import find
from unmask.stats import estimates as score_estimates

SIDES = {"advantaged": "direction=antistereo", "disadvantaged": "direction=stereo"}
GAP = "direction-gap"
GROUPS = {GAP: "all"} | {side: f"group={side}" for side in SIDES}  # of the estimates
DirectionScores = dict[str, dict[str, Estimate]]  # by measure: advantaged, disadvantaged and their gap


def observe(session: Session, data: Dataset, settings: DiagnosisSettings) -> DirectionScores:
    """Bias scores of both directions and their gap, by measure."""
    chosen = session.pair_measures(data, settings.measures)
    measures = [measure for measure in chosen if measure.summary == "share"]
    by_measure: DirectionScores = {}
    for name, items in session.scores(data, measures).items():
        rows = [item.row for item in items]
        measured = score_estimates(
            *(find(name), rows), data=data.card.name, rng_seed=settings.seed, independent=settings.independent
        )
        scores = {estimate.group: estimate for estimate in measured if estimate.statistic == "bias-score"}
        gaps = {estimate.statistic: estimate for estimate in measured if estimate.group == "all"}
        if GAP in gaps:
            by_measure[name] = {side: scores[group] for side, group in SIDES.items()} | {GAP: gaps[GAP]}
    return by_measure


def conclude(observations: Observations, settings: DiagnosisSettings) -> Finding:
    """A table of both scores and |Diff| beside the published ones, and a plot of both directions."""
    rows: list[tuple[Cell, ...]] = []
    for observation, name, scores in results(observations):
        model, data = observation.names
        paper = observation.published_value("direction", measure=name, statistic="difference")
        rows.append((model, data, name, *(scores[key] for key in (*SIDES, GAP)), scores[GAP].p, paper))
    table = Table(
        "Bias score by direction of the stereotype",
        ("model", "data", "measure", "advantaged", "disadvantaged", "|Diff|", "p", "published |Diff|"),
        tuple(rows),
        "Advantaged: the stereotype is of the advantaged group (CrowS-Pairs' antistereo). A measure that "
        "is unaffected by how frequent a group's words are has |Diff| near 0. Interval of |Diff| by "
        "Newcombe, p by Fisher's exact test if pairs are independent, else Student's over the units of the data.",
    )
    alt = "Bias score by measure for stereotypes of advantaged and of disadvantaged groups, with intervals."
    points = [
        (" · ".join((name, *each.names)), scores[side], side)
        for each, name, scores in results(observations)
        for side in SIDES
    ]
    plots = charts.interval_plots("direction", "Bias score by direction", alt, points, axis="bias score, %", null=50.0)
    return Finding(tuple(_answer(each) for each in observations if each.result), (table,), plots)


def estimates(observations: Observations, settings: DiagnosisSettings) -> list[Estimate]:
    """|Diff| of every measure, then the bias scores of both directions."""
    return [
        replace(scores[key], measure=f"direction/{name}", group=group, model=observation.names[0])
        for observation, name, scores in results(observations)
        for key, group in GROUPS.items()
    ]


def _answer(observation: DiagnosisObservation) -> str:
    gaps = {name: scores[GAP].value for name, scores in observation.result.items()}
    *_, most = ranked = sorted(gaps, key=gaps.__getitem__)
    others = f" and {ranked[0]} least ({gaps[ranked[0]]:.1f} points)" if len(ranked) > 1 else ""
    return (
        f"{observation.where}: the direction of the stereotype moves {most}{' most' if others else ''} "
        f"({gaps[most]:.1f} points){others}"
    )


def unfit_reason(data: Dataset) -> str:
    """Why data are unsuitable; empty if they fit."""
    return "" if has_field(data, "direction") else "its pairs have no direction"
