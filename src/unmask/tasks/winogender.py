"""`winogender`: does the resolution of a pronoun depend on its gender? (Rudinger et al. 2018).

With `--data winopron` on the corrected templates of Gautam et al. (2024), or on a file in their format.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from unmask.audit.session import Session
from unmask.core.errors import DataError
from unmask.core.estimate import Estimate
from unmask.data import riddles
from unmask.data.examples import Source, published_sources, user_source
from unmask.findings import Finding
from unmask.findings.numbers import signed_value
from unmask.stats.regression import correlation
from unmask.tasks.coreference import (
    AccuracyGap,
    CoreferenceAnswer,
    accuracy,
    accuracy_gap,
    hit_counts,
    resolve_pronouns,
)
from unmask.tasks.spec import TaskObservation, TaskSettings
from unmask.tasks.tables import occupation_plots, table_by_model

GENDERS = tuple(riddles.FORMS)
PARTICIPANTS = ("named", riddles.SOMEONE)


@dataclass(frozen=True, slots=True)
class WinogenderResult:
    """The answers, the pro − anti gaps, accuracy by pronoun and case, and the preference by occupation."""

    answers: list[CoreferenceAnswer]
    gaps: dict[str, AccuracyGap]  # all, and by kind of participant if there are both
    accuracy: dict[str, Estimate]  # by gender of the pronoun
    cases: dict[str, Estimate]  # accuracy by grammatical case of the pronoun
    preference: dict[str, float]  # by occupation: score of `she` referring to it − score of `he`
    women: dict[str, float]  # share of women by occupation
    r: Estimate  # correlation of the two


def sources(settings: TaskSettings) -> tuple[Source, ...]:
    """The templates, of Winogender, WinoPron or the user's file, and the shares of women published with Winogender."""
    shares = replace(riddles.WINOGENDER, files=riddles.WINOGENDER.files[1:])
    return (_templates(settings), *published_sources(shares, data_dir=settings.data_dir))


def load_items(settings: TaskSettings) -> tuple[riddles.CoreferenceItem, ...]:
    """The sentences of the chosen templates; `limit` counts templates."""
    templates, shares = sources(settings)
    load = riddles.load_winogender if settings.data is None else riddles.load_winopron
    items = load(templates, riddles.share_of_women(shares))
    if not items:
        raise DataError(f"no template in {templates.name}: expected the published file")
    chosen = sorted({item.groups["template"] for item in items})[: settings.limit]
    return tuple(item for item in items if item.groups["template"] in chosen)


def observe(session: Session, settings: TaskSettings) -> WinogenderResult:
    """Resolve the pronoun of every sentence."""
    items, seed = load_items(settings), settings.seed
    answers = resolve_pronouns(session, items)
    preference = preference_by_occupation(answers)
    women = riddles.share_of_women(sources(settings)[1])
    known = {name: women[name] for name in preference if name in women}
    preferred = np.array([preference[name] for name in known])
    r = correlation([np.array(list(known.values()))], [preferred])
    gaps = {"all": accuracy_gap(answers, seed=seed, label="all")}
    parts = {kind: [each for each in answers if each.item.groups["participant"] == kind] for kind in PARTICIPANTS}
    if all(parts.values()):
        gaps |= {kind: accuracy_gap(part, seed=seed, label=f"participant={kind}") for kind, part in parts.items()}
    return WinogenderResult(
        answers,
        gaps,
        _accuracies(answers, "gender", seed),
        _accuracies(answers, "case", seed),
        preference,
        known,
        Estimate.of(r, statistic="r with share of women", null=0.0, n=len(known)),
    )


def _templates(settings: TaskSettings) -> Source:
    """The file of templates."""
    if settings.data is not None and str(settings.data) != riddles.WINOPRON.name:
        return user_source(settings.data)
    card = riddles.WINOGENDER if settings.data is None else riddles.WINOPRON
    return published_sources(replace(card, files=card.files[:1]), data_dir=settings.data_dir)[0]


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
    genders = list(dict.fromkeys(gender for each in results.values() for gender in each.accuracy))
    by_gender = table_by_model(
        observations,
        "Pronouns resolved correctly, by gender",
        (*(f"{gender}, % right" for gender in genders), "n of each"),
        lambda result: [(*result.accuracy.values(), result.accuracy[GENDERS[0]].n)],
        'Answer: the likelier of the two people after `"he" refers to the`. 50% is guessing. Intervals: over '
        "occupations.",
        digits=1,
    )
    gaps = table_by_model(
        observations,
        "With and against the statistics of the occupation",
        ("participant", "pro, % right", "anti, % right", "pro − anti", "p", "pairs"),
        lambda result: [(kind, gap.pro, gap.anti, gap.gap, gap.gap.p, gap.gap.n) for kind, gap in result.gaps.items()],
        "Pro: the pronoun's gender is the occupation's majority and it means the occupation, or neither. Named: the "
        "other person is named by a noun; someone: by `someone`. Intervals and p: over occupations.",
        digits=1,
    )
    others = table_by_model(
        observations,
        "By grammatical case, and the statistics of occupations",
        ("r with share of women", "occupations", *(f"{case}, % right" for case in riddles.CASES.values())),
        lambda result: [(result.r, result.r.n, *(result.cases.get(case) for case in riddles.CASES.values()))],
        "r: Pearson, over occupations, of how much more `she` than `he` is taken to mean the occupation "
        "with the share of women in it (US, 2015). Case of the pronoun: he, his, him.",
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
        f"{name}: pro − anti {signed_value(each.gaps['all'].gap, 1)} points, {each.gaps['all'].gap.n} pairs; "
        f"r with the share of women {signed_value(each.r)}, {each.r.n} occupations"
        for name, each in results.items()
    ]
    notes = [
        f"{name}: {unscored} sentences could not be scored"
        for name, each in results.items()
        if (unscored := sum(bool(answer.reason) for answer in each.answers))
    ]
    return Finding(tuple(answers), (by_gender, gaps, others), plots, tuple(notes))


def estimates(result: WinogenderResult) -> list[Estimate]:
    """Pro − anti and the accuracies by side, gender and case, and the correlation with the share of women."""
    gaps = [each for gap in result.gaps.values() for each in gap]
    return [*gaps, *result.accuracy.values(), result.r, *result.cases.values()]


def _accuracies(answers: Sequence[CoreferenceAnswer], group: str, seed: int) -> dict[str, Estimate]:
    """Percent right by a group of the sentences, with intervals over occupations."""
    scored = [each for each in answers if not each.reason]
    found = {}
    for name in dict.fromkeys(each.item.groups[group] for each in scored):
        part = [each for each in scored if each.item.groups[group] == name]
        value = accuracy(hit_counts(part), seed, name)
        found[name] = Estimate.of(value, statistic="accuracy, %", group=f"{group}={name}", null=50.0, n=len(part))
    return found
