"""`controls`: does a score react to what it should, and not to what it should not? (after Pikuliak et al. 2023)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import isfinite
from typing import Literal

from unmask.audit.session import Session, has_field
from unmask.core.errors import DataError, UnknownName
from unmask.core.estimate import Estimate
from unmask.core.types import Dataset, Pair, Row
from unmask.data.pairs import ORIGINAL
from unmask.diagnose.common import find_originals, results
from unmask.diagnose.spec import DiagnosisObservation, DiagnosisSettings, Observations
from unmask.findings import Cell, Finding, Plot, Table, charts
from unmask.measures import find
from unmask.stats import estimates as score_estimates
from unmask.stats.corrections import holm
from unmask.stats.paired import Comparison, comparisons

CONTROL = "control"  # the group of an item that names its control
ALPHA = 0.05
SHARE, MEAN = "bias-score", "mean-difference"
NULLS = {SHARE: 50.0, MEAN: 0.0}
Reaction = Literal["as predicted", "not as predicted", "cannot tell"]
PREDICTED: Reaction = "as predicted"
REFUTED: Reaction = "not as predicted"
UNKNOWN: Reaction = "cannot tell"
NOTE = (
    "Original, with control: share of the pairs whose stereotyping sentence is preferred (bias-score), or the mean "
    "difference of the two sentences in the measure's units, over the same originals. Where the preference is to stay, "
    "bias scores are compared by McNemar's test; where it is to go, mean differences by a paired t test, because "
    "they show reactions of few pairs; both over the stereotypes, writers, … that originals share. Holm's "
    "correction over the controls of a model and measure, and separately over "
    "its controls by category. As predicted: the preference loses at least half of its size, beyond chance; or, where "
    "it is to stay, its change is smaller than half of it and not beyond chance. Not as predicted: the data exclude "
    "the predicted change, or show another one. Cannot tell: neither, or the originals show no preference that could "
    "go or stay."
)


@dataclass(frozen=True, slots=True)
class Control:
    """What a control version changes in a pair, and what that should do to the preference."""

    name: str
    changes: str
    predicts: str
    stays: bool = False  # whether the preference should stay as it is

    @property
    def statistic(self) -> str:
        """What is compared: frames make a sentence longer, which changes means over its tokens, but no decision."""
        return SHARE if self.stays else MEAN


CONTROLS = {
    control.name: control
    for control in (
        Control("negated", "the stereotype is denied", "smaller or reversed"),
        Control("exchanged", "two groups that are not stereotyped so", "none"),
        Control("neutral", "something neutral is said of the groups", "none"),
        Control("past", "said to be about the year 1955", "the same", stays=True),
        Control("future", "said to be about the year 2055", "the same", stays=True),
    )
}


@dataclass(frozen=True, slots=True)
class ControlRows:
    """Score rows of the originals and of each control version, all under the ids of the originals, by measure."""

    measures: Mapping[str, tuple[list[Row], Mapping[str, list[Row]]]]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """How the score of one measure reacts to one control, over all originals or those of a category."""

    observation: DiagnosisObservation
    control: Control
    original: Estimate
    comparison: Comparison  # from the originals to their control versions

    @property
    def preference(self) -> float:
        """That of the originals: points off 50, or the mean difference."""
        return self.comparison.a_value - NULLS[self.control.statistic]

    @property
    def reaction(self) -> Reaction:
        """Whether the score reacts as predicted."""
        change, is_preference = self.comparison, self.original.excludes(NULLS[self.control.statistic])
        is_change = change.p_holm is not None and change.p_holm < ALPHA
        half = abs(self.preference) / 2
        if self.control.stays:
            if is_change or not is_preference:
                return REFUTED if is_change else UNKNOWN
            bound = max(abs(change.low), abs(change.high)) if isfinite(change.low) else float("inf")
            return PREDICTED if bound < half else UNKNOWN
        if is_change and change.change * self.preference < 0 and abs(change.change) >= half:
            return PREDICTED
        if is_change and change.change * self.preference > 0:
            return REFUTED
        excluded = isfinite(change.low) and not change.low <= -self.preference <= change.high
        return REFUTED if is_preference and excluded else UNKNOWN


def observe(session: Session, data: Dataset, settings: DiagnosisSettings) -> ControlRows:
    """Score the originals and their control versions."""
    versions, notes = control_versions(data)
    originals = {item.id: item for items in versions.values() for item, _ in items}
    items = (*originals.values(), *(item for items in versions.values() for _, item in items))
    whole = replace(data, card=replace(data.card, name=f"{data.card.name}, with originals"), items=items)
    measures = [each for each in session.pair_measures(whole, settings.measures) if each.summary == "share"]
    found = {}
    for name, scored in session.scores(whole, measures).items():
        rows = {item.row.item: item.row for item in scored}
        by_control = {
            control: [replace(rows[item.id], item=original.id, groups=original.groups) for original, item in items]
            for control, items in versions.items()
        }
        found[name] = ([rows[item] for item in originals], by_control)
    return ControlRows(found, notes)


def conclude(observations: Observations, settings: DiagnosisSettings) -> Finding:
    """How every measure reacts to every control, overall and by category."""
    answers = _answers(tuple(observations), settings)
    whole = [each for each in answers if each.comparison.group == "all"]
    parts = [each for each in answers if each.comparison.group != "all"]
    tables = (
        _reaction_table("Reactions to the controls", whole),
        _reaction_table("Reactions by category", [each for each in parts if each.reaction != UNKNOWN]),
        Table(
            "The controls",
            ("control", "what is changed", "predicted preference"),
            tuple((each.name, each.changes, each.predicts) for each in CONTROLS.values()),
            "Every version keeps the words for the groups of its original, except `exchanged`.",
        ),
    )
    return Finding(
        tuple(_summaries(answers)),
        tuple(table for table in tables if table.rows),
        tuple(plot for statistic in NULLS for plot in _plots(whole, statistic)),
        tuple(dict.fromkeys(note for observation in observations for note in observation.result.notes)),
    )


def estimates(observations: Observations, settings: DiagnosisSettings) -> list[Estimate]:
    """The change from the originals to each control, of the statistic it is judged by, overall and by category."""
    return [
        each.observation.estimate(
            f"controls/{each.comparison.measure}",
            f"change-{each.control.name}",
            each.comparison.difference,
            group=each.comparison.group,
            null=0.0,
            n=each.comparison.n,
            p=each.comparison.p,
            p_holm=each.comparison.p_holm,
        )
        for each in _answers(tuple(observations), settings)
    ]


def details(observations: Observations, settings: DiagnosisSettings) -> dict[str, object]:
    """Every reaction: model, measure, group, control and whether it is as predicted."""
    return {
        "reactions": [
            {
                "model": each.observation.names[0],
                "measure": each.comparison.measure,
                "group": each.comparison.group,
                "control": each.control.name,
                "reaction": each.reaction,
            }
            for each in _answers(tuple(observations), settings)
        ]
    }


def unfit_reason(data: Dataset) -> str:
    """Why data are no control versions; empty if they are."""
    fit = has_field(data, ORIGINAL) and has_field(data, CONTROL)
    return "" if fit else f"its pairs have no {ORIGINAL} and {CONTROL}: they are not control versions"


def control_versions(data: Dataset) -> tuple[dict[str, list[tuple[Pair, Pair]]], tuple[str, ...]]:
    """By control, every original with its control version; and notes on what was left out.

    Originals are the pairs of the data without a control, or those of the datasets that their ids name.
    """
    named = [item for item in data.items if item.groups.get(CONTROL)]
    for item in named:
        if item.groups[CONTROL] not in CONTROLS:
            raise UnknownName("control", item.groups[CONTROL], CONTROLS)
    own = {item.id: item for item in data.items if not item.groups.get(CONTROL)}
    own |= {name.removeprefix(f"{data.card.name}/"): item for name, item in own.items()}
    asked = {item.groups.get(ORIGINAL, "") for item in named}
    known = find_originals(asked - own.keys()) | own
    versions: dict[str, list[tuple[Pair, Pair]]] = {name: [] for name in CONTROLS}
    seen: set[tuple[str, str]] = set()
    for item in named:
        key = item.groups.get(ORIGINAL, ""), item.groups[CONTROL]
        if key[0] in known and key not in seen:
            seen.add(key)
            versions[key[1]].append((known[key[0]], item))
    versions = {name: items for name, items in versions.items() if items}
    if not versions:
        raise DataError(f"{data.card.name}: no control version has its original; expected ids such as nine-axes/0000")
    left = len(named) - len(seen)
    notes = (f"{data.card.name}: {left:,} control versions without an original, or second ones, were left out",)
    return versions, notes if left else ()


@lru_cache(maxsize=1)  # for the finding, the estimates and the details
def _answers(observations: tuple[DiagnosisObservation, ...], settings: DiagnosisSettings) -> list[Answer]:
    answers = []
    for observation, _, (originals, by_control) in results(observations, "measures"):
        found = [
            answer
            for control, rows in by_control.items()
            for answer in _of_control(observation, CONTROLS[control], (originals, rows), settings)
        ]
        answers += [*_corrected(found, whole=True), *_corrected(found, whole=False)]
    return answers


def _of_control(
    observation: DiagnosisObservation,
    control: Control,
    both: tuple[Sequence[Row], Sequence[Row]],
    settings: DiagnosisSettings,
) -> list[Answer]:
    """The answer over all originals that have this control, and by category; not yet corrected."""
    (originals, rows), seed, independent = both, settings.seed, settings.independent
    asked = {row.item for row in rows}
    same = [row for row in originals if row.item in asked]
    measure, data = find(same[0].measure), same[0].data
    known = {
        each.group: each
        for each in score_estimates(measure, same, data=data, rng_seed=seed, independent=independent)
        if each.statistic == control.statistic
    }
    return [
        Answer(observation, control, known[each.group], each)
        for each in comparisons(measure, same, rows, data=data, rng_seed=seed, independent=independent)
        if each.statistic == control.statistic and each.n and each.group in known
    ]


def _corrected(answers: Sequence[Answer], *, whole: bool) -> list[Answer]:
    """The answers about all originals, or those by category, with Holm's correction over them."""
    chosen = [each for each in answers if (each.comparison.group == "all") == whole]
    adjusted = holm([each.comparison.p for each in chosen])
    return [
        replace(each, comparison=replace(each.comparison, p_holm=p)) for each, p in zip(chosen, adjusted, strict=True)
    ]


def _reaction_table(title: str, answers: Sequence[Answer]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for each in answers:
        change = each.comparison
        rows.append(
            (
                *(each.observation.names[0], change.measure, change.group.removeprefix("category=")),
                *(each.control.name, change.n, change.statistic, change.a_value, change.b_value),
                *(change.difference, change.p_holm),
                *(each.control.predicts, each.reaction),
            )
        )
    columns = ("model", "measure", "pairs about", "control", "originals", "statistic", "original", "with control")
    return Table(title, (*columns, "change", "p", "predicted preference", "reacts"), tuple(rows), NOTE)


def _plots(answers: Sequence[Answer], statistic: str) -> tuple[Plot, ...]:
    """The changes of one statistic by control, measure and model."""
    points = [
        (" · ".join((each.control.name, each.comparison.measure, each.observation.names[0])), change, "")
        for each in answers
        if each.control.statistic == statistic and (change := each.comparison.difference).has_interval
    ]
    axis = "change, points" if statistic == SHARE else "change, units of the measure"
    title = f"Reactions to the controls: {statistic}"
    alt = f"Change of the {statistic} from originals to control versions, by control and measure, with intervals."
    return charts.interval_plots(f"controls-{statistic}", title, alt, points, axis=axis, null=0.0)


def _summaries(answers: Sequence[Answer]) -> list[str]:
    """By model and measure: the controls by answer, and the categories that pass or fail any."""
    lines = []
    for key in dict.fromkeys((each.observation, each.comparison.measure) for each in answers):
        own = [each for each in answers if (each.observation, each.comparison.measure) == key]
        parts = []
        for group in dict.fromkeys(each.comparison.group for each in own):
            by_reaction = {
                reaction: [
                    each.control.name for each in own if (each.comparison.group, each.reaction) == (group, reaction)
                ]
                for reaction in (PREDICTED, REFUTED, UNKNOWN)
            }
            if group == "all":
                parts += [f"{reaction}: {', '.join(names)}" for reaction, names in by_reaction.items() if names]
            elif by_reaction[PREDICTED]:
                parts.append(f"{group.removeprefix('category=')} as predicted: {', '.join(by_reaction[PREDICTED])}")
        lines.append(f"{key[0].names[0]}, {key[1]}: {'; '.join(parts)}")
    return lines
