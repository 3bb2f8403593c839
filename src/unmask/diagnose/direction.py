"""`direction`: are stereotypes of advantaged groups scored alike? (Kaneko & Bollegala 2022, Table 3)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from unmask.core.estimate import Estimate
from unmask.core.types import Dataset
from unmask.diagnose.scores import require, results
from unmask.diagnose.spec import Diagnosis, DiagnosisObservation, Observations, UnitOptions
from unmask.findings import Conclusion, Finding, Table
from unmask.measures import find

if TYPE_CHECKING:
    from unmask.audit.session import Session

SIDES = {"advantaged": "direction=antistereo", "disadvantaged": "direction=stereo"}
GAP = "direction-gap"
GROUPS = {GAP: "all"} | {side: f"group={side}" for side in SIDES}  # of the estimates
NOTE = (
    "Advantaged: the stereotype is of the advantaged group (CrowS-Pairs' antistereo). A measure that "
    "is unaffected by how frequent a group's words are has |Diff| near 0. Interval of |Diff| by "
    "Newcombe, p by Fisher's exact test if pairs are independent, else Student's over the units of the data."
)
DirectionScores = dict[str, dict[str, Estimate]]  # by measure: advantaged, disadvantaged and their gap


def observe(session: Session, data: Dataset, options: UnitOptions) -> DirectionScores:
    """Bias scores of both directions and their gap, by measure."""
    from unmask.stats import estimates

    chosen = session.pair_measures(data, options.measures)
    measures = [measure for measure in chosen if measure.summary == "share"]
    by_measure: DirectionScores = {}
    for name, items in session.scores(data, measures).items():
        measured = estimates(find(name), [item.row for item in items], data=data.card.name, **options.sampling)
        scores = {estimate.group: estimate for estimate in measured if estimate.statistic == "bias-score"}
        gaps = [estimate for estimate in measured if (estimate.group, estimate.statistic) == ("all", GAP)]
        for gap in gaps:
            by_measure[name] = {side: scores[group] for side, group in SIDES.items()} | {GAP: gap}
    return by_measure


def conclude(observations: Observations, options: UnitOptions) -> Conclusion:
    """A table of both scores and |Diff| beside the published ones, and a plot of both directions."""
    from unmask.findings import charts

    alt = "Bias score by measure for stereotypes of advantaged and of disadvantaged groups, with intervals."
    points = [
        (" · ".join((name, *each.names)), scores[side], side)
        for each, name, scores in results(observations)
        for side in SIDES
    ]
    table = Table.of(
        "Bias score by direction of the stereotype",
        (
            {
                **each.key,
                "measure": name,
                **{side: scores[side] for side in SIDES},
                "|Diff|": scores[GAP],
                "p": scores[GAP].p,
                "published |Diff|": each.published_value("direction", measure=name, statistic="difference"),
            }
            for each, name, scores in results(observations)
        ),
        NOTE,
    )
    plots = charts.interval_plots("direction", "Bias score by direction", alt, points, axis="bias score, %", null=50.0)
    return Conclusion(
        Finding(tuple(_answer(each) for each in observations if each.result), (table,), plots),
        tuple(
            replace(scores[key], measure=f"direction/{name}", group=group, model=each.names[0])
            for each, name, scores in results(observations)
            for key, group in GROUPS.items()
        ),
    )


def _answer(observation: DiagnosisObservation) -> str:
    from unmask.findings import sentences

    gaps = {name: scores[GAP].value for name, scores in observation.result.items()}
    return sentences.span(f"{observation.where}: the bias scores of the two directions differ by", gaps, "points")


DIRECTION = Diagnosis(
    name="direction",
    title="Advantaged against disadvantaged",
    question="Does a score depend on whether the stereotype is of an advantaged or a disadvantaged group?",
    observe=observe,
    conclude=conclude,
    order=4,
    unfit_reason=require("direction"),
    citation="kaneko-bollegala-2022-unmasking",
)
