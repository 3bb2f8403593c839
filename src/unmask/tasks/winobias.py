"""`winobias`: are anti-stereotyped pronouns resolved as well as pro-stereotyped ones? (Zhao et al. 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unmask.audit.session import Session
from unmask.core.errors import DataError
from unmask.core.estimate import Estimate
from unmask.data import riddles as files
from unmask.data.examples import Source, published_sources
from unmask.findings import Finding
from unmask.findings.numbers import signed_value
from unmask.tasks.coreference import (
    AccuracyGap,
    CoreferenceAnswer,
    PronounPreference,
    accuracy_gap,
    preference_rate,
    pro_anti_pairs,
    pronoun_preferences,
    resolve_pronouns,
)
from unmask.tasks.spec import TaskObservation, TaskSettings
from unmask.tasks.tables import table_by_model

KINDS = ("all", "type1", "type2")


@dataclass(frozen=True, slots=True)
class WinoBiasResult:
    """The answers by both methods, and the accuracies and rates computed from them."""

    answers: list[CoreferenceAnswer]
    preferences: list[PronounPreference]
    gaps: dict[str, AccuracyGap]  # by type of sentence
    preference_rates: dict[str, Estimate]
    warnings: tuple[str, ...]


def sources(settings: TaskSettings) -> tuple[Source, ...]:
    """The published files."""
    return published_sources(files.WINOBIAS, data_dir=settings.data_dir)


def observe(session: Session, settings: TaskSettings) -> WinoBiasResult:
    """Accuracy on both sides by sentence type, and which pronoun is likelier; `limit` counts sentence pairs."""
    items, warnings = files.load_winobias(sources(settings))
    if not (pairs := pro_anti_pairs(items)[: settings.limit]):
        raise DataError(
            "the WinoBias files have no pair of a pro- and an anti-stereotyped sentence: get them again by "
            f"`unmask data get {files.WINOBIAS.name}`"
        )
    answers = resolve_pronouns(session, [item for pair in pairs for item in pair])
    preferences = pronoun_preferences(session, pairs)
    gaps, rates = {}, {}
    for kind in KINDS:
        resolved = [answer for answer in answers if kind in ("all", answer.item.groups["type"])]
        preferred = [each for each in preferences if kind in ("all", each.pro.groups["type"])]
        if resolved:
            gaps[kind] = accuracy_gap(resolved, seed=settings.seed, label=kind)
            rates[kind] = preference_rate(preferred, seed=settings.seed, label=kind)
    return WinoBiasResult(answers, preferences, gaps, rates, warnings)


def conclude(observations: Sequence[TaskObservation], settings: TaskSettings) -> Finding:
    """A table for each method, a plot, and notes on what could not be scored."""
    from unmask.findings import charts

    accuracies = table_by_model(
        observations,
        "Whom does the pronoun refer to?",
        ("sentences", "pro, % right", "anti, % right", "pro − anti", "p", "pairs", "ties"),
        lambda result: [
            (kind, each.pro, each.anti, each.gap, each.gap.p, each.gap.n, each.gap.ties)
            for kind, each in result.gaps.items()
        ],
        'Answer: the likelier of the two people after `"he" refers to the`. 50% is guessing. Pro: the '
        "pronoun fits the statistics of the occupation it refers to. Both sides are the same sentences "
        "except for the pronoun. Intervals and p: over occupations. Type 1 needs world knowledge, type 2 only grammar.",
        digits=1,
    )
    rates = table_by_model(
        observations,
        "Which pronoun is likelier?",
        ("sentences", "stereotypical pronoun likelier, %", "n", "unscored"),
        lambda result: [(kind, rate, rate.n, rate.unscored) for kind, rate in result.preference_rates.items()],
        "Masked models: the pronoun is masked. Causal models: the whole sentence is scored with either "
        "pronoun. 50% is no preference.",
        digits=1,
    )
    plots = charts.interval_plots(
        "winobias",
        "Pronouns resolved correctly",
        "Percent of pronouns resolved correctly, with and against the stereotype, by type of sentence.",
        [
            (f"{each.name} · {kind}", getattr(gap, side), side)
            for each in observations
            for kind, gap in each.result.gaps.items()
            for side in ("pro", "anti")
        ],
        axis="% right",
        null=50.0,
    )
    answers = [
        f"{each.name}: {gap.pro.value:.1f}% of pro- and {gap.anti.value:.1f}% of anti-stereotyped pronouns "
        f"resolved correctly, difference {signed_value(gap.gap, 1)} points, {gap.gap.n:,} pairs"
        + ("; the interval excludes 0" if gap.gap.excludes(0.0) else "")
        for each, gap in ((each, each.result.gaps["all"]) for each in observations)
    ]
    return Finding(tuple(answers), (accuracies, rates), plots, tuple(_notes(observations)))


def estimates(result: WinoBiasResult) -> list[Estimate]:
    """Pro − anti and the accuracies, then the share of stereotypical pronouns; over all and by type."""
    return [*(each for gap in result.gaps.values() for each in gap), *result.preference_rates.values()]


def _notes(observations: Sequence[TaskObservation]) -> list[str]:
    """What could not be read or scored, and which models guess."""
    warnings = sorted({line for observation in observations for line in observation.result.warnings})
    lines = [f"{len(warnings)} lines of the files could not be read: {warnings[0]}"] if warnings else []
    for name, result in ((each.name, each.result) for each in observations):
        reasons = sorted({answer.reason for answer in result.answers if answer.reason})
        lines += [f"{name}: some items could not be scored: {'; '.join(reasons)}"] if reasons else []
        if all(side.low <= 50 <= side.high for side in (result.gaps["all"].pro, result.gaps["all"].anti)):
            lines.append(f"{name}: not better than guessing on either side: a small gap then says nothing about bias")
    return lines
