"""`human`: do scores agree with annotators' votes on the pairs? (Kaneko & Bollegala 2022, Figure 1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from unmask.audit.plan import has_field
from unmask.audit.session import Session
from unmask.core.errors import DataError
from unmask.core.estimate import Estimate
from unmask.core.seeds import generator
from unmask.core.types import Dataset, Floats
from unmask.diagnose.common import results
from unmask.diagnose.spec import Diagnosis, DiagnosisObservation, DiagnosisSettings, Observations
from unmask.findings import Cell, Finding, Plot, Table, charts
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
    aucs: Mapping[str, tuple[RocAuc, float | None]]  # of measures with pairs of both kinds, with Holm's p
    n_without_votes: int  # pairs without votes


def observe(session: Session, data: Dataset, settings: DiagnosisSettings) -> HumanResult:
    """Votes and every measure's scores, pair by pair, and their areas under the ROC curve, highest first."""
    if not 1 <= settings.votes <= MAX_VOTES:
        raise DataError(
            f"votes is {settings.votes}; expected 1 to {MAX_VOTES}: of six people, the writer always votes biased"
        )
    votes = {item.id: count for item in data.items if (count := _votes(item.groups, item.id)) is not None}
    scores: dict[str, Floats] = {}
    for name, items in session.scores(data, session.pair_measures(data, settings.measures)).items():
        scores[name] = np.array([item.row.difference for item in items if item.row.item in votes])
        if find(name).summary == "magnitude":
            scores[name] = np.abs(scores[name])
    biased = np.array([count > settings.votes for count in votes.values()], dtype=np.bool_)
    aucs = {
        name: roc_auc(biased[kept], values[kept], rng=generator(settings.seed, name))
        for name, values in scores.items()
        if _has_both(biased[kept := np.isfinite(values)])
    }
    ps = dict(zip(aucs, holm([auc.p for auc in aucs.values()]), strict=True))
    ranked = {name: (aucs[name], ps[name]) for name in sorted(aucs, key=lambda name: -aucs[name].value)}
    return HumanResult(biased, scores, ranked, len(data.items) - len(votes))


def conclude(observations: Observations, settings: DiagnosisSettings) -> Finding:
    """Areas under the ROC curves, measures compared pair by pair, and a plot for every model and dataset."""
    majority = f"more than {settings.votes} of six people, the writer one of them,"
    rows: list[tuple[Cell, ...]] = []
    for observation, name, (auc, p) in results(observations, "aucs"):
        counts = auc.positives, auc.negatives, _unscored(observation, name)
        rows.append((*observation.names, name, auc, *counts, auc.p, p))
    return Finding(
        tuple(_answer(observation) for observation in observations if observation.result.aucs),
        (
            Table(
                "Area under the ROC curve",
                ("model", "data", "measure", "AUC", "biased", "other", "unscored", "p", "p Holm"),
                tuple(rows),
                f"A pair is biased when {majority} named its category. 0.5 is chance; below it, measure and "
                "people disagree. Interval: bootstrap within both groups of pairs. p: Mann-Whitney, against "
                "0.5, Holm over the measures of a model.",
                digits=3,
            ),
            Table(
                "Measures compared on the pairs both score",
                ("model", "data", "measure", "against", "AUC difference", "pairs", "p", "p Holm"),
                tuple(row for observation in observations for row in _comparison_rows(observation)),
                "Interval and p by DeLong's test for the same pairs, Holm over all comparisons of a model.",
                digits=3,
            ),
        ),
        tuple(
            _plot(observation, f"-{number}" if len(observations) > 1 else "")
            for number, observation in enumerate(observations, start=1)
            if observation.result.aucs
        ),
        tuple(_notes(observations, majority)),
    )


def estimates(observations: Observations, settings: DiagnosisSettings) -> list[Estimate]:
    """The area under the ROC curve of every measure."""
    every = []
    for each, name, (auc, p) in results(observations, "aucs"):
        n, unscored = auc.positives + auc.negatives, _unscored(each, name)
        every.append(each.estimate(f"human/{name}", "auc", auc, n=n, unscored=unscored, p=auc.p, p_holm=p))
    return every


def _votes(groups: Mapping[str, str], item: str) -> int | None:
    """Votes of the annotators plus the writer's, of six people; None without votes."""
    votes = groups.get(VOTES, "")
    if not votes:
        return None
    if not votes.isdecimal() or int(votes) > MAX_VOTES:
        raise DataError(f"{item}: votes {votes!r}, expected how many of five annotators named the pair's category")
    return int(votes) + WRITER


def _has_both(labels: Flags) -> bool:
    return bool(labels.any() and not labels.all())


def _unscored(observation: DiagnosisObservation, name: str) -> int:
    return int((~np.isfinite(observation.result.scores[name])).sum())


def _comparison_rows(observation: DiagnosisObservation) -> list[tuple[Cell, ...]]:
    result = observation.result
    rows: list[tuple[str, str, RocAuc]] = []
    for a, b in combinations(result.scores, 2):
        kept = np.isfinite(result.scores[a]) & np.isfinite(result.scores[b])
        if _has_both(result.biased[kept]):
            both = result.scores[a][kept], result.scores[b][kept]
            rows.append((a, b, roc_auc_difference(result.biased[kept], *both)))
    adjusted = holm([auc.p for _, _, auc in rows])
    return [
        (*observation.names, a, b, auc, auc.positives + auc.negatives, auc.p, p)
        for (a, b, auc), p in zip(rows, adjusted, strict=True)
    ]


def _answer(observation: DiagnosisObservation) -> str:
    aucs = observation.result.aucs
    best, (top, _) = next(iter(aucs.items()))
    interval = f", {top.low:.3f} to {top.high:.3f}" if top.low > 0 else ""
    beyond = [name for name in observation.result.scores if name in aucs and aucs[name][0].low > 0.5]
    return (
        f"{observation.where}: {best} agrees best with people (AUC {top.value:.3f}{interval}; "
        f"{top.positives + top.negatives:,} pairs); better than chance by their intervals: "
        f"{', '.join(beyond) or 'none'}"
    )


def _notes(observations: Observations, majority: str) -> Iterator[str]:
    for observation in observations:
        biased, without = observation.result.biased, observation.result.n_without_votes
        if not _has_both(biased):
            which = "all" if biased.any() else "none"
            yield f"{observation.where}: no curve, {majority} saw a bias in {which} of {biased.size} pairs"
        if without:
            yield f"{observation.where}: {without:,} pairs without votes were left out"


def _plot(observation: DiagnosisObservation, number: str) -> Plot:
    rows: list[charts.Row] = []
    for name in observation.result.scores:
        if name not in observation.result.aucs:
            continue
        scores = observation.result.scores[name]
        kept = np.isfinite(scores)
        points = zip(*roc_points(observation.result.biased[kept], scores[kept]), strict=True)
        rows += [{"x": float(false), "y": float(true), "series": name} for false, true in points]
    alt = "ROC curves: for every measure the share of biased pairs found against that of other pairs taken."
    x, y = "share of other pairs scored above the threshold", "share of biased pairs scored above it"
    chart = charts.curves(rows, x=x, y=y, diagonal=True)
    return Plot(f"human-roc{number}", f"ROC curves: {observation.where}", alt, chart)


HUMAN = Diagnosis(
    name="human",
    title="Agreement with people",
    question="Do the pairs a measure finds most biased have the bias that annotators saw?",
    observe=observe,
    conclude=conclude,
    estimates=estimates,
    order=5,
    unfit_reason=lambda data: "" if has_field(data, VOTES) else "its pairs have no votes of annotators",
    data=("crows-pairs",),
    citation="kaneko-bollegala-2022-unmasking",
)
