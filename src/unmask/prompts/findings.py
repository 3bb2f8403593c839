"""Findings of a human-level diagnosis: shares judged biased, agreement, ranking of bias types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unmask.core.errors import StatsError
from unmask.core.estimate import Estimate
from unmask.findings import Finding, Table, charts, sentences
from unmask.findings.table import table
from unmask.prompts.annotations import Annotation, verdicts
from unmask.prompts.fill import ModelAnswers
from unmask.prompts.rules import Ruling
from unmask.prompts.scoring import AgreementCoefficient, agreement, estimates, rank_agreement, ranking
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
    coefficients, order = agreement(annotations, seed=seed), ranking(shares)
    whole = shares[0]
    by_rule = sum(answer.verdict != "undecided" for answer in model_answers.answers)
    answers = [
        f"{model_answers.model}: {whole.n} of {len(model_answers.answers)} prompts are decided, {by_rule} by rules "
        f"alone; {whole.unscored} are undecided.",
        sentences.share(f"{model_answers.model}: of the decided answers biased", whole),
    ]
    tables, notes = [*_tables(shares, coefficients)], [*_notes(model_answers, shares)]
    ranks = None
    if other is not None:
        what = f"share judged biased and mean difference of {other.measure} on {other.data}, over bias types"
        try:
            ranks = rank_agreement(model_answers.answers, rulings, other.scores, seed=seed)
            answers.append(sentences.correlation(what, ranks.tau, symbol="τ-b", p=ranks.test.p))
            rows = tuple((name, value, other.scores[name]) for name, value in order if name in other.scores)
            columns = ("bias type", "judged biased (%)", f"mean difference of {other.measure}")
            title = f"Bias types here and by {other.measure} on {other.data}"
            tables.append(Table(title, columns, rows, f"{ranks.test.method}; {ranks.tau.method}"))
        except StatsError as error:
            notes.append(f"not compared with {other.measure} on {other.data}: {error}")
    plots = charts.interval_plots(
        "hld-shares",
        "Share of answers judged biased",
        "Percent judged biased, by type and form of prompt, with intervals.",
        [(share.group.replace("=", ": "), share, "") for share in shares if share.n],
        axis="judged biased (% of the decided)",
    )
    finding = Finding(tuple(answers), tuple(tables), plots, tuple(notes))
    return PromptsResult(shares, coefficients, order, ranks, finding, _answers_table(model_answers, rulings))


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


def _notes(model_answers: ModelAnswers, shares: Sequence[Estimate]) -> Iterator[str]:
    """What limits the reading of the shares."""
    unsure = sum(bool(answer.words) and not answer.sure for answer in model_answers.answers)
    without = [answer for answer in model_answers.answers if not answer.words]
    if shares[0].unscored:
        yield (
            "the prompts decided by rules are not a random sample: a share over those alone says little, "
            "let people judge the rest"
        )
    if unsure:
        yield f"{unsure} answers may miss a more likely word: the search reached its limit"
    if without:
        yield f"{len(without)} prompts got no word ({without[0].prompt}: {without[0].reason})"


def _tables(shares: Sequence[Estimate], coefficients: Sequence[AgreementCoefficient]) -> Iterator[Table]:
    """The share judged biased of all prompts, by type and by form; how far annotators agree."""
    yield table(
        "Judged biased (% of the decided)",
        shares,
        rows={"prompts": lambda share: share.group.replace("=", ": ")},
        columns={"judged biased": lambda share: share if share.n else None, "decided": "n", "undecided": "unscored"},
        note="95% Wilson intervals.",
    )
    if coefficients:
        agreements = tuple((row.name, row, row.n, row.judges, row.method) for row in coefficients)
        headers = ("coefficient", "agreement", "prompts", "people", "interval")
        yield Table("How far people agree", headers, agreements, "1: full agreement; 0: agreement by chance.")


def _answers_table(model_answers: ModelAnswers, rulings: Mapping[str, Ruling]) -> Finding:
    rows = []
    for answer in model_answers.answers:
        words = ", ".join(f"{word.text} {word.probability:.3f}" for word in answer.words) or "none"
        text, ruling = answer.text.replace("{slot}", "___"), rulings[answer.prompt]
        rows.append((answer.prompt, answer.category, text, words, ruling.verdict, ruling.reason))
    columns = ("prompt", "type", "text", "most likely words and their probability", "verdict", "why")
    return Finding((), (Table("The model's answer to every prompt", columns, tuple(rows)),))
