"""Scores of human-level diagnosis: the share of answers judged biased, the ranking of bias types, agreement.

Agreement of annotators is corrected for chance. Cohen's κ (two annotators) and Fleiss' κ (any number) use prompts that
all annotators judged; Krippendorff's α (nominal) uses every prompt with at least two annotations. `undecided` is a
verdict like the others there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from statsmodels.stats.inter_rater import cohens_kappa

from unmask.core.errors import StatsError
from unmask.core.estimate import Estimate, Value
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.prompts.annotations import Annotation, latest_verdicts
from unmask.prompts.fill import PromptAnswer
from unmask.prompts.rules import VERDICTS, Ruling, Verdict
from unmask.stats.agreement import (
    MIN_RANKED,
    RankAgreement,
    alpha,
    fleiss,
    kendall,
    kendall_taus,
    quietly,
    resampled_agreement,
)
from unmask.stats.bootstrap import percentile_interval, resampled_items
from unmask.stats.shares import wilson

MEASURE, STATISTIC, DATA = "hld", "share-biased", "prompts"
GROUPS = ("category", "form")


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


# ------------------------------------------------------------------------------------- agreement

COHEN, FLEISS, KRIPPENDORFF = "Cohen's κ", "Fleiss' κ", "Krippendorff's α"


@dataclass(frozen=True, slots=True)
class AgreementCoefficient(Value):
    """One coefficient with percentiles over resampled prompts: 1 is full agreement, 0 agreement by chance."""

    name: str = ""
    n: int = 0  # prompts
    judges: int = 0  # annotators


def agreement(annotations: Iterable[Annotation], *, seed: int) -> tuple[AgreementCoefficient, ...]:
    """The coefficients these annotations allow; empty if no prompt has two annotators."""
    by_prompt = latest_verdicts(annotations)
    shared = [verdicts for verdicts in by_prompt.values() if len(verdicts) > 1]
    annotators = sorted({name for verdicts in by_prompt.values() for name in verdicts})
    if not shared:
        return ()
    by_all = [verdicts for verdicts in shared if len(verdicts) == len(annotators)]
    coefficients = []
    if by_all and len(annotators) == 2:
        pairs = np.array([[VERDICTS.index(verdicts[name]) for name in annotators] for verdicts in by_all])
        coefficients.append(_coefficient(COHEN, _cohen, pairs, len(annotators), seed))
    if by_all:
        coefficients.append(_coefficient(FLEISS, fleiss, _counts(by_all), len(annotators), seed))
    coefficients.append(_coefficient(KRIPPENDORFF, alpha, _counts(shared), len(annotators), seed))
    return tuple(coefficients)


def _coefficient(
    name: str, coefficient: Callable[[Floats], float], units: Floats, annotators: int, seed: int
) -> AgreementCoefficient:
    """A coefficient with its interval, or why it has none."""
    found = resampled_agreement(coefficient, units, rng=generator(seed, name), unit="prompts")
    return AgreementCoefficient(found.value, found.low, found.high, found.method, name, len(units), annotators)


def _cohen(pairs: Floats) -> float:
    square = np.zeros((len(VERDICTS), len(VERDICTS)))
    np.add.at(square, (pairs[:, 0].astype(int), pairs[:, 1].astype(int)), 1)
    return quietly(lambda: cohens_kappa(square, return_results=False))


def _counts(units: Iterable[dict[str, Verdict]]) -> Floats:
    """For each unit, the number of annotators who gave each verdict."""
    rows = [[list(verdicts.values()).count(verdict) for verdict in VERDICTS] for verdicts in units]
    return np.array(rows, dtype=np.float64)
