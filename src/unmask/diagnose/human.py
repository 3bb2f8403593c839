"""`human`: do scores agree with the people who judged the pairs? (Kaneko & Bollegala 2022, Figure 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from unmask.audit.plan import has_field
from unmask.audit.scoring import ScoredItem
from unmask.audit.session import Session
from unmask.core.errors import DataError
from unmask.core.types import Dataset, Floats
from unmask.diagnose.spec import Diagnosis, DiagnosisObservation, DiagnosisSettings
from unmask.findings import Cell, Finding, Plot, Table, Value, charts
from unmask.measures import find
from unmask.stats import holm
from unmask.stats.bootstrap import generator
from unmask.stats.roc import RocAuc, roc_auc, roc_auc_difference, roc_points
from unmask.stats.table import Flags

VOTES = "votes"
WRITER = 1  # whoever wrote the pair says that it is biased
MAX_VOTES = 5  # annotators besides the writer


@dataclass(frozen=True, slots=True)
class HumanResult:
    """One model's scores of the pairs people voted on: NaN where a measure has none."""

    biased: Flags  # more than `settings.votes` of six people saw the bias
    scores: Mapping[str, Floats]  # by measure
    n_without_votes: int  # pairs nobody voted on


def observe(session: Session, data: Dataset, settings: DiagnosisSettings) -> HumanResult:
    """The votes and every measure's scores, pair by pair."""
    if not 1 <= settings.votes <= MAX_VOTES:
        raise DataError(
            f"--votes {settings.votes}: the writer's own vote leaves a threshold of 1 to {MAX_VOTES} of six people"
        )
    votes = {item.id: said for item in data.items if (said := _votes(item.groups, item.id)) is not None}
    measures = session.pair_measures(data, settings.measures)
    scores = {
        name: np.array([_score(name, item) for item in items if item.row.item in votes])
        for name, items in session.scores(data, measures).items()
    }
    biased = np.array([said > settings.votes for said in votes.values()], dtype=np.bool_)
    return HumanResult(biased, scores, len(data.items) - len(votes))


def conclude(observations: Sequence[DiagnosisObservation], settings: DiagnosisSettings) -> Finding:
    """Areas under the ROC curves, measures compared pair by pair, and a plot for every model and dataset."""
    areas = [(observation, _areas(observation.result, settings.seed)) for observation in observations]
    compared = [row for observation in observations for row in _compared(observation)]
    told = f"more than {settings.votes} of six people, the writer one of them,"
    return Finding(
        tuple(line for one, found in areas for line in _answers(one, found)),
        (
            Table(
                "Area under the ROC curve",
                ("model", "data", "measure", "AUC", "biased", "other", "unscored", "p", "p Holm"),
                tuple(row for one, found in areas for row in _rows(one, found)),
                f"A pair is biased when {told} named its category. 0.5 is chance; below it, measure and "
                "people disagree. Interval: bootstrap within both groups of pairs. p: Mann-Whitney, against "
                "0.5, Holm over the measures of a model.",
                digits=3,
            ),
            Table(
                "Measures compared on the pairs both score",
                ("model", "data", "measure", "against", "AUC difference", "pairs", "p", "p Holm"),
                tuple(compared),
                "Interval and p by DeLong's test for the same pairs, Holm over all comparisons of a model.",
                digits=3,
            ),
        ),
        tuple(
            _plot(one, place, len(observations))
            for place, one in enumerate(observations)
            if _curves(one.result)
        ),
        tuple(_notes(observations, told)),
    )


def _votes(groups: Mapping[str, str], item: str) -> int | None:
    """Of six people: the annotators' votes and the writer's; None where there is no vote."""
    said = groups.get(VOTES, "")
    if not said:
        return None
    if not said.isdecimal() or int(said) > MAX_VOTES:
        raise DataError(
            f"{item}: votes {said!r}, expected how many of five annotators named the pair's category"
        )
    return int(said) + WRITER


def _score(measure: str, item: ScoredItem) -> float:
    """The pair's difference; its size for measures that are about sizes."""
    difference = item.row.difference
    return abs(difference) if find(measure).summary == "magnitude" else difference


def _areas(judged: HumanResult, seed: int) -> dict[str, RocAuc]:
    found = {}
    for name, scores in judged.scores.items():
        kept = np.isfinite(scores)
        if _both(judged.biased[kept]):
            found[name] = roc_auc(judged.biased[kept], scores[kept], rng=generator(seed, name))
    return found


def _both(labels: Flags) -> bool:
    return bool(labels.any() and not labels.all())


def _rows(observation: DiagnosisObservation, found: Mapping[str, RocAuc]) -> list[tuple[Cell, ...]]:
    model, data = str(observation.model["id"]), observation.data.card.name
    adjusted = holm([each.p for each in found.values()])
    rows: list[tuple[Cell, ...]] = []
    for (name, each), p in zip(found.items(), adjusted, strict=True):
        unscored = int((~np.isfinite(observation.result.scores[name])).sum())
        rows.append((model, data, name, _ranged(each), each.positives, each.negatives, unscored, each.p, p))
    return sorted(rows, key=lambda row: -row[3].value)  # type: ignore[union-attr]


def _compared(observation: DiagnosisObservation) -> list[tuple[Cell, ...]]:
    model, data, judged = str(observation.model["id"]), observation.data.card.name, observation.result
    rows: list[tuple[str, str, RocAuc]] = []
    for a, b in combinations(judged.scores, 2):
        kept = np.isfinite(judged.scores[a]) & np.isfinite(judged.scores[b])
        if _both(judged.biased[kept]):
            difference = roc_auc_difference(
                judged.biased[kept], judged.scores[a][kept], judged.scores[b][kept]
            )
            rows.append((a, b, difference))
    adjusted = holm([each.p for _, _, each in rows])
    return [
        (model, data, a, b, _ranged(each), each.positives + each.negatives, each.p, p)
        for (a, b, each), p in zip(rows, adjusted, strict=True)
    ]


def _ranged(found: RocAuc) -> Value:
    return Value(found.value, found.interval.low, found.interval.high, found.interval.method)


def _answers(observation: DiagnosisObservation, found: Mapping[str, RocAuc]) -> list[str]:
    if not found:
        return []
    best = max(found, key=lambda name: found[name].value)
    top, where = found[best], f"{observation.model['id']} on {observation.data.card.name}"
    interval = f", {top.interval.low:.3f} to {top.interval.high:.3f}" if top.interval.low > 0 else ""
    beyond = [name for name, each in found.items() if each.interval.low > 0.5]
    said = ", ".join(beyond) if beyond else "none"
    return [
        f"{where}: {best} agrees best with people (AUC {top.value:.3f}{interval}; "
        f"{top.positives + top.negatives:,} pairs); better than chance by their intervals: {said}"
    ]


def _notes(observations: Sequence[DiagnosisObservation], told: str) -> list[str]:
    notes = []
    for observation in observations:
        where, judged = f"{observation.model['id']} on {observation.data.card.name}", observation.result
        if not _both(judged.biased):
            which = "all" if judged.biased.any() else "none"
            notes.append(f"{where}: no curve, {told} saw a bias in {which} of {judged.biased.size} pairs")
        if judged.n_without_votes:
            notes.append(f"{where}: {judged.n_without_votes:,} pairs without votes were left out")
    return notes


def _curves(judged: HumanResult) -> list[charts.Row]:
    rows: list[charts.Row] = []
    for name, scores in judged.scores.items():
        kept = np.isfinite(scores)
        if _both(judged.biased[kept]):
            false, true = roc_points(judged.biased[kept], scores[kept])
            rows += [
                {"x": x, "y": y, "series": name} for x, y in zip(false.tolist(), true.tolist(), strict=True)
            ]
    return rows


def _plot(observation: DiagnosisObservation, place: int, of: int) -> Plot:
    told = "ROC curves: for every measure the share of biased pairs found against that of other pairs taken."
    x, y = "share of other pairs scored above the threshold", "share of biased pairs scored above it"
    chart = charts.curves(_curves(observation.result), x=x, y=y, diagonal=True)
    name = "human-roc" if of == 1 else f"human-roc-{place + 1}"
    return Plot(name, f"ROC curves: {observation.model['id']} on {observation.data.card.name}", told, chart)


def _unfit_reason(data: Dataset) -> str:
    return "" if has_field(data, VOTES) else "its pairs have no votes of annotators"


HUMAN = Diagnosis(
    name="human",
    title="Agreement with people",
    question="Do the pairs a measure finds most biased have the bias that annotators saw?",
    observe=observe,
    conclude=conclude,
    unfit_reason=_unfit_reason,
    data=("crows-pairs",),
    citation="kaneko-bollegala-2022-unmasking",
)
