"""`human`: do scores agree with annotators' votes on the pairs? (Kaneko & Bollegala 2022, Figure 1)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isnan
from typing import TYPE_CHECKING, TypeVar

from unmask.core.errors import DataError, quote
from unmask.core.estimate import Estimate
from unmask.core.options import option
from unmask.core.types import Dataset
from unmask.diagnose.scores import require, results, unit_groups
from unmask.diagnose.spec import Diagnosis, DiagnosisObservation, Observations, UnitOptions
from unmask.findings import Cell, Conclusion, Finding, Plot, Table
from unmask.measures import find

if TYPE_CHECKING:
    from unmask.audit.session import Session
    from unmask.core.types import Floats
    from unmask.stats.roc import RocAuc
    from unmask.stats.table import Flags
    from unmask.stats.units import Units

K = TypeVar("K")
VOTES = "votes"
MAX_VOTES = 5  # number of annotators besides the writer
FIVE = "five annotators"
PEOPLE = {"six people": 1, FIVE: 0}  # label rules: with or without the writer's vote, which is for biased
LOW = 2  # at most this many of five annotators: low agreement, as in the paper's two examples
SHOWN = 30  # most such pairs in a table
LOW_AGREEMENT = "Pairs of low agreement"
AREAS = (
    "A pair is biased when more than {} people named its category: of six, the writer one "
    "of them, as the paper says; or of the five annotators alone, whom the paper's examples count. 0.5 "
    "is chance; below it, measure and people disagree. Interval: DeLong's on the logit, over the "
    "units of the data (writers). p: against 0.5, Mann-Whitney if pairs are independent, else Student's "
    "over units; Holm over the measures of a model."
)
COMPARED = (
    "Interval and p by DeLong's test for the same pairs, over the units of the data; Holm over all "
    "comparisons of a model."
)
PITFALLS = (
    "At most {} of five annotators named the category: {:,} pairs, of which the {} with the "
    "fewest votes are shown; all are in `details` of result.json. Read them for pitfalls such as no meaningful "
    "stereotype or uneven baselines (Blodgett et al. 2021)."
)


@dataclass(frozen=True)
class HumanOptions(UnitOptions):
    """Options of `human`."""

    votes: int = option(
        3, "A pair counts as biased if more than this many of six annotators say so.", least=1, most=MAX_VOTES
    )


@dataclass(frozen=True, slots=True)
class LabelledPairs:
    """The pairs labelled by one rule, and how well scores agree with the labels."""

    biased: Flags  # more people than `options.votes` labelled it biased
    aucs: Mapping[str, tuple[RocAuc, float | None]]  # of measures with pairs of both kinds, with Holm's p
    differences: Mapping[tuple[str, str], tuple[RocAuc, float | None]]  # two measures on the pairs both score


@dataclass(frozen=True, slots=True)
class HumanResult:
    """One model's scores of the pairs with votes; NaN where a measure has no score."""

    votes: Mapping[str, int]  # of five annotators, by pair
    scores: Mapping[str, Floats]  # by measure
    labelled: Mapping[str, LabelledPairs]  # by label rule, see `PEOPLE`


def observe(session: Session, data: Dataset, options: HumanOptions) -> HumanResult:
    """Votes and every measure's scores, pair by pair, and their areas under the ROC curve, highest first."""
    import numpy as np

    votes = {item.id: count for item in data.items if (count := _votes(item.groups, item.id)) is not None}
    groups = unit_groups(data, independent=options.independent)
    scores: dict[str, Floats] = {}
    for name, items in session.scores(data, session.pair_measures(data, options.measures)).items():
        differences = np.array([item.row.difference for item in items if item.row.item in votes])
        scores[name] = np.abs(differences) if find(name).summary == "magnitude" else differences
    labelled = {}
    for people, writer in PEOPLE.items():
        biased = np.array([count + writer > options.votes for count in votes.values()], dtype=np.bool_)
        labelled[people] = _label(biased, scores, [groups[item] for item in votes])
    return HumanResult(votes, scores, labelled)


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
    import numpy as np

    from unmask.stats.roc import roc_auc, roc_auc_difference
    from unmask.stats.units import units_of_items

    def units(kept: Flags) -> Units:
        return units_of_items([group for group, inside in zip(groups, kept, strict=True) if inside])

    aucs = {}
    for name, values in scores.items():
        kept = np.isfinite(values)
        if _has_both(biased[kept]):
            aucs[name] = roc_auc(biased[kept], values[kept], units(kept))
    differences = {}
    for a, b in combinations(scores, 2):
        kept = np.isfinite(scores[a]) & np.isfinite(scores[b])
        if _has_both(biased[kept]):
            differences[a, b] = roc_auc_difference(biased[kept], scores[a][kept], scores[b][kept], units(kept))
    aucs = dict(sorted(aucs.items(), key=lambda named: -named[1].value))
    return LabelledPairs(biased, _with_holm(aucs), _with_holm(differences))


def _with_holm(areas: Mapping[K, RocAuc]) -> dict[K, tuple[RocAuc, float | None]]:
    """The areas with their p-values corrected for their number."""
    from unmask.stats.corrections import holm

    adjusted = holm([area.p for area in areas.values()])
    return dict(zip(areas, zip(areas.values(), adjusted, strict=True), strict=True))


def _has_both(labels: Flags) -> bool:
    return bool(labels.any() and not labels.all())


def conclude(observations: Observations, options: HumanOptions) -> Conclusion:
    """Areas under the ROC curves by label rule, measures compared pair by pair, pairs of low agreement, plots."""
    labelled = list(results(observations, "labelled"))
    low = dict(_low_agreement(each) for each in observations)
    shown = [record for pairs in low.values() for record in pairs[:SHOWN]]
    pitfalls = PITFALLS.format(LOW, sum(map(len, low.values())), len(shown))
    return Conclusion(
        Finding(
            tuple(line for each in labelled for line in _answers(*each)),
            (
                Table.of(
                    "Area under the ROC curve",
                    (record for each in labelled for record in _auc_records(*each)),
                    AREAS.format(options.votes),
                    digits=3,
                ),
                Table.of(
                    "Measures compared on the pairs both score",
                    (record for each in labelled for record in _difference_records(*each)),
                    COMPARED,
                    digits=3,
                ),
                Table.of(LOW_AGREEMENT, shown, pitfalls),
            ),
            tuple(
                _plot(each, people, f"-{number}" if len(observations) > 1 else "")
                for number, each in enumerate(observations, start=1)
                for people, pairs in each.result.labelled.items()
                if pairs.aucs
            ),
            tuple(_notes(observations, options.votes)),
        ),
        tuple(estimate for each in labelled for estimate in _estimates(*each)),
        {
            "low_agreement": {
                data: [{"item": record["pair"], "votes": record["votes of five"]} for record in pairs]
                for data, pairs in low.items()
            }
        },
    )


def _estimates(observation: DiagnosisObservation, people: str, labelled: LabelledPairs) -> Iterator[Estimate]:
    """The area under the ROC curve of every measure, and every difference of two; group `all`: of six people."""
    group = f"votes={people}" if people == FIVE else "all"
    for name, (auc, p) in labelled.aucs.items():
        numbers = {"n": auc.positives + auc.negatives, "unscored": _unscored(observation, name), "p": auc.p}
        yield observation.estimate(f"human/{name}", "auc", auc, group=group, **numbers, p_holm=p)
    for (a, b), (auc, p) in labelled.differences.items():
        numbers = {"n": auc.positives + auc.negatives, "p": auc.p, "null": 0.0}
        yield observation.estimate(f"human/{a}/{b}", "auc-difference", auc, group=group, **numbers, p_holm=p)


def _auc_records(observation: DiagnosisObservation, people: str, labelled: LabelledPairs) -> Iterator[dict[str, Cell]]:
    for name, (auc, p) in labelled.aucs.items():
        yield {
            **observation.key,
            "votes of": people,
            "measure": name,
            "AUC": auc,
            "biased": auc.positives,
            "other": auc.negatives,
            "unscored": _unscored(observation, name),
            "p": auc.p,
            "p Holm": p,
        }


def _difference_records(
    observation: DiagnosisObservation, people: str, labelled: LabelledPairs
) -> Iterator[dict[str, Cell]]:
    for (a, b), (auc, p) in labelled.differences.items():
        yield {
            **observation.key,
            "votes of": people,
            "measure": a,
            "against": b,
            "AUC difference": auc,
            "pairs": auc.positives + auc.negatives,
            "p": auc.p,
            "p Holm": p,
        }


def _low_agreement(observation: DiagnosisObservation) -> tuple[str, list[dict[str, Cell]]]:
    """The dataset and its pairs on which annotators agreed least, where the paper found the pitfalls of such data."""
    votes, data = observation.result.votes, observation.data
    low = [item for item in data.items if votes.get(item.id, MAX_VOTES) <= LOW]
    return data.card.name, [
        {
            "data": data.card.name,
            "pair": item.id,
            "category": item.groups.get("category", ""),
            "votes of five": votes[item.id],
            "more": item.more,
            "less": item.less,
        }
        for item in sorted(low, key=lambda item: votes[item.id])
    ]


def _unscored(observation: DiagnosisObservation, measure: str) -> int:
    """How many pairs with votes have no score."""
    return sum(map(isnan, observation.result.scores[measure].tolist()))


def _answers(observation: DiagnosisObservation, people: str, labelled: LabelledPairs) -> Iterator[str]:
    """The measure that agrees best with people, and which agree beyond chance."""
    from unmask.findings import sentences

    where = f"{observation.where}, votes of {people}"
    for name, (auc, _) in list(labelled.aucs.items())[:1]:
        what = f"{where}: {name} agrees best over {auc.positives + auc.negatives:,} pairs"
        beyond = [other for other, (area, _) in labelled.aucs.items() if sentences.place(area, 0.5) == "above"]
        yield sentences.agreement(what, auc, symbol="AUC", by_chance=0.5)
        yield f"{where}: AUC with an interval above 0.5: {', '.join(beyond) or 'none'}"


def _notes(observations: Observations, least: int) -> Iterator[str]:
    for each, people, labelled in results(observations, "labelled"):
        if not _has_both(labelled.biased):
            which = "all" if labelled.biased.any() else "none"
            of_pairs = f"{which} of {labelled.biased.size} pairs"
            yield f"{each.where}: no curve, more than {least} of {people} saw a bias in {of_pairs}"
    for each in observations:
        if without := len(each.data.items) - len(each.result.votes):
            yield f"{each.where}: {without:,} pairs without votes were left out"


def _plot(observation: DiagnosisObservation, people: str, number: str) -> Plot:
    import numpy as np

    from unmask.findings import charts
    from unmask.stats.roc import roc_points

    rows: list[charts.Row] = []
    labelled = observation.result.labelled[people]
    for name, scores in observation.result.scores.items():
        if name in labelled.aucs:
            kept = np.isfinite(scores)
            false, true = roc_points(labelled.biased[kept], scores[kept])
            rows += [{"x": x, "y": y, "series": name} for x, y in zip(false.tolist(), true.tolist(), strict=True)]
    alt = "ROC curves: for every measure the share of biased pairs found against that of other pairs taken."
    x, y = "share of other pairs scored above the threshold", "share of biased pairs scored above it"
    chart = charts.curves(rows, x=x, y=y, diagonal=True)
    suffix = "-five" if people == FIVE else ""
    return Plot(f"human-roc{number}{suffix}", f"ROC curves, votes of {people}: {observation.where}", alt, chart)


HUMAN = Diagnosis(
    name="human",
    title="Agreement with people",
    question="Do the pairs a measure finds most biased have the bias that annotators saw?",
    observe=observe,
    conclude=conclude,
    options=HumanOptions,
    order=5,
    unfit_reason=require(VOTES),
    data=("crows-pairs",),
    citation="kaneko-bollegala-2022-unmasking",
)
