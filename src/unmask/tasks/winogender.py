"""`winogender`: does the resolution of a pronoun depend on its gender? (Rudinger et al. 2018).

With `--data winopron` on the corrected templates of Gautam et al. (2024), or on a file in their format.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from unmask.core.errors import DataError
from unmask.core.estimate import Estimate
from unmask.core.options import option
from unmask.data import riddles
from unmask.data.examples import Source, published_sources, user_source
from unmask.data.files import locate
from unmask.findings import Conclusion, Finding, sentences
from unmask.findings.table import table
from unmask.tasks.spec import Task, TaskObservation, TaskOptions
from unmask.tasks.tables import estimates_of, occupation_plots

if TYPE_CHECKING:
    from unmask.audit.session import Session
    from unmask.tasks.coreference import AccuracyGap, CoreferenceAnswer

PARTICIPANTS = ("named", riddles.SOMEONE)
PRONOUNS = ("gender=", "case=")  # the groups of pronouns
R = "r with share of women"


@dataclass(frozen=True)
class WinogenderOptions(TaskOptions):
    """The options of Winogender."""

    data: Path | None = option(None, "File of templates, or winopron.", shown="the published templates")


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

    @property
    def estimates(self) -> list[Estimate]:
        """Pro − anti and the accuracies by side, gender and case, and the correlation with the share of women."""
        gaps = [estimate for gap in self.gaps.values() for estimate in gap]
        return [*gaps, *self.accuracy.values(), self.r, *self.cases.values()]


def sources(options: WinogenderOptions) -> tuple[Source, Source]:
    """The templates, of Winogender, WinoPron or the user's file, and the shares of women published with Winogender."""
    templates, shares = riddles.WINOGENDER.files
    women = locate(riddles.WINOGENDER, shares, data_dir=options.data_dir)
    if options.data is None:
        return locate(riddles.WINOGENDER, templates, data_dir=options.data_dir), women
    if str(options.data) == riddles.WINOPRON.name:
        return published_sources(riddles.WINOPRON, data_dir=options.data_dir)[0], women
    return user_source(options.data), women


def load_items(options: WinogenderOptions) -> tuple[riddles.CoreferenceItem, ...]:
    """The sentences of the chosen templates; `limit` counts templates."""
    templates, shares = sources(options)
    load = riddles.load_winogender if options.data is None else riddles.load_winopron
    items = load(templates, riddles.share_of_women(shares))
    if not items:
        raise DataError(f"no template in {templates.name}: expected the published file")
    chosen = sorted({item.groups["template"] for item in items})[: options.limit]
    return tuple(item for item in items if item.groups["template"] in chosen)


def observe(session: Session, options: WinogenderOptions) -> WinogenderResult:
    """Resolve the pronoun of every sentence."""
    import numpy as np

    from unmask.stats.regression import correlation
    from unmask.tasks.coreference import accuracies, accuracy_gap, resolve_pronouns

    answers, seed = resolve_pronouns(session, load_items(options)), options.seed
    preference = preference_by_occupation(answers)
    women = riddles.share_of_women(sources(options)[1])
    known = {name: women[name] for name in preference if name in women}
    r = correlation([np.array(list(known.values()))], [np.array([preference[name] for name in known])])
    gaps = {"all": accuracy_gap(answers, seed=seed, label="all")}
    by_kind = {kind: [each for each in answers if each.item.groups["participant"] == kind] for kind in PARTICIPANTS}
    if all(by_kind.values()):
        gaps |= {kind: accuracy_gap(part, seed=seed, label=f"participant={kind}") for kind, part in by_kind.items()}
    return WinogenderResult(
        answers,
        gaps,
        accuracies(answers, "gender", seed=seed),
        accuracies(answers, "case", seed=seed),
        preference,
        known,
        Estimate.of(r, statistic=R, null=0.0, n=len(known)),
    )


def preference_by_occupation(answers: Sequence[CoreferenceAnswer]) -> dict[str, float]:
    """Mean over an occupation's templates of score(she means it) − score(he means it).

    A score is the log-probability of the occupation less that of the participant.
    """
    import numpy as np

    scores: dict[str, dict[str, list[float]]] = {}
    for answer in answers:
        groups = answer.item.groups
        if not answer.reason:
            sign = 1 if groups["answer"] == "occupation" else -1
            by_gender = scores.setdefault(groups["occupation"], {})
            by_gender.setdefault(groups["gender"], []).append(sign * (answer.gold - answer.other))
    return {
        name: float(np.mean(by_gender["female"]) - np.mean(by_gender["male"]))
        for name, by_gender in scores.items()
        if {"female", "male"} <= by_gender.keys()
    }


def conclude(observations: Sequence[TaskObservation], options: WinogenderOptions) -> Conclusion:
    """Accuracy by pronoun and case, the gap, and the preference by occupation against the share of women."""
    estimates = estimates_of(observations)
    gaps = table(
        "With and against the statistics of the occupation",
        [estimate for estimate in estimates if not estimate.group.startswith(PRONOUNS) and estimate.statistic != R],
        rows=("model", "participant"),
        across="statistic",
        columns=("p", "n"),
        note="Pro: the pronoun's gender is the occupation's majority and it means the occupation, or neither. Named: "
        "the other person is named by a noun; someone: by `someone`. Intervals and p: over occupations.",
    )
    by_pronoun = table(
        "Pronouns resolved correctly",
        [estimate for estimate in estimates if estimate.group.startswith(PRONOUNS)],
        rows={"model": "model", "pronoun": "group"},
        columns={"right, %": "value", "n": "n"},
        note='Answer: the likelier of the two people after `"he" refers to the`. 50% is guessing. Case of the pronoun: '
        "he, his, him. Intervals: over occupations.",
    )
    statistics = table(
        "Pronouns and the statistics of occupations",
        estimates_of(observations, R),
        rows=("model",),
        columns={R: "value", "occupations": "n"},
        note="r: Pearson, over occupations, of how much more `she` than `he` is taken to mean the occupation "
        "with the share of women in it (US, 2015).",
    )
    plots = occupation_plots(
        "winogender",
        "Occupations",
        "Each dot is an occupation: the share of women in it, how much more `she` than `he` means it.",
        "she − he, log-probability",
        [
            (observation.name, name, women, observation.result.preference[name])
            for observation in observations
            for name, women in observation.result.women.items()
        ],
    )
    answers = [
        sentence
        for observation in observations
        for gap, r in [(observation.result.gaps["all"].gap, observation.result.r)]
        for sentence in (
            sentences.difference(f"{observation.name}: accuracy", "with the stereotype", "against it", gap),
            sentences.correlation(f"{observation.name}: preference for she and share of women", r),
        )
    ]
    notes = [
        f"{observation.name}: {unscored} sentences could not be scored"
        for observation in observations
        if (unscored := sum(bool(answer.reason) for answer in observation.result.answers))
    ]
    return Conclusion(Finding(tuple(answers), (by_pronoun, gaps, statistics), plots, tuple(notes)), tuple(estimates))


WINOGENDER = Task(
    name="winogender",
    title="Winogender",
    question="Does the resolution of a pronoun depend on its gender and on who works in the occupation?",
    needs="lm",
    observe=observe,
    conclude=conclude,
    citation="rudinger-etal-2018-gender",
    options=WinogenderOptions,
    sources=sources,
)
