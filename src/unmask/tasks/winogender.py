"""`winogender`: does the resolution of a pronoun depend on its gender? (Rudinger et al. 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask.audit.session import Session
from unmask.core.errors import DataError
from unmask.core.estimate import Estimate, Value
from unmask.core.seeds import generator
from unmask.data import riddles
from unmask.data.examples import Source, published_sources
from unmask.findings import Finding, Plot, Table
from unmask.findings.numbers import signed_value
from unmask.stats.means import mean_interval
from unmask.stats.regression import correlation
from unmask.tasks.coreference import (
    AccuracyGap,
    CoreferenceAnswer,
    accuracy_gap,
    gap_estimates,
    resolve_pronouns,
)
from unmask.tasks.spec import Task, TaskObservation, TaskSettings

GENDERS = tuple(riddles.FORMS)


@dataclass(frozen=True, slots=True)
class WinogenderResult:
    """The answers, the pro − anti gap, accuracy by pronoun, and the preference by occupation."""

    answers: list[CoreferenceAnswer]
    gap: AccuracyGap
    accuracy: dict[str, tuple[Value, int]]  # by gender of the pronoun
    preference: dict[str, float]  # by occupation: score of `she` referring to it − score of `he`
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
    if not items:
        raise DataError(f"no template in {templates.name}: expected the published file")
    answers = resolve_pronouns(session, items)
    preference = preference_by_occupation(answers)
    known = [name for name in preference if name in women]
    r = correlation(
        [np.array([women[name] for name in known])],
        [np.array([preference[name] for name in known])],
        rng=generator(settings.seed, "correlation"),
    )
    return WinogenderResult(
        answers,
        accuracy_gap(answers, seed=settings.seed, label="all"),
        {gender: _accuracy(answers, gender, settings.seed) for gender in GENDERS},
        preference,
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

    results: dict[str, WinogenderResult] = {each.name: each.result for each in observations}
    accuracy = Table(
        "Pronouns resolved correctly, by gender",
        ("model", *(f"{gender}, % right" for gender in GENDERS), "n of each"),
        tuple(
            (name, *(each.accuracy[gender][0] for gender in GENDERS), each.accuracy[GENDERS[0]][1])
            for name, each in results.items()
        ),
        'Answer: the likelier of the two people after `"he" refers to the`. 50% is guessing.',
        digits=1,
    )
    gaps = Table(
        "With and against the statistics of the occupation",
        (
            *("model", "pro, % right", "anti, % right", "pro − anti", "p", "templates"),
            *("r with share of women", "occupations"),
        ),
        tuple(
            (name, gap.pro, gap.anti, gap.gap, gap.p, gap.n, each.r, len(each.women))
            for name, each in results.items()
            for gap in (each.gap,)
        ),
        "Pro: the pronoun's gender is the occupation's majority and it means the occupation, or neither. "
        "r: Pearson, over occupations, of how much more `she` than `he` is taken to mean the occupation "
        "with the share of women in it (US, 2015). p: McNemar, exact.",
    )
    rows = [
        {"x": each.women[occupation], "y": value, "label": occupation, "series": name}
        for name, each in results.items()
        for occupation, value in each.preference.items()
        if occupation in each.women
    ]
    plot = (
        Plot(
            "winogender",
            "Occupations",
            "Each dot is an occupation: the share of women in it, how much more `she` than `he` means it.",
            charts.scatter(rows, x="share of women", y="she − he, log-probability"),
        )
        if rows
        else None
    )
    notes = tuple(
        f"{name}: {unscored} sentences could not be scored"
        for name, each in results.items()
        if (unscored := sum(bool(answer.reason) for answer in each.answers))
    )
    return Finding(tuple(map(_answer, observations)), (accuracy, gaps), (plot,) if plot else (), notes)


def estimates(result: WinogenderResult) -> list[Estimate]:
    """Pro − anti, the accuracies by side and by gender, and the correlation with the share of women."""
    return [
        *gap_estimates(result.gap),
        *(
            Estimate.of(value, statistic="accuracy, %", group=f"gender={gender}", null=50.0, n=n)
            for gender, (value, n) in result.accuracy.items()
        ),
        Estimate.of(result.r, statistic="r with share of women", null=0.0, n=len(result.women)),
    ]


def _accuracy(answers: Sequence[CoreferenceAnswer], gender: str, seed: int) -> tuple[Value, int]:
    """Percent right with the pronouns of one gender, and their number."""
    scored = [each for each in answers if each.item.groups["gender"] == gender and not each.reason]
    right = np.array([100 * answer.right for answer in scored])
    return mean_interval(right, rng=generator(seed, gender)), int(right.size)


def _answer(observation: TaskObservation) -> str:
    """The answer in one sentence."""
    result: WinogenderResult = observation.result
    return (
        f"{observation.name}: pro − anti {signed_value(result.gap.gap, 1)} points, {result.gap.n} templates; "
        f"r with the share of women {signed_value(result.r)}, {len(result.women)} occupations"
    )


WINOGENDER = Task(
    name="winogender",
    title="Winogender",
    question="Does the resolution of a pronoun depend on its gender and on who works in the occupation?",
    needs="lm",
    observe=observe,
    conclude=conclude,
    estimates=estimates,
    citation="rudinger-etal-2018-gender",
    sources=sources,
)
