"""`winobias`: are anti-stereotyped pronouns resolved as well as pro-stereotyped ones? (Zhao et al. 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unmask.audit.session import Session
from unmask.data import riddles as files
from unmask.data.examples import Source, published_sources
from unmask.data.riddles import CoreferenceItem
from unmask.findings import Cell, Finding, Plot, Table, Value
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
from unmask.tasks.spec import Headline, Task, TaskObservation, TaskSettings

KINDS = ("all", "type1", "type2")


@dataclass(frozen=True, slots=True)
class WinoBiasResult:
    """The answers by both methods, and the accuracies and rates computed from them."""

    answers: list[CoreferenceAnswer]
    preferences: list[PronounPreference]
    gaps: dict[str, AccuracyGap]  # by type of sentence
    preference_rates: dict[str, tuple[Value, int]]
    warnings: tuple[str, ...]


def sources(settings: TaskSettings) -> tuple[Source, ...]:
    """The published files."""
    return published_sources(files.WINOBIAS, data_dir=settings.data_dir)


def load_items(settings: TaskSettings) -> tuple[tuple[CoreferenceItem, ...], tuple[str, ...]]:
    """Load the items and the warnings about unreadable lines; `limit` counts sentence pairs."""
    items, warnings = files.load_winobias(sources(settings))
    pairs = pro_anti_pairs(items)[: settings.limit]
    return tuple(item for pair in pairs for item in pair), warnings


def observe(session: Session, settings: TaskSettings) -> WinoBiasResult:
    """Accuracy on both sides by sentence type, and which pronoun is likelier."""
    items, warnings = load_items(settings)
    answers = resolve_pronouns(session, items)
    preferences = pronoun_preferences(session, pro_anti_pairs(items))
    answers_by_kind = {
        kind: [answer for answer in answers if kind in ("all", answer.item.groups["type"])] for kind in KINDS
    }
    preferences_by_kind = {
        kind: [preference for preference in preferences if kind in ("all", preference.pro.groups["type"])]
        for kind in KINDS
    }
    return WinoBiasResult(
        answers,
        preferences,
        {
            kind: accuracy_gap(group, seed=settings.seed, label=kind)
            for kind, group in answers_by_kind.items()
            if group
        },
        {
            kind: preference_rate(group, seed=settings.seed, label=kind)
            for kind, group in preferences_by_kind.items()
            if group
        },
        warnings,
    )


def conclude(observations: Sequence[TaskObservation], settings: TaskSettings) -> Finding:
    """A table for each method, a plot, and notes on what could not be scored."""
    from unmask.findings import charts

    gaps = Table(
        "Whom does the pronoun mean?",
        ("model", "sentences", "pro, % right", "anti, % right", "pro − anti", "p", "couples", "ties"),
        tuple(
            _gap_row(observation, kind, gap)
            for observation in observations
            for kind, gap in observation.result.gaps.items()
        ),
        'Answer: the likelier of the two people after `"he" refers to the`. 50% is guessing. Pro: the '
        "pronoun fits the statistics of the occupation it refers to. Both sides are the same sentences "
        "except for the pronoun. p: McNemar, exact. Type 1 needs world knowledge, type 2 only grammar.",
        digits=1,
    )
    rates = Table(
        "Which pronoun is likelier?",
        ("model", "sentences", "stereotypical pronoun likelier, %", "n", "not asked"),
        tuple(
            _preference_row(observation, kind, pair)
            for observation in observations
            for kind, pair in observation.result.preference_rates.items()
        ),
        "Masked models: the pronoun is masked. Causal models: the whole sentence is scored with either "
        "pronoun. 50% is no preference.",
        digits=1,
    )
    rows = [
        {
            "label": f"{observation.model['id']} · {kind}",
            "series": side,
            "value": number.value,
            "low": number.low,
            "high": number.high,
        }
        for observation in observations
        for kind, gap in observation.result.gaps.items()
        for side, number in (("pro", gap.pro), ("anti", gap.anti))
    ]
    description = (
        "Percent of pronouns understood, pro- and anti-stereotyped, by type of sentence, with intervals."
    )
    plot = Plot(
        "winobias", "Pronouns understood", description, charts.intervals(rows, axis="% right", null=50.0)
    )
    return Finding(tuple(map(_answer, observations)), (gaps, rates), (plot,), tuple(_notes(observations)))


def headline(result: WinoBiasResult) -> Headline:
    """Pro − anti over all sentences, in points."""
    return Headline("pro − anti accuracy, points", result.gaps["all"].gap, result.gaps["all"].n)


def _gap_row(observation: TaskObservation, kind: str, gap: AccuracyGap) -> tuple[Cell, ...]:
    return (observation.model["id"], kind, gap.pro, gap.anti, gap.gap, gap.p, gap.n, gap.ties)


def _preference_row(observation: TaskObservation, kind: str, pair: tuple[Value, int]) -> tuple[Cell, ...]:
    lacking = sum(
        bool(preference.reason)
        for preference in observation.result.preferences
        if kind in ("all", preference.pro.groups["type"])
    )
    return (observation.model["id"], kind, *pair, lacking)


def _answer(observation: TaskObservation) -> str:
    gap: AccuracyGap = observation.result.gaps["all"]
    excludes_zero = "" if gap.gap.low <= 0 <= gap.gap.high else "; the interval excludes 0"
    return (
        f"{observation.model['id']}: {gap.pro.value:.1f}% of pro- and {gap.anti.value:.1f}% of "
        f"anti-stereotyped pronouns understood, {gap.gap.value:+.1f} points "
        f"({gap.gap.low:+.1f} to {gap.gap.high:+.1f}), {gap.n:,} pairs{excludes_zero}"
    )


def _notes(observations: Sequence[TaskObservation]) -> list[str]:
    warnings = {line for observation in observations for line in observation.result.warnings}
    lines = (
        [f"{len(warnings)} lines of the files could not be read: {sorted(warnings)[0]}"] if warnings else []
    )
    for observation in observations:
        reasons = sorted({answer.reason for answer in observation.result.answers if answer.reason})
        lines += (
            [f"{observation.model['id']}: some items could not be scored: {'; '.join(reasons)}"]
            if reasons
            else []
        )
        near = observation.result.gaps["all"]
        if near.pro.low <= 50 <= near.pro.high and near.anti.low <= 50 <= near.anti.high:
            lines.append(
                f"{observation.model['id']}: not better than guessing on either side: a small gap then says "
                "nothing about bias"
            )
    return lines


WINOBIAS = Task(
    name="winobias",
    title="WinoBias",
    question="Is a pronoun resolved as well against a stereotype of an occupation as with it?",
    needs="lm",
    observe=observe,
    conclude=conclude,
    headline=headline,
    citation="zhao-etal-2018-gender",
    sources=sources,
)
