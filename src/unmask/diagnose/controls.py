"""`controls`: does a score react to what it should, and not to what it should not? (after Pikuliak et al. 2023)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from unmask.core.errors import DataError, UnknownName
from unmask.core.estimate import Estimate
from unmask.core.statistic import LEVEL, statistic
from unmask.core.types import Dataset, Pair, Row
from unmask.data.pairs import ORIGINAL
from unmask.diagnose.scores import distinct_notes, find_originals, require, results
from unmask.diagnose.spec import Diagnosis, DiagnosisObservation, Observations, UnitOptions
from unmask.findings import Cell, Conclusion, Finding, Plot, Table
from unmask.measures import find

if TYPE_CHECKING:
    from unmask.audit.session import Session
    from unmask.stats.paired import Comparison

CONTROL = "control"  # the group of an item that names its control
SHARE, MEAN = "bias-score", "mean-difference"
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
class ControlReaction:
    """How the score of one measure reacts to one control, over all originals or those of a category."""

    observation: DiagnosisObservation
    control: Control
    original: Estimate
    comparison: Comparison  # from the originals to their control versions

    @property
    def estimate(self) -> Estimate:
        """The change from the originals to the control versions."""
        change = self.comparison
        measure, name = f"controls/{change.measure}", f"change-{self.control.name}"
        numbers = {"n": change.n, "p": change.p, "p_holm": change.p_holm}
        return self.observation.estimate(measure, name, change.difference, group=change.group, null=0.0, **numbers)

    @property
    def verdict(self) -> Reaction:
        """Whether the score reacts as predicted."""
        change, null = self.comparison, statistic(self.control.statistic).null or 0.0
        preference, is_preference = change.a_value - null, self.original.excludes(null)
        is_change = change.p_holm is not None and change.p_holm < LEVEL
        half, interval = abs(preference) / 2, change.difference
        if self.control.stays:
            if is_change or not is_preference:
                return REFUTED if is_change else UNKNOWN
            is_small = interval.has_interval and max(abs(change.low), abs(change.high)) < half
            return PREDICTED if is_small else UNKNOWN
        if is_change and change.change * preference < 0 and abs(change.change) >= half:
            return PREDICTED
        if is_change and change.change * preference > 0:
            return REFUTED
        return REFUTED if is_preference and interval.excludes(-preference) else UNKNOWN

    @property
    def record(self) -> dict[str, Cell]:
        """A row of the table."""
        change = self.comparison
        return {
            "model": self.observation.names[0],
            "measure": change.measure,
            "pairs about": change.group.removeprefix("category="),
            "control": self.control.name,
            "originals": change.n,
            "statistic": change.statistic,
            "original": change.a_value,
            "with control": change.b_value,
            "change": change.difference,
            "p": change.p_holm,
            "predicted preference": self.control.predicts,
            "reacts": self.verdict,
        }


def observe(session: Session, data: Dataset, options: UnitOptions) -> ControlRows:
    """Score the originals and their control versions."""
    versions, notes = control_versions(data)
    originals = {original.id: original for items in versions.values() for original, _ in items}
    items = (*originals.values(), *(item for items in versions.values() for _, item in items))
    whole = replace(data, card=replace(data.card, name=f"{data.card.name}, with originals"), items=items)
    measures = [each for each in session.pair_measures(whole, options.measures) if each.summary == "share"]
    by_measure = {}
    for name, scored in session.scores(whole, measures).items():
        rows = {item.row.item: item.row for item in scored}
        by_control = {
            control: [replace(rows[item.id], item=original.id, groups=original.groups) for original, item in pairs]
            for control, pairs in versions.items()
        }
        by_measure[name] = ([rows[item] for item in originals], by_control)
    return ControlRows(by_measure, notes)


def control_versions(data: Dataset) -> tuple[dict[str, list[tuple[Pair, Pair]]], tuple[str, ...]]:
    """By control, every original with its control version; and notes on what was left out.

    Originals are the pairs of the data without a control, or those of the datasets that their ids name.
    """
    named = [item for item in data.items if item.groups.get(CONTROL)]
    for item in named:
        if item.groups[CONTROL] not in CONTROLS:
            raise UnknownName("control", item.groups[CONTROL], CONTROLS)
    known = {item.id: item for item in data.items if not item.groups.get(CONTROL)}
    known |= {name.removeprefix(f"{data.card.name}/"): item for name, item in known.items()}
    known |= find_originals({item.groups.get(ORIGINAL, "") for item in named} - known.keys())
    versions: dict[str, list[tuple[Pair, Pair]]] = {name: [] for name in CONTROLS}
    pairs: set[tuple[str, str]] = set()
    for item in named:
        original, control = item.groups.get(ORIGINAL, ""), item.groups[CONTROL]
        if original in known and (original, control) not in pairs:
            pairs.add((original, control))
            versions[control].append((known[original], item))
    if not pairs:
        raise DataError(f"{data.card.name}: no control version has its original; expected ids such as nine-axes/0000")
    left = len(named) - len(pairs)
    notes = (f"{data.card.name}: {left:,} control versions without an original, or second ones, were left out",)
    return {name: items for name, items in versions.items() if items}, notes if left else ()


def conclude(observations: Observations, options: UnitOptions) -> Conclusion:
    """How every measure reacts to every control, overall and by category."""
    reactions = [each for found in results(observations, "measures") for each in _reactions(*found, options)]
    whole = [each for each in reactions if each.comparison.group == "all"]
    parts = [each for each in reactions if each.comparison.group != "all" and each.verdict != UNKNOWN]
    return Conclusion(
        Finding(
            tuple(_answers(reactions)),
            (
                Table.of("Reactions to the controls", (each.record for each in whole), NOTE),
                Table.of("Reactions by category", (each.record for each in parts), NOTE),
                Table.of(
                    "The controls",
                    (
                        {"control": name, "what is changed": control.changes, "predicted preference": control.predicts}
                        for name, control in CONTROLS.items()
                    ),
                    "Every version keeps the words for the groups of its original, except `exchanged`.",
                ),
            ),
            tuple(plot for name in (SHARE, MEAN) for plot in _plots(whole, name)),
            distinct_notes(observations),
        ),
        tuple(each.estimate for each in reactions),
        {
            "reactions": [
                {
                    "model": each.observation.names[0],
                    "measure": each.comparison.measure,
                    "group": each.comparison.group,
                    "control": each.control.name,
                    "reaction": each.verdict,
                }
                for each in reactions
            ]
        },
    )


def _reactions(
    observation: DiagnosisObservation,
    measure: str,
    rows: tuple[list[Row], Mapping[str, list[Row]]],
    options: UnitOptions,
) -> list[ControlReaction]:
    """The reactions of a measure over all originals, then by category, each with Holm's correction over them."""
    from unmask.stats import estimates
    from unmask.stats.corrections import holm
    from unmask.stats.paired import comparisons

    originals, by_control = rows
    how = {"data": originals[0].data, **options.sampling}
    reactions = []
    for name, versions in by_control.items():
        control, asked = CONTROLS[name], {row.item for row in versions}
        same = [row for row in originals if row.item in asked]
        known = {
            each.group: each for each in estimates(find(measure), same, **how) if each.statistic == control.statistic
        }
        reactions += [
            ControlReaction(observation, control, known[each.group], each)
            for each in comparisons(find(measure), same, versions, **how)
            if each.statistic == control.statistic and each.n and each.group in known
        ]
    corrected = []
    for is_whole in (True, False):
        family = [each for each in reactions if (each.comparison.group == "all") == is_whole]
        for each, p in zip(family, holm([each.comparison.p for each in family]), strict=True):
            corrected.append(replace(each, comparison=replace(each.comparison, p_holm=p)))
    return corrected


def _plots(reactions: Sequence[ControlReaction], name: str) -> tuple[Plot, ...]:
    """The changes of one statistic by control, measure and model."""
    from unmask.findings import charts

    points = [
        (" · ".join((each.control.name, each.comparison.measure, each.observation.names[0])), change, "")
        for each in reactions
        if each.control.statistic == name and (change := each.comparison.difference).has_interval
    ]
    axis = "change, points" if statistic(name).is_percent else "change, units of the measure"
    alt = f"Change of the {name} from originals to control versions, by control and measure, with intervals."
    title = f"Reactions to the controls: {name}"
    return charts.interval_plots(f"controls-{name}", title, alt, points, axis=axis, null=0.0)


def _answers(reactions: Sequence[ControlReaction]) -> Iterator[str]:
    """By model, measure and group: the controls by verdict; of categories those that pass."""
    by_group: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    for each in reactions:
        key = (each.observation.names[0], each.comparison.measure, each.comparison.group.removeprefix("category="))
        by_group.setdefault(key, {}).setdefault(each.verdict, []).append(each.control.name)
    for (model, measure, group), names in by_group.items():
        shown = [verdict for verdict in (PREDICTED, REFUTED, UNKNOWN) if verdict in names]
        if group != "all":
            shown = [verdict for verdict in shown if verdict == PREDICTED]
        parts = [f"{verdict}: {', '.join(names[verdict])}" for verdict in shown]
        if parts:
            yield f"{model}, {measure}, {group}: {'; '.join(parts)}"


DIAGNOSIS = Diagnosis(
    name="controls",
    title="Control versions of pairs",
    question="Does a score react to what it should, and not to what it should not?",
    observe=observe,
    conclude=conclude,
    order=15,
    unfit_reason=require(ORIGINAL, CONTROL),
    data=("controls",),
    citation="pikuliak-etal-2023-depth",
)
