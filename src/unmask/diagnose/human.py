"""`human`: do scores agree with annotators' votes on the pairs? (Kaneko & Bollegala 2022, Figure 1)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from unmask.audit.session import Session, has_field
from unmask.core.errors import DataError, quote
from unmask.core.estimate import Estimate
from unmask.core.types import Dataset, Floats, Pair
from unmask.diagnose.common import results, unit_groups
from unmask.diagnose.spec import DiagnosisObservation, DiagnosisSettings, Observations
from unmask.findings import Cell, Finding, Plot, Table, charts
from unmask.measures import find
from unmask.stats.corrections import holm
from unmask.stats.roc import RocAuc, roc_auc, roc_auc_difference, roc_points
from unmask.stats.table import Flags
from unmask.stats.units import Units, units_of_items

VOTES = "votes"
MAX_VOTES = 5  # number of annotators besides the writer
FIVE = "five annotators"
PEOPLE = {"six people": 1, FIVE: 0}  # label rules: with or without the writer's vote, which is for biased
LOW = 2  # at most this many of five annotators: low agreement, as in the paper's two examples
SHOWN = 30  # most such pairs in a table
LOW_AGREEMENT = "Pairs of low agreement"


@dataclass(frozen=True, slots=True)
class LabelledPairs:
    """The pairs labelled by one rule, and how well scores agree with the labels."""

    biased: Flags  # more than `settings.votes` people labelled it biased
    aucs: Mapping[str, tuple[RocAuc, float | None]]  # of measures with pairs of both kinds, with Holm's p
    differences: Sequence[tuple[str, str, RocAuc, float | None]]  # two measures on the pairs both score, with Holm's p


@dataclass(frozen=True, slots=True)
class HumanResult:
    """One model's scores of the pairs with votes; NaN where a measure has no score."""

    votes: Mapping[str, int]  # of five annotators, by pair
    scores: Mapping[str, Floats]  # by measure
    labelled: Mapping[str, LabelledPairs]  # by label rule, see `PEOPLE`


def observe(session: Session, data: Dataset, settings: DiagnosisSettings) -> HumanResult:
    """Votes and every measure's scores, pair by pair, and their areas under the ROC curve, highest first."""
    if not 1 <= settings.votes <= MAX_VOTES:
        raise DataError(
            f"votes is {settings.votes}; expected 1 to {MAX_VOTES}: of six people, the writer always votes biased"
        )
    votes = {item.id: count for item in data.items if (count := _votes(item.groups, item.id)) is not None}
    shared = unit_groups(data, settings)
    groups = [shared[item] for item in votes]
    scores: dict[str, Floats] = {}
    for name, items in session.scores(data, session.pair_measures(data, settings.measures)).items():
        scores[name] = np.array([item.row.difference for item in items if item.row.item in votes])
        if find(name).summary == "magnitude":
            scores[name] = np.abs(scores[name])
    labelled = {}
    for people, writer in PEOPLE.items():
        biased = np.array([count + writer > settings.votes for count in votes.values()], dtype=np.bool_)
        labelled[people] = _label(biased, scores, groups)
    return HumanResult(votes, scores, labelled)


def conclude(observations: Observations, settings: DiagnosisSettings) -> Finding:
    """Areas under the ROC curves by label rule, measures compared pair by pair, pairs of low agreement, plots."""
    rows: list[tuple[Cell, ...]] = []
    compared: list[tuple[Cell, ...]] = []
    for each, people, labelled in results(observations, "labelled"):
        for name, (auc, p) in labelled.aucs.items():
            counts = auc.positives, auc.negatives, _unscored(each, name)
            rows.append((*each.names, people, name, auc, *counts, auc.p, p))
        for a, b, auc, p in labelled.differences:
            compared.append((*each.names, people, a, b, auc, auc.positives + auc.negatives, auc.p, p))
    return Finding(
        tuple(_answer(each, people) for each, people, labelled in results(observations, "labelled") if labelled.aucs),
        (
            Table(
                "Area under the ROC curve",
                ("model", "data", "votes of", "measure", "AUC", "biased", "other", "unscored", "p", "p Holm"),
                tuple(rows),
                f"A pair is biased when more than {settings.votes} people named its category: of six, the writer one "
                "of them, as the paper says; or of the five annotators alone, whom the paper's examples count. 0.5 "
                "is chance; below it, measure and people disagree. Interval: DeLong's on the logit, over the "
                "units of the data (writers). p: against 0.5, Mann-Whitney if pairs are independent, else Student's "
                "over units; Holm over the measures of a model.",
                digits=3,
            ),
            Table(
                "Measures compared on the pairs both score",
                ("model", "data", "votes of", "measure", "against", "AUC difference", "pairs", "p", "p Holm"),
                tuple(compared),
                "Interval and p by DeLong's test for the same pairs, over the units of the data; Holm over all "
                "comparisons of a model.",
                digits=3,
            ),
            *_low_agreement_tables(observations),
        ),
        tuple(
            _plot(each, people, f"-{number}" if len(observations) > 1 else "")
            for number, each in enumerate(observations, start=1)
            for people, labelled in each.result.labelled.items()
            if labelled.aucs
        ),
        tuple(_notes(observations, settings.votes)),
    )


def estimates(observations: Observations, settings: DiagnosisSettings) -> list[Estimate]:
    """The area under the ROC curve of every measure, and every difference of two; group `all`: of six people."""
    every = []
    for each, people, labelled in results(observations, "labelled"):
        rule = f"votes={people}" if people == FIVE else "all"
        for name, (auc, p) in labelled.aucs.items():
            fields = {"n": auc.positives + auc.negatives, "unscored": _unscored(each, name), "p": auc.p, "p_holm": p}
            every.append(each.estimate(f"human/{name}", "auc", auc, group=rule, **fields))
        for a, b, auc, p in labelled.differences:
            fields = {"n": auc.positives + auc.negatives, "p": auc.p, "p_holm": p, "null": 0.0}
            every.append(each.estimate(f"human/{a}/{b}", "auc-difference", auc, group=rule, **fields))
    return every


def details(observations: Observations, _: DiagnosisSettings) -> dict[str, object]:
    """By dataset: every pair of low agreement with its votes, the fewest first."""
    return {
        "low_agreement": {name: [{"item": item.id, "votes": n} for item, n in low] for name, low in _low(observations)}
    }


def _votes(groups: Mapping[str, str], item: str) -> int | None:
    """How many of five annotators named the pair's category; None without votes."""
    votes = groups.get(VOTES, "")
    if not votes:
        return None
    if not re.fullmatch(f"[0-{MAX_VOTES}]", votes):
        raise DataError(f"{item}: votes {quote(votes)}, expected how many of five annotators named the pair's category")
    return int(votes)


def _label(biased: Flags, scores: Mapping[str, Floats], groups: Sequence[Mapping[str, str]]) -> LabelledPairs:
    """Areas of all measures, and their differences, against these labels of pairs with these groups."""

    def units(kept: Flags) -> Units:
        return units_of_items([group for group, own in zip(groups, kept, strict=True) if own])

    aucs = {
        name: roc_auc(biased[kept], values[kept], units(kept))
        for name, values in scores.items()
        if _has_both(biased[kept := np.isfinite(values)])
    }
    ps = dict(zip(aucs, holm([auc.p for auc in aucs.values()]), strict=True))
    ranked = {name: (aucs[name], ps[name]) for name in sorted(aucs, key=lambda name: -aucs[name].value)}
    rows: list[tuple[str, str, RocAuc]] = []
    for a, b in combinations(scores, 2):
        kept = np.isfinite(scores[a]) & np.isfinite(scores[b])
        if _has_both(biased[kept]):
            rows.append((a, b, roc_auc_difference(biased[kept], scores[a][kept], scores[b][kept], units(kept))))
    adjusted = holm([auc.p for _, _, auc in rows])
    return LabelledPairs(biased, ranked, [(*row, p) for row, p in zip(rows, adjusted, strict=True)])


def _low(observations: Observations) -> Iterator[tuple[str, list[tuple[Pair, int]]]]:
    """By dataset: the pairs of low agreement and their votes, the fewest first."""
    for name, each in {each.names[1]: each for each in observations}.items():
        votes = each.result.votes
        low = [(item, votes[item.id]) for item in each.data.items if votes.get(item.id, MAX_VOTES) <= LOW]
        yield name, sorted(low, key=lambda entry: entry[1])


def _low_agreement_tables(observations: Observations) -> Iterator[Table]:
    """The pairs on which annotators agreed least, where the paper found the pitfalls of such data."""
    rows: list[tuple[Cell, ...]] = []
    total = 0
    for name, low in _low(observations):
        total += len(low)
        rows += [
            (name, item.id, item.groups.get("category", ""), votes, item.more, item.less) for item, votes in low[:SHOWN]
        ]
    if rows:
        yield Table(
            LOW_AGREEMENT,
            ("data", "pair", "category", "votes of five", "more", "less"),
            tuple(rows),
            f"At most {LOW} of five annotators named the category: {total:,} pairs, of which the {len(rows)} with the "
            "fewest votes are shown; all are in `details` of result.json. Read them for pitfalls such as no meaningful "
            "stereotype or uneven baselines (Blodgett et al. 2021).",
        )


def _has_both(labels: Flags) -> bool:
    return bool(labels.any() and not labels.all())


def _unscored(observation: DiagnosisObservation, name: str) -> int:
    return int((~np.isfinite(observation.result.scores[name])).sum())


def _answer(observation: DiagnosisObservation, people: str) -> str:
    aucs = observation.result.labelled[people].aucs
    best, (top, _) = next(iter(aucs.items()))
    interval = f", {top.low:.3f} to {top.high:.3f}" if top.low > 0 else ""
    beyond = [name for name in observation.result.scores if name in aucs and aucs[name][0].low > 0.5]
    return (
        f"{observation.where}, votes of {people}: {best} agrees best with people (AUC {top.value:.3f}{interval}; "
        f"{top.positives + top.negatives:,} pairs); better than chance by their intervals: "
        f"{', '.join(beyond) or 'none'}"
    )


def _notes(observations: Observations, least: int) -> Iterator[str]:
    for each, people, labelled in results(observations, "labelled"):
        if not _has_both(labelled.biased):
            which = "all" if labelled.biased.any() else "none"
            said = f"more than {least} of {people} saw a bias in {which} of {labelled.biased.size} pairs"
            yield f"{each.where}: no curve, {said}"
    for each in observations:
        if without := len(each.data.items) - len(each.result.votes):
            yield f"{each.where}: {without:,} pairs without votes were left out"


def _plot(observation: DiagnosisObservation, people: str, number: str) -> Plot:
    rows: list[charts.Row] = []
    labelled = observation.result.labelled[people]
    for name in observation.result.scores:
        if name not in labelled.aucs:
            continue
        scores = observation.result.scores[name]
        kept = np.isfinite(scores)
        points = zip(*roc_points(labelled.biased[kept], scores[kept]), strict=True)
        rows += [{"x": float(false), "y": float(true), "series": name} for false, true in points]
    alt = "ROC curves: for every measure the share of biased pairs found against that of other pairs taken."
    x, y = "share of other pairs scored above the threshold", "share of biased pairs scored above it"
    chart = charts.curves(rows, x=x, y=y, diagonal=True)
    suffix = "-five" if people == FIVE else ""
    return Plot(f"human-roc{number}{suffix}", f"ROC curves, votes of {people}: {observation.where}", alt, chart)


def unfit_reason(data: Dataset) -> str:
    """Why data are unsuitable; empty if they fit."""
    return "" if has_field(data, VOTES) else "its pairs have no votes of annotators"
