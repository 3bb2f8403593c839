"""`calibration`: how closely, and with what resolution, does each measure follow a planted bias?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from unmask.audit.session import Session, has_field, measures_for
from unmask.core.errors import DataError, ModelError
from unmask.core.estimate import Estimate
from unmask.core.types import Dataset, Row
from unmask.data import read
from unmask.diagnose.common import results, swap_sides
from unmask.diagnose.doses import OCCUPATION, sibling_dose
from unmask.diagnose.spec import DiagnosisObservation, DiagnosisSettings, Observations
from unmask.findings import Cell, Finding, Plot, Table, charts
from unmask.findings.numbers import number
from unmask.measures import MEASURES, find, select_measures
from unmask.stats.table import STATISTICS
from unmask.stats.validity import DoseResponse, dose_response

FEWEST = 3  # doses


def women_by_occupation() -> dict[str, float]:
    """The share of women in each occupation that is counted by itself."""
    return {each.name: each.women for each in read("occupations") if not each.bls.endswith(" occupations")}


def dosed_statistics(measure: str) -> tuple[str, ...]:
    """The statistics of a measure that should follow a dose; sld has no mean difference of its own."""
    summary = find(measure).summary
    return ("asld",) if summary == "magnitude" else STATISTICS[summary]


def planted_rows(rows: Sequence[Row], *, templates: bool) -> list[Row]:
    """The rows about the planted bias, with the stereotype as `more`: `she` where most workers are women."""
    if not templates:
        return [row for row in rows if row.groups.get("category") == OCCUPATION]
    women = women_by_occupation()
    about = [row for row in rows if row.groups.get("word") in women]
    return [swap_sides(row) if women[row.groups["word"]] > 0.5 else row for row in about]


def observe(session: Session, data: Dataset, settings: DiagnosisSettings) -> dict[str, list[Row]]:
    """Score rows of every measure that fits the data, over the items about gender and occupation."""
    sibling_dose(session.lm.facts.id)
    kind = session.lm.kind
    named = settings.measures or [name for name, measure in MEASURES.items() if kind in measure.kinds]
    fit = [
        measure
        for measure in measures_for(data, select_measures(named, kind), kind)
        if measure.summary in ("share", "magnitude", "lean")
    ]
    rows = {
        name: planted_rows([item.row for item in items], templates=has_field(data, "slot"))
        for name, items in session.scores(data, fit).items()
    }
    if not all(rows.values()):
        raise DataError(
            f"{data.card.name}: none of {len(data.items)} items is about a planted occupation; raise `limit`"
        )
    return rows


def conclude(observations: Observations, settings: DiagnosisSettings) -> Finding:
    """Measures ranked by how well they follow the dose, their scores by dose, and a plot."""
    doses = sorted({sibling_dose(observation.names[0]) for observation in observations})
    if len(doses) < FEWEST:
        raise ModelError(
            f"calibration got models of {len(doses)} doses; give at least {FEWEST} siblings, or no models for all"
        )
    responses = _responses(tuple(observations), settings)
    return Finding(
        tuple(_answers(responses)),
        (_ranking_table(responses, len(doses)), _scores(responses, doses)),
        (_plot(responses),),
        (
            "the bias was planted by fine-tuning which pronoun fills a masked slot: measures that mask the "
            "pronoun read what was trained, those that show it (aul, aula) or mask other words (cps) only "
            "what carried over",
            "one small model, one planted link (gender and occupation), one training run a dose: other "
            "biases and models may rank measures differently",
        ),
    )


def estimates(observations: Observations, settings: DiagnosisSettings) -> list[Estimate]:
    """Kendall's τ of every measure's scores with the dose."""
    every = []
    for each in _responses(tuple(observations), settings):
        what = {"measure": f"calibration/{each.measure}", "data": each.data, "statistic": f"kendall-{each.statistic}"}
        every.append(Estimate.of(each.kendall, **what, null=0.0, n=each.n, p=each.p))
    return every


@lru_cache(maxsize=1)  # for the finding and the estimates
def _responses(observations: tuple[DiagnosisObservation, ...], settings: DiagnosisSettings) -> list[DoseResponse]:
    """The dose responses of all measures, the best first."""
    by: dict[tuple[str, str], dict[int, Sequence[Row]]] = {}
    for observation, name, rows in results(observations):
        by.setdefault((observation.names[1], name), {})[sibling_dose(observation.names[0])] = rows
    responses = []
    for (data, name), doses in by.items():
        if len(doses) >= FEWEST and any(row.scores for rows in doses.values() for row in rows):
            responses += [
                dose_response(
                    *(find(name), statistic, doses), data=data, seed=settings.seed, independent=settings.independent
                )
                for statistic in dosed_statistics(name)
            ]
    return sorted(responses, key=_sort_key)


def _sort_key(response: DoseResponse) -> tuple[float, float, float]:
    """Sort key: smallest step first, then rank correlations; constant scores last."""
    tau, rho = (-2.0 if np.isnan(x) else x for x in (response.kendall.value, response.spearman.value))
    return (np.inf if response.step is None else response.step, -tau, -rho)


def _ranking_table(responses: Sequence[DoseResponse], doses: int) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            *(each.measure, each.data, each.statistic, each.n, each.spearman, each.kendall, each.p),
            *(each.step, f"{each.n_separated} of {each.n_tested}"),
        )
        for each in responses
    ]
    return Table(
        "Measures by how well they follow the planted dose, the best first",
        ("measure", "data", "statistic", "items", "Spearman ρ", "Kendall τ", "p", "step", "told apart"),
        tuple(rows),
        f"{doses} siblings of the built-in model, whose link of gender and occupation is known. ρ and τ: do "
        "scores rise with the dose (asld: with its size)? Intervals: the units of the data (words and "
        "templates, stereotypes, …; else pairs) resampled jointly for all siblings; p: of τ, exact. Step: the "
        "smallest dose difference at which "
        "every two siblings differ significantly in the right order (bias scores: McNemar; means: t test; "
        "all over the same units; p < 0.05 by Holm over all pairs of siblings); a dash: at "
        "none.",
    )


def _scores(responses: Sequence[DoseResponse], doses: Sequence[int]) -> Table:
    rows = []
    for response in responses:
        by = dict(zip(response.doses, response.scores.tolist(), strict=True))
        named = (response.measure, response.data, response.statistic)
        rows.append((*named, *(by.get(dose) for dose in doses)))
    return Table(
        "Scores by dose",
        ("measure", "data", "statistic", *(f"dose {dose:+d}" if dose else "dose 0" for dose in doses)),
        tuple(rows),
        "A dose of 0 is balanced text, above it stereotypes hold more often. appd is turned so that the "
        "stereotype is positive: the pronoun of the gender that mostly holds the occupation.",
        digits=3,
    )


def _answers(responses: Sequence[DoseResponse]) -> list[str]:
    if not responses:
        return []
    fine = sum(response.step is not None for response in responses)
    return [
        f"follows the planted dose best: {_describe(responses[0])}",
        *([f"worst: {_describe(responses[-1])}"] if len(responses) > 1 else []),
        f"{fine} of {len(responses)} statistics have a dose step at which all siblings are separated",
    ]


def _describe(response: DoseResponse) -> str:
    what = f"{response.measure} on {response.data} ({response.statistic}, {response.n:,} items)"
    if np.isnan(response.kendall.value):
        return f"{what}, the same at every dose"
    step = "no dose step" if response.step is None else f"dose steps of {response.step}"
    ends = f"{number(response.kendall.low)} to {number(response.kendall.high)}"
    return f"{what} separates {step}, τ with the dose {number(response.kendall.value)} ({ends})"


def _plot(responses: Sequence[DoseResponse]) -> Plot:
    """Change from the middle dose in standard errors: steep lines separate doses, flat ones do not."""
    rows: list[charts.Row] = []
    several = len({response.data for response in responses if response.statistic != "appd"}) > 1
    for response in responses:
        panel = f"{response.measure} · {response.data}" if several else response.measure
        unit = float(response.errors[response.errors > 0].mean()) if (response.errors > 0).any() else 1.0
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
