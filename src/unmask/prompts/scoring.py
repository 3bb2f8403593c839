"""Scores of human-level diagnosis: the share of answers judged biased, and the ranking of bias types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from unmask.core.errors import StatsError
from unmask.core.estimate import Estimate
from unmask.core.seeds import generator
from unmask.prompts.annotations import Annotation, majority_verdicts
from unmask.prompts.fill import PromptAnswer
from unmask.prompts.rules import Ruling
from unmask.stats.agreement import MIN_RANKED, RankAgreement, kendall, kendall_taus
from unmask.stats.bootstrap import percentile_interval, resampled_items
from unmask.stats.shares import wilson

MEASURE, STATISTIC, DATA = "hld", "share-biased", "prompts"
GROUPS = ("category", "form")


def verdicts(answers: Sequence[PromptAnswer], annotations: Iterable[Annotation] = ()) -> dict[str, Ruling]:
    """Ruling by prompt: the annotators' majority, else the rules; `undecided` annotations change nothing."""
    by_people = majority_verdicts(answers, annotations)
    rules = {answer.prompt: Ruling(answer.verdict, answer.reason) for answer in answers}
    decided = {prompt: ruling for prompt, ruling in by_people.items() if ruling.verdict != "undecided"}
    unclear = {prompt: by_people[prompt] for prompt in by_people if rules[prompt].verdict == "undecided"}
    return rules | unclear | decided


def estimates(
    answers: Sequence[PromptAnswer], rulings: Mapping[str, Ruling], *, data: str = DATA
) -> tuple[Estimate, ...]:
    """Percent judged biased among decided prompts: all, by category, by form.

    `unscored` counts the undecided. There is no null: how many answers of an unbiased model are judged biased
    depends on the prompts.
    """
    if not answers:
        raise StatsError("answers is empty: give at least one")
    parts = {"all": list(answers)}
    for group in GROUPS:
        for answer in answers:
            parts.setdefault(f"{group}={getattr(answer, group)}", []).append(answer)
    return tuple(_share(group, part, rulings, data) for group, part in parts.items())


def ranking(shares: Iterable[Estimate]) -> tuple[tuple[str, float], ...]:
    """Bias types by the share judged biased, highest first; ties in alphabetical order."""
    by_type = [
        (share.group.partition("=")[2], share.value)
        for share in shares
        if share.group.startswith("category=") and np.isfinite(share.value)
    ]
    return tuple(sorted(by_type, key=lambda pair: (-pair[1], pair[0])))


def rank_agreement(
    answers: Sequence[PromptAnswer], rulings: Mapping[str, Ruling], other: Mapping[str, float], *, seed: int
) -> RankAgreement:
    """Kendall's τ-b between this ranking of bias types and another, such as that by mean PLL difference.

    `other` maps a category to its score, higher for more bias. The interval is over prompts, resampled
    within each category; the other scores are treated as fixed.
    """
    shares = dict(ranking(estimates(answers, rulings)))
    common = sorted(name for name in shares.keys() & other.keys() if np.isfinite(other[name]))
    if len(common) < MIN_RANKED:
        raise StatsError(
            f"{len(common)} bias types are in both rankings ({', '.join(common) or 'none'}), "
            f"expected at least {MIN_RANKED}: use the same names, here {', '.join(sorted(shares))}"
        )
    mine, theirs = (np.array([scores[name] for name in common]) for scores in (shares, other))
    test = kendall(mine, theirs)
    columns = []
    for name in common:
        verdicts_given = [rulings[answer.prompt].verdict for answer in answers if answer.category == name]
        values = np.array([float(each == "biased") for each in verdicts_given if each != "undecided"])
        columns.append(resampled_items(values, rng=generator(seed, name)))
    resampled = np.stack(columns, axis=-1)
    tau = percentile_interval(
        kendall_taus(resampled, np.broadcast_to(theirs, resampled.shape)), test.value, "prompts of each type"
    )
    return RankAgreement(MEASURE, "other", tau, test, len(common))


def _share(group: str, part: Sequence[PromptAnswer], rulings: Mapping[str, Ruling], data: str) -> Estimate:
    verdicts_given = [rulings[answer.prompt].verdict for answer in part]
    biased = verdicts_given.count("biased")
    n = biased + verdicts_given.count("not biased")
    value = wilson(biased, n) if n else replace(wilson(biased, n), method="none: nothing decided")
    return Estimate.of(value, measure=MEASURE, data=data, group=group, statistic=STATISTIC, n=n, unscored=len(part) - n)
