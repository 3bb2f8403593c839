"""`load_winogender`: does whom a pronoun means depend on its gender? (Rudinger et al. 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask.audit.session import Session
from unmask.data import riddles
from unmask.data.examples import Source, published_sources
from unmask.findings import Cell, Finding, Plot, Table, Value
from unmask.stats.bootstrap import generator
from unmask.stats.means import mean, mean_interval
from unmask.stats.regression import correlation
from unmask.tasks.coreference import AccuracyGap, CoreferenceAnswer, accuracy_gap, resolve_pronouns
from unmask.tasks.spec import Headline, Task, TaskObservation, TaskSettings

GENDERS = tuple(riddles.FORMS)


@dataclass(frozen=True, slots=True)
class WinogenderResult:
    """Every sentence answered, the gap, accuracy by pronoun, and the occupations' leanings."""

    answers: list[CoreferenceAnswer]
    gap: AccuracyGap
    accuracy: dict[str, tuple[Value, int]]  # by gender of the pronoun
    leaning: dict[str, float]  # by occupation: how much more `she` than `he` is taken to mean it
    women: dict[str, float]
    r: Value  # of the two


def sources(settings: TaskSettings) -> tuple[Source, ...]:
    """The published files."""
    return published_sources(riddles.WINOGENDER, data_dir=settings.data_dir)


def observe(subject: Session, settings: TaskSettings) -> WinogenderResult:
    """All 120 templates with three pronouns each; a limit counts templates."""
    templates, shares = sources(settings)
    women = riddles.share_of_women(shares)
    asked = riddles.load_winogender(templates, women)
    asked = asked[: None if settings.limit is None else len(GENDERS) * settings.limit]
    answers = resolve_pronouns(subject, asked)
    leaning = preference_by_occupation(answers)
    kept = [name for name in leaning if name in women]
    r = correlation(
        [np.array([women[name] for name in kept])],
        [np.array([leaning[name] for name in kept])],
        rng=generator(settings.seed, "correlation"),
    )
    return WinogenderResult(
        answers,
        accuracy_gap(answers, seed=settings.seed, label="all"),
        {gender: _accuracy(answers, gender, settings.seed) for gender in GENDERS},
        leaning,
        {name: women[name] for name in kept},
        Value(r.value, r.low, r.high, r.method),
    )


def preference_by_occupation(answers: Sequence[CoreferenceAnswer]) -> dict[str, float]:
    """Mean over an occupation's templates of score(she means it) − score(he means it).

    A score is the log-probability of the occupation less that of the participant.
    """
    found: dict[str, dict[str, list[float]]] = {}
    for one in answers:
        if one.reason:
            continue
        groups = one.riddle.groups
        towards = one.gold - one.other if groups["answer"] == "occupation" else one.other - one.gold
        found.setdefault(groups["occupation"], {}).setdefault(groups["gender"], []).append(towards)
    return {
        name: float(np.mean(by["female"]) - np.mean(by["male"]))
        for name, by in found.items()
        if {"female", "male"} <= by.keys()
    }


def conclude(seen: Sequence[TaskObservation], settings: TaskSettings) -> Finding:
    """Accuracy by pronoun, the gap, and how occupations lean against the share of women in them."""
    from unmask.findings import charts

    accuracy = Table(
        "Pronouns understood, by gender",
        ("model", *(f"{gender}, % right" for gender in GENDERS), "n of each"),
        tuple(_accuracy_row(one) for one in seen),
        'Answer: the likelier of the two people after `"he" refers to the`. 50% is guessing.',
        digits=1,
    )
    gaps = Table(
        "With and against the statistics of the occupation",
        (
            "model",
            "pro, % right",
            "anti, % right",
            "pro − anti",
            "p",
            "templates",
            "r with share of women",
            "occupations",
        ),
        tuple(_gap_row(one) for one in seen),
        "Pro: the pronoun's gender is the occupation's majority and it means the occupation, or neither. "
        "r: Pearson, over occupations, of how much more `she` than `he` is taken to mean the occupation "
        "with the "
        "share of women in it (US, 2015). p: McNemar, exact.",
    )
    rows = [
        {"x": one.result.women[name], "y": value, "label": name, "series": str(one.model["id"])}
        for one in seen
        for name, value in one.result.leaning.items()
        if name in one.result.women
    ]
    told = "Each dot an occupation: the share of women in it, and how much more `she` than `he` means it."
    drawn = (
        [
            Plot(
                "winogender",
                "Occupations",
                told,
                charts.scatter(rows, x="share of women", y="she − he, log-probability"),
            )
        ]
        if rows
        else []
    )
    return Finding(tuple(map(_answer, seen)), (accuracy, gaps), tuple(drawn), tuple(_notes(seen)))


def headline(found: WinogenderResult) -> Headline:
    """Pro − anti, in points."""
    return Headline("pro − anti accuracy, points", found.gap.gap, found.gap.n)


def _accuracy(answers: Sequence[CoreferenceAnswer], gender: str, seed: int) -> tuple[Value, int]:
    right = np.array(
        [100 * one.right for one in answers if one.riddle.groups["gender"] == gender and not one.reason]
    )
    interval = mean_interval(right, rng=generator(seed, gender))
    return Value(mean(right), interval.low, interval.high, interval.method), int(right.size)


def _accuracy_row(one: TaskObservation) -> tuple[Cell, ...]:
    by = one.result.accuracy
    return (one.model["id"], *(by[gender][0] for gender in GENDERS), by[GENDERS[0]][1])


def _gap_row(one: TaskObservation) -> tuple[Cell, ...]:
    found: WinogenderResult = one.result
    return (
        *(one.model["id"], found.gap.pro, found.gap.anti, found.gap.gap, found.gap.p, found.gap.n),
        *(found.r, len(found.women)),
    )


def _answer(one: TaskObservation) -> str:
    found: WinogenderResult = one.result
    return (
        f"{one.model['id']}: pro − anti {found.gap.gap.value:+.1f} points ({found.gap.gap.low:+.1f} to "
        f"{found.gap.gap.high:+.1f}), {found.gap.n} templates; r with the share of women "
        f"{found.r.value:+.2f} "
        f"({found.r.low:+.2f} to {found.r.high:+.2f}), {len(found.women)} occupations"
    )


def _notes(seen: Sequence[TaskObservation]) -> list[str]:
    return [
        f"{one.model['id']}: {lacking} sentences could not be asked"
        for one in seen
        if (lacking := sum(bool(each.reason) for each in one.result.answers))
    ]


WINOGENDER = Task(
    name="winogender",
    title="Winogender",
    question="Does whom a pronoun means depend on its gender and on who works in the occupation?",
    needs="lm",
    observe=observe,
    conclude=conclude,
    headline=headline,
    citation="rudinger-etal-2018-gender",
    sources=sources,
)
