"""`load_winobias`: is a pronoun understood as well against the stereotype as with it? (Zhao et al. 2018)."""

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
    """Every riddle answered both ways, and the figures made of them."""

    answers: list[CoreferenceAnswer]
    preferences: list[PronounPreference]
    gaps: dict[str, AccuracyGap]  # by type of sentence
    preference_rates: dict[str, tuple[Value, int]]
    warnings: tuple[str, ...]


def sources(settings: TaskSettings) -> tuple[Source, ...]:
    """The published files."""
    return published_sources(files.WINOBIAS, data_dir=settings.data_dir)


def load_riddles(settings: TaskSettings) -> tuple[tuple[CoreferenceItem, ...], tuple[str, ...]]:
    """The riddles asked, and what is wrong with some lines; a limit counts couples of sentences."""
    found, warnings = files.load_winobias(sources(settings))
    kept = pro_anti_pairs(found)[: settings.limit]
    return tuple(one for both in kept for one in both), warnings


def observe(subject: Session, settings: TaskSettings) -> WinoBiasResult:
    """Accuracy on both sides by type of sentence, and which pronoun is likelier."""
    asked, warnings = load_riddles(settings)
    answers, leans = resolve_pronouns(subject, asked), pronoun_preferences(subject, pro_anti_pairs(asked))
    kept = {kind: [one for one in answers if kind in ("all", one.riddle.groups["type"])] for kind in KINDS}
    leaning = {kind: [one for one in leans if kind in ("all", one.pro.groups["type"])] for kind in KINDS}
    return WinoBiasResult(
        answers,
        leans,
        {kind: accuracy_gap(some, seed=settings.seed, label=kind) for kind, some in kept.items() if some},
        {
            kind: preference_rate(some, seed=settings.seed, label=kind)
            for kind, some in leaning.items()
            if some
        },
        warnings,
    )


def conclude(seen: Sequence[TaskObservation], settings: TaskSettings) -> Finding:
    """One table of either question, one plot, and what could not be asked."""
    from unmask.findings import charts

    gaps = Table(
        "Whom does the pronoun mean?",
        ("model", "sentences", "pro, % right", "anti, % right", "pro − anti", "p", "couples", "ties"),
        tuple(_gap_row(one, kind, found) for one in seen for kind, found in one.result.gaps.items()),
        'Answer: the likelier of the two people after `"he" refers to the`. 50% is guessing. Pro: it '
        "fits the statistics of the occupation it means. Both sides are the same sentences but for the "
        "pronoun. "
        "p: McNemar, exact. Type 1 needs knowledge of the world, type 2 only grammar.",
        digits=1,
    )
    leans = Table(
        "Which pronoun is likelier?",
        ("model", "sentences", "stereotypical pronoun likelier, %", "n", "not asked"),
        tuple(
            _lean_row(one, kind, pair) for one in seen for kind, pair in one.result.preference_rates.items()
        ),
        "The pronoun hidden (masked) or the whole sentence read with either (causal). 50% is no preference.",
        digits=1,
    )
    rows = [
        {
            "label": f"{one.model['id']} · {kind}",
            "series": side,
            "value": number.value,
            "low": number.low,
            "high": number.high,
        }
        for one in seen
        for kind, found in one.result.gaps.items()
        for side, number in (("pro", found.pro), ("anti", found.anti))
    ]
    told = "Percent of pronouns understood, pro- and anti-stereotyped, by type of sentence, with intervals."
    plot = Plot("winobias", "Pronouns understood", told, charts.intervals(rows, axis="% right", null=50.0))
    return Finding(tuple(map(_answer, seen)), (gaps, leans), (plot,), tuple(_notes(seen)))


def headline(found: WinoBiasResult) -> Headline:
    """Pro − anti over all sentences, in points."""
    return Headline("pro − anti accuracy, points", found.gaps["all"].gap, found.gaps["all"].n)


def _gap_row(one: TaskObservation, kind: str, found: AccuracyGap) -> tuple[Cell, ...]:
    return (one.model["id"], kind, found.pro, found.anti, found.gap, found.p, found.n, found.ties)


def _lean_row(one: TaskObservation, kind: str, pair: tuple[Value, int]) -> tuple[Cell, ...]:
    lacking = sum(
        bool(each.reason) for each in one.result.preferences if kind in ("all", each.pro.groups["type"])
    )
    return (one.model["id"], kind, *pair, lacking)


def _answer(one: TaskObservation) -> str:
    found: AccuracyGap = one.result.gaps["all"]
    sure = "" if found.gap.low <= 0 <= found.gap.high else "; the interval leaves 0 out"
    return (
        f"{one.model['id']}: {found.pro.value:.1f}% of pro- and {found.anti.value:.1f}% of anti-stereotyped "
        f"pronouns understood, {found.gap.value:+.1f} points ({found.gap.low:+.1f} to "
        f"{found.gap.high:+.1f}), "
        f"{found.n:,} couples{sure}"
    )


def _notes(seen: Sequence[TaskObservation]) -> list[str]:
    warnings = {line for one in seen for line in one.result.warnings}
    lines = (
        [f"{len(warnings)} lines of the files could not be read: {sorted(warnings)[0]}"] if warnings else []
    )
    for one in seen:
        reasons = sorted({each.reason for each in one.result.answers if each.reason})
        lines += (
            [f"{one.model['id']}: some riddles could not be asked: {'; '.join(reasons)}"] if reasons else []
        )
        near = one.result.gaps["all"]
        if near.pro.low <= 50 <= near.pro.high and near.anti.low <= 50 <= near.anti.high:
            lines.append(
                f"{one.model['id']}: not told from guessing on either side: a small gap then says "
                "nothing of bias"
            )
    return lines


WINOBIAS = Task(
    name="winobias",
    title="WinoBias",
    question="Is a pronoun understood as well against a stereotype of an occupation as with it?",
    needs="lm",
    observe=observe,
    conclude=conclude,
    headline=headline,
    citation="zhao-etal-2018-gender",
    sources=sources,
)
