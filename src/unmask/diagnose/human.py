"""`human`: do scores agree with annotators' votes on the pairs? (Kaneko & Bollegala 2022, Figure 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from unmask.audit.plan import has_field
from unmask.audit.scoring import ScoredItem
from unmask.audit.session import Session
from unmask.core.errors import DataError
from unmask.core.seeds import generator
from unmask.core.types import Dataset, Floats
from unmask.diagnose.spec import Diagnosis, DiagnosisObservation, DiagnosisSettings
from unmask.findings import Cell, Finding, Plot, Table, Value, charts
from unmask.measures import find
from unmask.stats import holm
from unmask.stats.roc import RocAuc, roc_auc, roc_auc_difference, roc_points
from unmask.stats.table import Flags

VOTES = "votes"
WRITER = 1  # the writer of a pair counts as one vote for biased
MAX_VOTES = 5  # number of annotators besides the writer


@dataclass(frozen=True, slots=True)
class HumanResult:
    """One model's scores of the pairs with votes; NaN where a measure has no score."""

    biased: Flags  # more than `settings.votes` of six people labelled it biased
    scores: Mapping[str, Floats]  # by measure
    n_without_votes: int  # pairs without votes


def observe(session: Session, data: Dataset, settings: DiagnosisSettings) -> HumanResult:
    """Votes and every measure's scores, pair by pair."""
    if not 1 <= settings.votes <= MAX_VOTES:
        raise DataError(
            f"votes is {settings.votes}; expected 1 to {MAX_VOTES}: of six people, the writer always votes "
            "biased"
        )
    votes = {item.id: count for item in data.items if (count := _votes(item.groups, item.id)) is not None}
    measures = session.pair_measures(data, settings.measures)
    scores = {
        name: np.array([_score(name, item) for item in items if item.row.item in votes])
        for name, items in session.scores(data, measures).items()
    }
    biased = np.array([count > settings.votes for count in votes.values()], dtype=np.bool_)
    return HumanResult(biased, scores, len(data.items) - len(votes))


def conclude(observations: Sequence[DiagnosisObservation], settings: DiagnosisSettings) -> Finding:
    """Areas under the ROC curves, measures compared pair by pair, and a plot for every model and dataset."""
    areas = [(observation, _aucs(observation.result, settings.seed)) for observation in observations]
    compared = [row for observation in observations for row in _comparison_rows(observation)]
    majority = f"more than {settings.votes} of six people, the writer one of them,"
    return Finding(
        tuple(line for observation, aucs in areas for line in _answers(observation, aucs)),
        (
            Table(
                "Area under the ROC curve",
                ("model", "data", "measure", "AUC", "biased", "other", "unscored", "p", "p Holm"),
                tuple(row for observation, aucs in areas for row in _rows(observation, aucs)),
                f"A pair is biased when {majority} named its category. 0.5 is chance; below it, measure and "
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
            _plot(observation, index, len(observations))
            for index, observation in enumerate(observations)
            if _curves(observation.result)
        ),
        tuple(_notes(observations, majority)),
    )


def _votes(groups: Mapping[str, str], item: str) -> int | None:
    """Votes of the annotators plus the writer's, of six people; None without votes."""
    votes = groups.get(VOTES, "")
    if not votes:
        return None
    if not votes.isdecimal() or int(votes) > MAX_VOTES:
        raise DataError(
            f"{item}: votes {votes!r}, expected how many of five annotators named the pair's category"
        )
    return int(votes) + WRITER


def _score(measure: str, item: ScoredItem) -> float:
    """The pair's score difference; its absolute value for magnitude measures."""
    difference = item.row.difference
    return abs(difference) if find(measure).summary == "magnitude" else difference


def _aucs(votes: HumanResult, seed: int) -> dict[str, RocAuc]:
    aucs = {}
    for name, scores in votes.scores.items():
        kept = np.isfinite(scores)
        if _has_both(votes.biased[kept]):
            aucs[name] = roc_auc(votes.biased[kept], scores[kept], rng=generator(seed, name))
    return aucs


def _has_both(labels: Flags) -> bool:
    return bool(labels.any() and not labels.all())


def _rows(observation: DiagnosisObservation, aucs: Mapping[str, RocAuc]) -> list[tuple[Cell, ...]]:
    model, data = str(observation.model["id"]), observation.data.card.name
    adjusted = holm([auc.p for auc in aucs.values()])
    rows: list[tuple[Cell, ...]] = []
    for (name, auc), p in zip(aucs.items(), adjusted, strict=True):
        unscored = int((~np.isfinite(observation.result.scores[name])).sum())
        rows.append((model, data, name, _auc_cell(auc), auc.positives, auc.negatives, unscored, auc.p, p))
    return sorted(rows, key=lambda row: -row[3].value)  # type: ignore[union-attr]


def _comparison_rows(observation: DiagnosisObservation) -> list[tuple[Cell, ...]]:
    model, data, judged = str(observation.model["id"]), observation.data.card.name, observation.result
    rows: list[tuple[str, str, RocAuc]] = []
    for a, b in combinations(judged.scores, 2):
        kept = np.isfinite(judged.scores[a]) & np.isfinite(judged.scores[b])
        if _has_both(judged.biased[kept]):
            difference = roc_auc_difference(
                judged.biased[kept], judged.scores[a][kept], judged.scores[b][kept]
            )
            rows.append((a, b, difference))
    adjusted = holm([auc.p for _, _, auc in rows])
    return [
        (model, data, a, b, _auc_cell(auc), auc.positives + auc.negatives, auc.p, p)
        for (a, b, auc), p in zip(rows, adjusted, strict=True)
    ]


def _auc_cell(auc: RocAuc) -> Value:
    return Value(auc.value, auc.interval.low, auc.interval.high, auc.interval.method)


def _answers(observation: DiagnosisObservation, aucs: Mapping[str, RocAuc]) -> list[str]:
    if not aucs:
        return []
    best = max(aucs, key=lambda name: aucs[name].value)
    top, where = aucs[best], f"{observation.model['id']} on {observation.data.card.name}"
    interval = f", {top.interval.low:.3f} to {top.interval.high:.3f}" if top.interval.low > 0 else ""
    beyond = [name for name, auc in aucs.items() if auc.interval.low > 0.5]
    names = ", ".join(beyond) if beyond else "none"
    return [
        f"{where}: {best} agrees best with people (AUC {top.value:.3f}{interval}; "
        f"{top.positives + top.negatives:,} pairs); better than chance by their intervals: {names}"
    ]


def _notes(observations: Sequence[DiagnosisObservation], majority: str) -> list[str]:
    notes = []
    for observation in observations:
        where, votes = f"{observation.model['id']} on {observation.data.card.name}", observation.result
        if not _has_both(votes.biased):
            which = "all" if votes.biased.any() else "none"
            notes.append(f"{where}: no curve, {majority} saw a bias in {which} of {votes.biased.size} pairs")
        if votes.n_without_votes:
            notes.append(f"{where}: {votes.n_without_votes:,} pairs without votes were left out")
    return notes


def _curves(votes: HumanResult) -> list[charts.Row]:
    rows: list[charts.Row] = []
    for name, scores in votes.scores.items():
        kept = np.isfinite(scores)
        if _has_both(votes.biased[kept]):
            false, true = roc_points(votes.biased[kept], scores[kept])
            rows += [
                {"x": x, "y": y, "series": name} for x, y in zip(false.tolist(), true.tolist(), strict=True)
            ]
    return rows


def _plot(observation: DiagnosisObservation, index: int, total: int) -> Plot:
    alt = "ROC curves: for every measure the share of biased pairs found against that of other pairs taken."
    x, y = "share of other pairs scored above the threshold", "share of biased pairs scored above it"
    chart = charts.curves(_curves(observation.result), x=x, y=y, diagonal=True)
    name = "human-roc" if total == 1 else f"human-roc-{index + 1}"
    return Plot(name, f"ROC curves: {observation.model['id']} on {observation.data.card.name}", alt, chart)


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
