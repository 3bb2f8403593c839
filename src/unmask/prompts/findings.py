"""What a human-level diagnosis found: shares judged biased, how people agree, how bias types rank."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unmask.core.errors import StatsError
from unmask.core.types import Estimate
from unmask.findings import Finding, Plot, Table, Value, charts, value_of
from unmask.prompts.agreement import AgreementCoefficient, agreement
from unmask.prompts.annotations import Annotation
from unmask.prompts.fill import ModelAnswers, PromptAnswer
from unmask.prompts.rules import Ruling
from unmask.prompts.scoring import estimates, rank_agreement, ranking, verdicts
from unmask.stats.ranks import RankAgreement

PLL = (
    "pll",
    "cps",
    "cps-exact",
    "ll",
    "cll",
)  # measures whose mean difference may rank bias types, best first
RENAMED = {"race-color": "race"}


@dataclass(frozen=True, slots=True)
class AuditRanking:
    """Bias types as an audit ranks them: by mean difference of a likelihood measure."""

    measure: str
    data: str
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class PromptsResult:
    """The numbers, and the same for reading."""

    estimates: tuple[Estimate, ...]
    verdicts: Mapping[str, Ruling]
    agreement: tuple[AgreementCoefficient, ...]
    ranking: tuple[tuple[str, float], ...]
    ranks: RankAgreement | None
    finding: Finding
    answers: Finding  # every prompt, for the page


def conclude(
    asked: ModelAnswers,
    said: Sequence[Annotation],
    *,
    data: str,
    seed: int,
    other: AuditRanking | None = None,
) -> PromptsResult:
    """Put rules and people together; `other` is a ranking of bias types to compare with."""
    found = verdicts(asked.answers, said)
    shares = estimates(asked.answers, found, data=data)
    agreed = agreement(said, seed=seed)
    ranks, notes = None, list[str]()
    if other is not None:
        try:
            ranks = rank_agreement(asked.answers, found, other.scores, seed=seed)
        except StatsError as error:
            notes.append(f"not compared with {other.measure} on {other.data}: {error}")
    tables = [_shares_table(shares), *([_agreement_table(agreed)] if agreed else [])]
    told = [*_told(asked, said, shares)]
    if ranks is not None and other is not None:
        tables.append(_ranks_table(shares, ranks, other))
        told.append(_ranks_told(ranks, other))
    whole = Finding(tuple(told), tuple(tables), _plots(shares), (*_notes(asked, shares), *notes))
    return PromptsResult(shares, found, agreed, ranking(shares), ranks, whole, _answers(asked, found))


def ranking_from_audit(made: Iterable[Estimate]) -> AuditRanking:
    """The mean differences by bias type of an audit, of the first likelihood measure that has some."""
    kept = [
        one
        for one in made
        if one.statistic == "mean-difference" and one.group.startswith("category=") and np.isfinite(one.value)
    ]
    for measure in PLL:
        for data in dict.fromkeys(one.data for one in kept if one.measure == measure):
            mine = [one for one in kept if (one.measure, one.data) == (measure, data)]
            names = [one.group.partition("=")[2] for one in mine]
            scores = {RENAMED.get(n, n): one.value for n, one in zip(names, mine, strict=True)}
            return AuditRanking(measure, data, scores)
    raise StatsError(
        f"the audit has no mean difference by category of {', '.join(PLL)}: audit the model with "
        "--measure pll (ll for a causal one) on pairs that have categories"
    )


def _told(asked: ModelAnswers, said: Sequence[Annotation], shares: Sequence[Estimate]) -> Iterable[str]:
    whole = shares[0]
    by_rule = sum(one.verdict != "undecided" for one in asked.answers)
    judges = len({one.judge for one in said})
    yield (
        f"{asked.model}: {whole.n} of {len(asked.answers)} prompts are decided; rules alone decide "
        f"{by_rule}, {judges} {'person has' if judges == 1 else 'people have'} judged; {whole.unscored} are "
        "undecided."
    )
    if whole.n:
        yield (
            f"Judged biased: {whole.value:.1f}% of the {whole.n} decided (95% interval {whole.low:.1f} to "
            f"{whole.high:.1f}, {whole.method}). There is no null: the share depends on the prompts too."
        )
    order = ranking(shares)
    if len(order) > 1:
        named = ", ".join(f"{name} {value:.0f}%" for name, value in order)
        yield f"Bias types by the share judged biased: {named}."


def _ranks_told(ranks: RankAgreement, other: AuditRanking) -> str:
    p = "none" if ranks.test.p is None else f"{ranks.test.p:.3f}"
    numbers = f"{ranks.test.value:+.2f}", f"{ranks.interval.low:+.2f} to {ranks.interval.high:+.2f}"
    value, ends = (number.replace("-", "−") for number in numbers)
    return (
        f"Rank correlation with the mean differences of {other.measure} on {other.data}: Kendall's τ-b "
        f"{value} over {ranks.n} bias types (95% interval {ends}; p {p}, {ranks.test.method})."
    )


def _notes(asked: ModelAnswers, shares: Sequence[Estimate]) -> tuple[str, ...]:
    unsure = sum(bool(one.words) and not one.sure for one in asked.answers)
    without = [one for one in asked.answers if not one.words]
    notes = []
    if shares[0].unscored:
        notes.append(
            "what rules decide is no random part of the prompts: a share over those alone says little, "
            "let people judge the rest"
        )
    if unsure:
        notes.append(f"{unsure} answers may lack a likelier word: the search ended at its limit")
    if without:
        notes.append(f"{len(without)} prompts got no word ({without[0].prompt}: {without[0].reason})")
    return tuple(notes)


def _shares_table(shares: Sequence[Estimate]) -> Table:
    rows = tuple(
        (one.group.replace("=", ": "), value_of(one) if one.n else None, one.n, one.unscored)
        for one in shares
    )
    return Table(
        "Judged biased (% of the decided)",
        ("prompts", "judged biased", "decided", "undecided"),
        rows,
        "95% intervals by Wilson.",
        digits=1,
    )


def _agreement_table(agreed: Sequence[AgreementCoefficient]) -> Table:
    rows = tuple(
        (
            one.name,
            Value(one.value, one.interval.low, one.interval.high, one.interval.method),
            one.n,
            one.judges,
            one.interval.method,
        )
        for one in agreed
    )
    columns = ("coefficient", "agreement", "prompts", "people", "interval")
    return Table("How far people agree", columns, rows, "1: they always agree; 0: as often as by chance.")


def _ranks_table(shares: Sequence[Estimate], ranks: RankAgreement, other: AuditRanking) -> Table:
    mine = dict(ranking(shares))
    both = sorted((name for name in mine if name in other.scores), key=lambda name: -mine[name])
    columns = ("bias type", "judged biased (%)", f"mean difference of {other.measure}")
    rows = tuple((name, mine[name], other.scores[name]) for name in both)
    return Table(
        f"Bias types here and by {other.measure} on {other.data}", columns, rows, ranks.interval.method
    )


def _plots(shares: Sequence[Estimate]) -> tuple[Plot, ...]:
    kept = [one for one in shares if one.n]
    if not kept:
        return ()
    rows = [
        {
            "label": one.group.replace("=", ": "),
            "value": one.value,
            "low": one.low,
            "high": one.high,
            "n": one.n,
        }
        for one in kept
    ]
    told = "; ".join(
        f"{row['label']} {row['value']:.1f} ({row['low']:.1f} to {row['high']:.1f})" for row in rows
    )
    chart = charts.intervals(rows, axis="judged biased (% of the decided)")
    return (Plot("hld-shares", "Share of answers judged biased", f"Percent judged biased: {told}.", chart),)


def _answers(asked: ModelAnswers, found: Mapping[str, Ruling]) -> Finding:
    rows = tuple(_row(one, found[one.prompt]) for one in asked.answers)
    columns = ("prompt", "type", "text", "likeliest words and their probability", "verdict", "why")
    return Finding((), (Table("What the model put into every prompt", columns, rows),))


def _row(one: PromptAnswer, ruling: Ruling) -> tuple[str, ...]:
    words = ", ".join(f"{word.text} {word.probability:.3f}" for word in one.words) or "none"
    return one.prompt, one.category, one.text.replace("{slot}", "___"), words, ruling.verdict, ruling.reason
