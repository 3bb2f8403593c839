"""`calibration`: how closely, and with what resolution, does each measure follow a planted bias?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, isnan
from typing import TYPE_CHECKING, Any

from unmask.audit.session import has_field, measures_for
from unmask.core.errors import DataError, ModelError
from unmask.core.estimate import Estimate
from unmask.core.types import Dataset, Row
from unmask.diagnose.psychometrics.doses import FEWEST, OCCUPATION, dosed_statistics, planted_rows, sibling_dose
from unmask.diagnose.scores import results
from unmask.diagnose.spec import Diagnosis, Observations, UnitOptions
from unmask.findings import Cell, Conclusion, Finding, Plot, Table
from unmask.measures import MEASURES, find, select_measures
from unmask.models.builtin import SIBLINGS

if TYPE_CHECKING:
    from unmask.audit.session import Session
    from unmask.findings import charts
    from unmask.stats.validity import DoseResponse

RANKING = (
    "{} siblings of the built-in model, whose link of gender and occupation is known. ρ and τ: do "
    "scores rise with the dose (asld: with its size)? Intervals: the units of the data (words and "
    "templates, stereotypes, …; else pairs) resampled jointly for all siblings; p: of τ, exact. Step: the "
    "smallest dose difference at which "
    "every two siblings differ significantly in the right order (bias scores: McNemar; means: t test; "
    "all over the same units; p < 0.05 by Holm over all pairs of siblings); a dash: at "
    "none."
)
SCORES = (
    "A dose of 0 is balanced text, above it stereotypes hold more often. appd is turned so that the "
    "stereotype is positive: the pronoun of the gender that mostly holds the occupation."
)
NOTES = (
    "the bias was planted by fine-tuning which pronoun fills a masked slot: measures that mask the "
    "pronoun read what was trained, those that show it (aul, aula) or mask other words (cps) only "
    "what carried over",
    "one small model, one planted link (gender and occupation), one training run a dose: other "
    "biases and models may rank measures differently",
)


def observe(session: Session, data: Dataset, options: UnitOptions) -> dict[str, list[Row]]:
    """Score rows of every measure that fits the data, over the items about gender and occupation."""
    sibling_dose(session.lm.facts.id)
    kind = session.lm.kind
    named = options.measures or [name for name, measure in MEASURES.items() if kind in measure.kinds]
    measures = measures_for(data, select_measures(named, kind), kind)
    fit = [measure for measure in measures if measure.summary in ("share", "magnitude", "lean")]
    by_measure = {}
    for name, items in session.scores(data, fit).items():
        rows = [item.row for item in items]
        about = [row for row in rows if row.groups.get("category") == OCCUPATION]
        by_measure[name] = planted_rows(rows) if has_field(data, "slot") else about
    if not all(by_measure.values()):
        raise DataError(
            f"{data.card.name}: none of {len(data.items)} items is about a planted occupation; raise `limit`"
        )
    return by_measure


def conclude(observations: Observations, options: UnitOptions) -> Conclusion:
    """Measures ranked by how well they follow the dose, their scores by dose, and a plot."""
    doses = sorted({sibling_dose(observation.names[0]) for observation in observations})
    if len(doses) < FEWEST:
        raise ModelError(
            f"calibration got models of {len(doses)} doses; give at least {FEWEST} siblings, or no models for all"
        )
    responses = _responses(observations, options)
    estimates = [
        Estimate.of(
            each.kendall,
            measure=f"calibration/{each.measure}",
            data=each.data,
            statistic=f"kendall-{each.statistic}",
            null=0.0,
            n=each.n,
            p=each.p,
        )
        for each in responses
    ]
    return Conclusion(
        Finding(
            tuple(_answers(responses)),
            (
                Table.of(
                    "Measures by how well they follow the planted dose, the best first",
                    (
                        {
                            **_key(each),
                            "items": each.n,
                            "Spearman ρ": each.spearman,
                            "Kendall τ": each.kendall,
                            "p": each.p,
                            "step": each.step,
                            "told apart": f"{each.n_separated} of {each.n_tested}",
                        }
                        for each in responses
                    ),
                    RANKING.format(len(doses)),
                ),
                Table.of("Scores by dose", (_key(each) | _scores(each, doses) for each in responses), SCORES, digits=3),
            ),
            (_plot(responses),),
            NOTES,
        ),
        tuple(estimates),
    )


def _responses(observations: Observations, options: UnitOptions) -> list[DoseResponse]:
    """The dose responses of all measures, the best first: smallest step, then rank correlations."""
    from unmask.stats.validity import dose_response

    by: dict[tuple[str, str], dict[int, Sequence[Row]]] = {}
    for observation, name, rows in results(observations):
        by.setdefault((observation.names[1], name), {})[sibling_dose(observation.names[0])] = rows
    responses = []
    for (data, name), doses in by.items():
        if len(doses) >= FEWEST and any(row.scores for rows in doses.values() for row in rows):
            how: dict[str, Any] = {"data": data, "seed": options.seed, "independent": options.independent}
            responses += [dose_response(find(name), statistic, doses, **how) for statistic in dosed_statistics(name)]
    return sorted(
        responses,
        key=lambda each: (
            inf if each.step is None else each.step,
            -_or_last(each.kendall.value),
            -_or_last(each.spearman.value),
        ),
    )


def _or_last(correlation: float) -> float:
    """The correlation; below all others if scores are constant."""
    return -2.0 if isnan(correlation) else correlation


def _key(response: DoseResponse) -> dict[str, Cell]:
    return {"measure": response.measure, "data": response.data, "statistic": response.statistic}


def _scores(response: DoseResponse, doses: Sequence[int]) -> dict[str, Cell]:
    by = dict(zip(response.doses, response.scores.tolist(), strict=True))
    return {f"dose {dose:+d}" if dose else "dose 0": by.get(dose) for dose in doses}


def _answers(responses: Sequence[DoseResponse]) -> Iterator[str]:
    """The relation of the best and the worst measure with the dose; how many separate all siblings at some step."""
    from unmask.findings import sentences

    ends = [*responses[:1], *responses[1:][-1:]]
    for rank, each in zip(("best", "worst"), ends, strict=False):
        what = (
            f"{rank} of {len(responses)}, dose and {each.measure} on {each.data} ({each.statistic}, {each.n:,} items)"
        )
        yield sentences.correlation(what, each.kendall, symbol="τ", p=each.p)
    if responses:
        fine = sum(response.step is not None for response in responses)
        yield f"{fine} of {len(responses)} statistics have a dose step at which all siblings are separated"


def _plot(responses: Sequence[DoseResponse]) -> Plot:
    """Change from the middle dose in standard errors: steep lines separate doses, flat ones do not."""
    from unmask.findings import charts

    rows: list[charts.Row] = []
    for response in responses:
        several = len({other.data for other in responses if other.measure == response.measure}) > 1
        panel = f"{response.measure} · {response.data}" if several else response.measure
        errors = response.errors[response.errors > 0]
        unit = float(errors.mean()) if errors.size else 1.0
        for dose, score, error in zip(response.doses, response.scores, response.errors, strict=True):
            y = float(score - response.scores[response.middle]) / unit
            ends = {"low": y - 1.96 * float(error) / unit, "high": y + 1.96 * float(error) / unit}
            rows.append({"panel": panel, "series": response.statistic, "x": dose, "y": y, **ends})
    alt = (
        "For every measure its change of score from the middle dose, in standard errors, against the dose, "
        "with 95% bands; measures in the order of the table."
    )
    chart = charts.panels(rows, x="dose", y="change, SE (squeezed)", null=0.0, squeezed=True)
    return Plot("calibration", "Scores against the planted dose", alt, chart)


def unfit_reason(data: Dataset) -> str:
    """Why data do not show the planted bias; empty if they do."""
    if has_field(data, "slot") or any(item.groups.get("category") == OCCUPATION for item in data.items):
        return ""
    return f"it has neither templates nor a category {OCCUPATION!r}, which is what was planted"


CALIBRATION = Diagnosis(
    name="calibration",
    title="Calibration on planted bias",
    question="Which measure follows a bias whose size is known, and what difference can it tell apart?",
    observe=observe,
    conclude=conclude,
    order=10,
    unfit_reason=unfit_reason,
    data=("triple-gender", "pronoun-templates"),
    models=SIBLINGS,
    kinds=("masked",),
    citation="gbef-2023",
)
