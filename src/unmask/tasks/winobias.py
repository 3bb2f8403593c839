"""`winobias`: are anti-stereotyped pronouns resolved as well as pro-stereotyped ones? (Zhao et al. 2018)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unmask.core.errors import DataError
from unmask.core.estimate import Estimate
from unmask.data import riddles
from unmask.data.examples import Source, published_sources
from unmask.findings import Conclusion, Finding, sentences
from unmask.findings.table import table
from unmask.tasks.spec import Task, TaskObservation, TaskOptions
from unmask.tasks.tables import estimates_of

if TYPE_CHECKING:
    from unmask.audit.session import Session
    from unmask.tasks.coreference import AccuracyGap, CoreferenceAnswer, PronounPreference

KINDS = ("all", "type1", "type2")


@dataclass(frozen=True, slots=True)
class WinoBiasResult:
    """The answers by both methods, and the accuracies and rates computed from them."""

    answers: list[CoreferenceAnswer]
    preferences: list[PronounPreference]
    gaps: dict[str, AccuracyGap]  # by type of sentence
    preference_rates: dict[str, Estimate]
    warnings: tuple[str, ...]

    @property
    def estimates(self) -> list[Estimate]:
        """Pro − anti and the accuracies, then the share of stereotypical pronouns; over all and by type."""
        return [*(estimate for gap in self.gaps.values() for estimate in gap), *self.preference_rates.values()]


def sources(options: TaskOptions) -> tuple[Source, ...]:
    """The published files."""
    return published_sources(riddles.WINOBIAS, data_dir=options.data_dir)


def observe(session: Session, options: TaskOptions) -> WinoBiasResult:
    """Accuracy on both sides by sentence type, and which pronoun is likelier; `limit` counts sentence pairs."""
    from unmask.tasks.coreference import (
        accuracy_gap,
        preference_rate,
        pro_anti_pairs,
        pronoun_preferences,
        resolve_pronouns,
    )

    items, warnings = riddles.load_winobias(sources(options))
    if not (pairs := pro_anti_pairs(items)[: options.limit]):
        raise DataError(
            "the WinoBias files have no pair of a pro- and an anti-stereotyped sentence: get them again by "
            f"`unmask data get {riddles.WINOBIAS.name}`"
        )
    answers = resolve_pronouns(session, [item for pair in pairs for item in pair])
    preferences = pronoun_preferences(session, pairs)
    gaps, rates = {}, {}
    for kind in KINDS:
        resolved = [answer for answer in answers if kind in ("all", answer.item.groups["type"])]
        preferred = [preference for preference in preferences if kind in ("all", preference.pro.groups["type"])]
        if resolved:
            gaps[kind] = accuracy_gap(resolved, seed=options.seed, label=kind)
            rates[kind] = preference_rate(preferred, seed=options.seed, label=kind)
    return WinoBiasResult(answers, preferences, gaps, rates, warnings)


def conclude(observations: Sequence[TaskObservation], options: TaskOptions) -> Conclusion:
    """A table for each method, a plot, and notes on what could not be scored."""
    from unmask.findings import charts
    from unmask.tasks.coreference import PREFERENCE

    estimates = estimates_of(observations)
    accuracies = table(
        "Whom does the pronoun refer to?",
        [estimate for estimate in estimates if estimate.statistic != PREFERENCE],
        rows={"model": "model", "sentences": "type"},
        across="statistic",
        columns=("p", "n", "ties"),
        note='Answer: the likelier of the two people after `"he" refers to the`. 50% is guessing. Pro: the '
        "pronoun fits the statistics of the occupation it refers to. Both sides are the same sentences "
        "except for the pronoun. Intervals and p: over occupations. Type 1 needs world knowledge, type 2 only grammar.",
    )
    rates = table(
        "Which pronoun is likelier?",
        estimates_of(observations, PREFERENCE),
        rows={"model": "model", "sentences": "type"},
        columns={PREFERENCE: "value", "n": "n", "unscored": "unscored"},
        note="Masked models: the pronoun is masked. Causal models: the whole sentence is scored with either "
        "pronoun. 50% is no preference.",
    )
    plots = charts.interval_plots(
        "winobias",
        "Pronouns resolved correctly",
        "Percent of pronouns resolved correctly, with and against the stereotype, by type of sentence.",
        [
            (f"{observation.name} · {kind}", getattr(gap, side), side)
            for observation in observations
            for kind, gap in observation.result.gaps.items()
            for side in ("pro", "anti")
        ],
        axis="% right",
        null=50.0,
    )
    answers = [
        sentences.difference(f"{observation.name}: accuracy", "with the stereotype", "against it", gap)
        for observation in observations
        for gap in [observation.result.gaps["all"].gap]
    ]
    return Conclusion(
        Finding(tuple(answers), (accuracies, rates), plots, tuple(_notes(observations))), tuple(estimates)
    )


def _notes(observations: Sequence[TaskObservation]) -> Iterator[str]:
    """What could not be read or scored, and which models guess."""
    if warnings := sorted({line for observation in observations for line in observation.result.warnings}):
        yield f"{len(warnings)} lines of the files could not be read: {warnings[0]}"
    for observation in observations:
        result = observation.result
        if reasons := sorted({answer.reason for answer in result.answers if answer.reason}):
            yield f"{observation.name}: some items could not be scored: {'; '.join(reasons)}"
        if not any(side.excludes(50.0) for side in (result.gaps["all"].pro, result.gaps["all"].anti)):
            yield sentences.cannot_tell(f"{observation.name}: bias", "not better than guessing on either side")


WINOBIAS = Task(
    name="winobias",
    title="WinoBias",
    question="Is a pronoun resolved as well against a stereotype of an occupation as with it?",
    needs="lm",
    observe=observe,
    conclude=conclude,
    citation="zhao-etal-2018-gender",
    sources=sources,
)
