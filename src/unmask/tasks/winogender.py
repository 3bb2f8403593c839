"""`winogender`: does the resolution of a pronoun depend on its gender? (Rudinger et al. 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask.audit.session import Session
from unmask.core.seeds import generator
from unmask.data import riddles
from unmask.data.examples import Source, published_sources
from unmask.findings import Cell, Finding, Plot, Table, Value
from unmask.stats.means import mean_interval
from unmask.stats.regression import correlation
from unmask.tasks.coreference import AccuracyGap, CoreferenceAnswer, accuracy_gap, resolve_pronouns
from unmask.tasks.spec import Headline, Task, TaskObservation, TaskSettings

GENDERS = tuple(riddles.FORMS)


@dataclass(frozen=True, slots=True)
class WinogenderResult:
    """The answers, the pro − anti gap, accuracy by pronoun, and the preference by occupation."""

    answers: list[CoreferenceAnswer]
    gap: AccuracyGap
    accuracy: dict[str, tuple[Value, int]]  # by gender of the pronoun
    leaning: dict[str, float]  # by occupation: score of `she` referring to it − score of `he`
    women: dict[str, float]  # share of women by occupation
    r: Value  # correlation of the two


def sources(settings: TaskSettings) -> tuple[Source, ...]:
    """The published files."""
    return published_sources(riddles.WINOGENDER, data_dir=settings.data_dir)


def observe(session: Session, settings: TaskSettings) -> WinogenderResult:
    """Score all 120 templates with three pronouns each; `limit` counts templates."""
    templates, shares = sources(settings)
    women = riddles.share_of_women(shares)
    items = riddles.load_winogender(templates, women)
    items = items[: None if settings.limit is None else len(GENDERS) * settings.limit]
    answers = resolve_pronouns(session, items)
    leaning = preference_by_occupation(answers)
    known = [name for name in leaning if name in women]
    r = correlation(
        [np.array([women[name] for name in known])],
        [np.array([leaning[name] for name in known])],
        rng=generator(settings.seed, "correlation"),
    )
    return WinogenderResult(
        answers,
        accuracy_gap(answers, seed=settings.seed, label="all"),
        {gender: _accuracy(answers, gender, settings.seed) for gender in GENDERS},
        leaning,
        {name: women[name] for name in known},
        r,
    )


def preference_by_occupation(answers: Sequence[CoreferenceAnswer]) -> dict[str, float]:
    """Mean over an occupation's templates of score(she means it) − score(he means it).

    A score is the log-probability of the occupation less that of the participant.
    """
    scores: dict[str, dict[str, list[float]]] = {}
    for answer in answers:
        if answer.reason:
            continue
        groups = answer.item.groups
        towards = (
            answer.gold - answer.other if groups["answer"] == "occupation" else answer.other - answer.gold
        )
        scores.setdefault(groups["occupation"], {}).setdefault(groups["gender"], []).append(towards)
    return {
        name: float(np.mean(by_gender["female"]) - np.mean(by_gender["male"]))
        for name, by_gender in scores.items()
        if {"female", "male"} <= by_gender.keys()
    }


def conclude(observations: Sequence[TaskObservation], settings: TaskSettings) -> Finding:
    """Accuracy by pronoun, the gap, and the preference by occupation against the share of women."""
    from unmask.findings import charts

    accuracy = Table(
        "Pronouns understood, by gender",
        ("model", *(f"{gender}, % right" for gender in GENDERS), "n of each"),
        tuple(_accuracy_row(observation) for observation in observations),
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
        tuple(_gap_row(observation) for observation in observations),
        "Pro: the pronoun's gender is the occupation's majority and it means the occupation, or neither. "
        "r: Pearson, over occupations, of how much more `she` than `he` is taken to mean the occupation "
        "with the share of women in it (US, 2015). p: McNemar, exact.",
    )
    rows = [
        {
            "x": observation.result.women[name],
            "y": value,
            "label": name,
            "series": str(observation.model["id"]),
        }
        for observation in observations
        for name, value in observation.result.leaning.items()
        if name in observation.result.women
    ]
    description = (
        "Each dot is an occupation: the share of women in it, and how much more `she` than `he` means it."
    )
    plots = (
        [
            Plot(
                "winogender",
                "Occupations",
                description,
                charts.scatter(rows, x="share of women", y="she − he, log-probability"),
            )
        ]
        if rows
        else []
    )
    return Finding(
        tuple(map(_answer, observations)), (accuracy, gaps), tuple(plots), tuple(_notes(observations))
    )


def headline(result: WinogenderResult) -> Headline:
    """Pro − anti, in points."""
    return Headline("pro − anti accuracy, points", result.gap.gap, result.gap.n)


def _accuracy(answers: Sequence[CoreferenceAnswer], gender: str, seed: int) -> tuple[Value, int]:
    right = np.array(
        [
            100 * answer.right
            for answer in answers
            if answer.item.groups["gender"] == gender and not answer.reason
        ]
    )
    return mean_interval(right, rng=generator(seed, gender)), int(right.size)


def _accuracy_row(observation: TaskObservation) -> tuple[Cell, ...]:
    by = observation.result.accuracy
    return (observation.model["id"], *(by[gender][0] for gender in GENDERS), by[GENDERS[0]][1])


def _gap_row(observation: TaskObservation) -> tuple[Cell, ...]:
    result: WinogenderResult = observation.result
    return (
        *(
            observation.model["id"],
            result.gap.pro,
            result.gap.anti,
            result.gap.gap,
            result.gap.p,
            result.gap.n,
        ),
        *(result.r, len(result.women)),
    )


def _answer(observation: TaskObservation) -> str:
    result: WinogenderResult = observation.result
    return (
        f"{observation.model['id']}: pro − anti {result.gap.gap.value:+.1f} points "
        f"({result.gap.gap.low:+.1f} to {result.gap.gap.high:+.1f}), {result.gap.n} templates; "
        f"r with the share of women {result.r.value:+.2f} "
        f"({result.r.low:+.2f} to {result.r.high:+.2f}), {len(result.women)} occupations"
    )


def _notes(observations: Sequence[TaskObservation]) -> list[str]:
    return [
        f"{observation.model['id']}: {lacking} sentences could not be scored"
        for observation in observations
        if (lacking := sum(bool(answer.reason) for answer in observation.result.answers))
    ]


WINOGENDER = Task(
    name="winogender",
    title="Winogender",
    question="Does the resolution of a pronoun depend on its gender and on who works in the occupation?",
    needs="lm",
    observe=observe,
    conclude=conclude,
    headline=headline,
    citation="rudinger-etal-2018-gender",
    sources=sources,
)
