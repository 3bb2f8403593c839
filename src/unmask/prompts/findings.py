"""Findings of a human-level diagnosis: shares judged biased, agreement, ranking of bias types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unmask.core.errors import StatsError
from unmask.core.estimate import Estimate
from unmask.findings import Finding, Plot, Table, charts
from unmask.findings.numbers import signed_number
from unmask.prompts.agreement import AgreementCoefficient, agreement
from unmask.prompts.annotations import Annotation
from unmask.prompts.fill import ModelAnswers
from unmask.prompts.rules import Ruling
from unmask.prompts.scoring import estimates, rank_agreement, ranking, verdicts
from unmask.stats.agreement import RankAgreement

PLL = ("pll", "cps", "cps-exact", "ll", "cll")  # measures that may rank bias types, in order of preference
RENAMED = {"race-color": "race"}


@dataclass(frozen=True, slots=True)
class AuditRanking:
    """Ranking of bias types in an audit, by mean difference of a likelihood measure."""

    measure: str
    data: str
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class PromptsResult:
    """The numbers, and their presentation as findings."""

    estimates: tuple[Estimate, ...]
    verdicts: Mapping[str, Ruling]
    agreement: tuple[AgreementCoefficient, ...]
    ranking: tuple[tuple[str, float], ...]
    ranks: RankAgreement | None
    finding: Finding
    answers: Finding  # every prompt, for the page


def conclude(
    model_answers: ModelAnswers,
    annotations: Sequence[Annotation],
    *,
    data: str,
    seed: int,
    other: AuditRanking | None = None,
) -> PromptsResult:
    """Combine rules and annotations; `other` is a ranking of bias types to compare with."""
    rulings = verdicts(model_answers.answers, annotations)
    shares = estimates(model_answers.answers, rulings, data=data)
    coefficients = agreement(annotations, seed=seed)
    ranks, notes = None, list[str]()
    if other is not None:
        try:
            ranks = rank_agreement(model_answers.answers, rulings, other.scores, seed=seed)
        except StatsError as error:
            notes.append(f"not compared with {other.measure} on {other.data}: {error}")
    tables = list(_tables(shares, coefficients))
    answers = [*_answers_text(model_answers, annotations, shares)]
    if ranks is not None and other is not None:
        tables.append(_ranks_table(shares, ranks, other))
        answers.append(_rank_answer(ranks, other))
    finding = Finding(tuple(answers), tuple(tables), _plots(shares), (*_notes(model_answers, shares), *notes))
    return PromptsResult(
        shares, rulings, coefficients, ranking(shares), ranks, finding, _answers_table(model_answers, rulings)
    )


def ranking_from_audit(audit_estimates: Iterable[Estimate]) -> AuditRanking:
    """Mean differences by bias type from an audit, for the first likelihood measure that has them."""
    kept = [
        row
        for row in audit_estimates
        if row.statistic == "mean-difference" and row.group.startswith("category=") and np.isfinite(row.value)
    ]
    for measure in PLL:
        for data in dict.fromkeys(row.data for row in kept if row.measure == measure):
            mine = [row for row in kept if (row.measure, row.data) == (measure, data)]
            names = [row.group.partition("=")[2] for row in mine]
            scores = {RENAMED.get(n, n): row.value for n, row in zip(names, mine, strict=True)}
            return AuditRanking(measure, data, scores)
    raise StatsError(
        f"the audit has no mean difference by category of {', '.join(PLL)}: audit the model with "
        "the measure pll (ll for a causal model) on pairs with categories"
    )


def _answers_text(
    model_answers: ModelAnswers, annotations: Sequence[Annotation], shares: Sequence[Estimate]
) -> Iterable[str]:
    whole = shares[0]
    by_rule = sum(answer.verdict != "undecided" for answer in model_answers.answers)
    annotators = len({annotation.judge for annotation in annotations})
    yield (
        f"{model_answers.model}: {whole.n} of {len(model_answers.answers)} prompts are decided; "
        f"rules alone decide {by_rule}, {annotators} {'person has' if annotators == 1 else 'people have'} "
        f"judged; {whole.unscored} are undecided."
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


def _rank_answer(ranks: RankAgreement, other: AuditRanking) -> str:
    p = "none" if ranks.test.p is None else f"{ranks.test.p:.3f}"
    value, low, high = map(signed_number, (ranks.tau.value, ranks.tau.low, ranks.tau.high))
    return (
        f"Rank correlation with the mean differences of {other.measure} on {other.data}: Kendall's τ-b "
        f"{value} over {ranks.n} bias types (95% interval {low} to {high}; p {p}, {ranks.test.method})."
    )


def _notes(model_answers: ModelAnswers, shares: Sequence[Estimate]) -> tuple[str, ...]:
    unsure = sum(bool(answer.words) and not answer.sure for answer in model_answers.answers)
    without = [answer for answer in model_answers.answers if not answer.words]
    notes = []
    if shares[0].unscored:
        notes.append(
            "the prompts decided by rules are not a random sample: a share over those alone says little, "
            "let people judge the rest"
        )
    if unsure:
        notes.append(f"{unsure} answers may miss a more likely word: the search reached its limit")
    if without:
        notes.append(f"{len(without)} prompts got no word ({without[0].prompt}: {without[0].reason})")
    return tuple(notes)


def _tables(shares: Sequence[Estimate], coefficients: Sequence[AgreementCoefficient]) -> Iterable[Table]:
    rows = tuple((row.group.replace("=", ": "), row if row.n else None, row.n, row.unscored) for row in shares)
    title, columns = "Judged biased (% of the decided)", ("prompts", "judged biased", "decided", "undecided")
    yield Table(title, columns, rows, "95% Wilson intervals.", digits=1)
    if coefficients:
        agreements = tuple((row.name, row, row.n, row.judges, row.method) for row in coefficients)
        headers = ("coefficient", "agreement", "prompts", "people", "interval")
        yield Table("How far people agree", headers, agreements, "1: full agreement; 0: agreement by chance.")


def _ranks_table(shares: Sequence[Estimate], ranks: RankAgreement, other: AuditRanking) -> Table:
    mine = dict(ranking(shares))
    both = sorted((name for name in mine if name in other.scores), key=lambda name: -mine[name])
    columns = ("bias type", "judged biased (%)", f"mean difference of {other.measure}")
    rows = tuple((name, mine[name], other.scores[name]) for name in both)
    return Table(f"Bias types here and by {other.measure} on {other.data}", columns, rows, ranks.tau.method)


def _plots(shares: Sequence[Estimate]) -> tuple[Plot, ...]:
    kept = [row for row in shares if row.n]
    if not kept:
        return ()
    rows = [charts.interval_row(row.group.replace("=", ": "), row) | {"n": row.n} for row in kept]
    shown = "{label} {value:.1f} ({low:.1f} to {high:.1f})"
    values = "; ".join(shown.format_map(row) for row in rows)
    chart = charts.intervals(rows, axis="judged biased (% of the decided)")
    return (Plot("hld-shares", "Share of answers judged biased", f"Percent judged biased: {values}.", chart),)


def _answers_table(model_answers: ModelAnswers, rulings: Mapping[str, Ruling]) -> Finding:
    rows = []
    for answer in model_answers.answers:
        words = ", ".join(f"{word.text} {word.probability:.3f}" for word in answer.words) or "none"
        text, ruling = answer.text.replace("{slot}", "___"), rulings[answer.prompt]
        rows.append((answer.prompt, answer.category, text, words, ruling.verdict, ruling.reason))
    columns = ("prompt", "type", "text", "most likely words and their probability", "verdict", "why")
    return Finding((), (Table("The model's answer to every prompt", columns, tuple(rows)),))
