"""`winogender`: does the resolution of a pronoun depend on its gender? (Rudinger et al. 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask.audit.session import Session
from unmask.core.errors import DataError
from unmask.core.estimate import Estimate
from unmask.core.seeds import generator
from unmask.data import riddles
from unmask.data.examples import Source, published_sources
from unmask.findings import Finding
from unmask.findings.numbers import signed_value
from unmask.stats.means import mean_interval
from unmask.stats.regression import correlation
from unmask.tasks.coreference import AccuracyGap, CoreferenceAnswer, accuracy_gap, resolve_pronouns
from unmask.tasks.spec import Task, TaskObservation, TaskSettings
from unmask.tasks.tables import occupation_plots, table_by_model

GENDERS = tuple(riddles.FORMS)


@dataclass(frozen=True, slots=True)
class WinogenderResult:
    """The answers, the pro − anti gap, accuracy by pronoun, and the preference by occupation."""

    answers: list[CoreferenceAnswer]
    gap: AccuracyGap
    accuracy: dict[str, Estimate]  # by gender of the pronoun
    preference: dict[str, float]  # by occupation: score of `she` referring to it − score of `he`
    women: dict[str, float]  # share of women by occupation
    r: Estimate  # correlation of the two


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
    known = {name: women[name] for name in preference if name in women}
    preferred = np.array([preference[name] for name in known])
    r = correlation([np.array(list(known.values()))], [preferred], rng=generator(settings.seed, "correlation"))
    return WinogenderResult(
        answers,
        accuracy_gap(answers, seed=settings.seed, label="all"),
        {gender: _accuracy(answers, gender, settings.seed) for gender in GENDERS},
        preference,
        known,
        Estimate.of(r, statistic="r with share of women", null=0.0, n=len(known)),
    )


def preference_by_occupation(answers: Sequence[CoreferenceAnswer]) -> dict[str, float]:
    """Mean over an occupation's templates of score(she means it) − score(he means it).

    A score is the log-probability of the occupation less that of the participant.
    """
    scores: dict[str, dict[str, list[float]]] = {}
    for answer in answers:
        if answer.reason:
            continue
        groups, towards = answer.item.groups, answer.gold - answer.other
        towards = towards if groups["answer"] == "occupation" else -towards
        scores.setdefault(groups["occupation"], {}).setdefault(groups["gender"], []).append(towards)
    return {
        name: float(np.mean(by_gender["female"]) - np.mean(by_gender["male"]))
        for name, by_gender in scores.items()
        if {"female", "male"} <= by_gender.keys()
    }


def conclude(observations: Sequence[TaskObservation], settings: TaskSettings) -> Finding:
    """Accuracy by pronoun, the gap, and the preference by occupation against the share of women."""
    results: dict[str, WinogenderResult] = {each.name: each.result for each in observations}
    accuracy = table_by_model(
        observations,
        "Pronouns resolved correctly, by gender",
        (*(f"{gender}, % right" for gender in GENDERS), "n of each"),
        lambda result: [(*result.accuracy.values(), result.accuracy[GENDERS[0]].n)],
        'Answer: the likelier of the two people after `"he" refers to the`. 50% is guessing.',
        digits=1,
    )
    gaps = table_by_model(
        observations,
        "With and against the statistics of the occupation",
        (*("pro, % right", "anti, % right", "pro − anti", "p", "templates"), *("r with share of women", "occupations")),
        lambda result: [(pro, anti, gap, gap.p, gap.n, result.r, result.r.n) for gap, pro, anti in (result.gap,)],
        "Pro: the pronoun's gender is the occupation's majority and it means the occupation, or neither. "
        "r: Pearson, over occupations, of how much more `she` than `he` is taken to mean the occupation "
        "with the share of women in it (US, 2015). p: McNemar, exact.",
        digits=2,
    )
    plots = occupation_plots(
        "winogender",
        "Occupations",
        "Each dot is an occupation: the share of women in it, how much more `she` than `he` means it.",
        "she − he, log-probability",
        [
            (model, name, each.women[name], value)
            for model, each in results.items()
            for name, value in each.preference.items()
            if name in each.women
        ],
    )
    answers = [
        f"{name}: pro − anti {signed_value(each.gap.gap, 1)} points, {each.gap.gap.n} templates; "
        f"r with the share of women {signed_value(each.r)}, {each.r.n} occupations"
        for name, each in results.items()
    ]
    notes = [
        f"{name}: {unscored} sentences could not be scored"
        for name, each in results.items()
        if (unscored := sum(bool(answer.reason) for answer in each.answers))
    ]
    return Finding(tuple(answers), (accuracy, gaps), plots, tuple(notes))


def estimates(result: WinogenderResult) -> list[Estimate]:
    """Pro − anti, the accuracies by side and by gender, and the correlation with the share of women."""
    return [*result.gap, *result.accuracy.values(), result.r]


def _accuracy(answers: Sequence[CoreferenceAnswer], gender: str, seed: int) -> Estimate:
    """Percent right with the pronouns of one gender."""
    scored = [each for each in answers if each.item.groups["gender"] == gender and not each.reason]
    right = mean_interval(np.array([100 * answer.right for answer in scored]), rng=generator(seed, gender))
    return Estimate.of(right, statistic="accuracy, %", group=f"gender={gender}", null=50.0, n=len(scored))


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
