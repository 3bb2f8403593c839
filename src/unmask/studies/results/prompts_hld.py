"""Human-level diagnosis of `prompts`: the share of prompts with a biased answer, and the order of bias types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from unmask.core.errors import StatsError
from unmask.core.estimate import Estimate
from unmask.findings import Cell, Finding, Table
from unmask.findings.numbers import number
from unmask.prompts.agreement import agreement
from unmask.prompts.annotations import Annotation, majority_verdicts
from unmask.prompts.fill import PromptAnswer
from unmask.prompts.scoring import estimates, rank_agreement, ranking, verdicts
from unmask.stats.agreement import RankAgreement
from unmask.studies.results.prompts_tables import Results, mean_differences

MIN_DECIDED = 10  # prompts of a bias type, for a place in a ranking
Annotations = Mapping[str, Sequence[Annotation]]  # by model
Answers = Mapping[str, Sequence[PromptAnswer]]  # by model


def asked_annotations(annotations: Annotations, answers: Answers) -> Annotations:
    """The annotations of prompts that the models were asked: with fewer prompts, fewer."""
    asked = {model: {answer.prompt for answer in given} for model, given in answers.items()}
    return {model: [each for each in annotations.get(model, ()) if each.prompt in asked[model]] for model in answers}


def biased_shares(answers: Answers, annotations: Annotations) -> list[Estimate]:
    """The share of biased answers of every model: all, by bias type, by form."""
    return [
        replace(estimate, model=model)
        for model, given in answers.items()
        for estimate in estimates(given, verdicts(given, annotations[model]))
    ]


def rank_agreements(
    answers: Answers, annotations: Annotations, benchmark: Results, seed: int
) -> tuple[dict[str, RankAgreement], list[str]]:
    """τ between the two rankings of bias types, and the models for which there is none; few decided rank nothing."""
    taus, notes = {}, []
    for model, given in answers.items():
        if model not in benchmark:
            continue
        rulings = verdicts(given, annotations[model])
        means = {name: estimate.value for name, estimate in mean_differences(benchmark[model])}
        shares = {each.group.partition("=")[2]: each.n for each in estimates(given, rulings)}
        few = [f"{name} {shares.get(name, 0)}" for name in means if shares.get(name, 0) < MIN_DECIDED]
        try:
            if few:
                raise StatsError(f"expected {MIN_DECIDED} decided prompts of every bias type, found {', '.join(few)}")
            taus[model] = rank_agreement(given, rulings, means, seed=seed)
        except StatsError as error:
            notes.append(f"{model}: human-level diagnosis is not ranked against Table V: {error}")
    return taus, notes


def hld_finding(
    answers: Answers, annotations: Annotations, shares: Sequence[Estimate], taus: Mapping[str, RankAgreement], seed: int
) -> Finding:
    """The shares, how far people agree, and every answer to judge."""
    rows: list[tuple[Cell, ...]] = []
    summary, agreements, judged = [], list[tuple[Cell, ...]](), list[tuple[Cell, ...]]()
    for model, given in answers.items():
        own = [share for share in shares if share.model == model]
        rows += [(model, _named(share), share, share.n, share.unscored) for share in own]
        summary.append(f"{model}: {own[0].n} of {len(given)} prompts are decided")
        if order := [name for name, _ in ranking([share for share in own if share.n >= MIN_DECIDED])]:
            listed = ", ".join(order)
            summary.append(f"{model}: bias types by share of biased answers, highest first: {listed}")
        if model in taus:
            tau = taus[model].tau
            ends = f"{number(tau.low)} to {number(tau.high)}"
            summary.append(f"{model}: Kendall's τ with the order of Table V is {number(tau.value)} ({ends})")
        for each in agreement(annotations[model], seed=seed):
            agreements.append((model, each.name, each, each.n, each.judges))
        by_people = majority_verdicts(given, annotations[model])
        for answer in given:
            words = ", ".join(f"{word.text} {word.probability:.3f}" for word in answer.words)
            person = by_people.get(answer.prompt)
            said = None if person is None else person.verdict
            text = answer.text.replace("{slot}", "___")
            judged.append((model, answer.prompt, answer.category, text, words, answer.verdict, None, said))
    tables = (
        Table(
            "Share of prompts with a biased answer, %",
            ("model", "prompts", "biased", "decided", "undecided"),
            tuple(rows),
            "Wilson intervals over decided prompts. Undecided: no listed word among the likeliest, and no verdict of "
            f"people. Bias types with fewer than {MIN_DECIDED} decided prompts are not put in order.",
        ),
        Table("How far people agree", ("model", "coefficient", "agreement", "prompts", "people"), tuple(agreements)),
        Table(
            "Every answer, to judge",
            ("model", "prompt", "bias type", "text", "likeliest words", "rule", "judge", "verdict"),
            tuple(judged),
            "Verdict: that of most people, empty where nobody judged.",
        ),
    )
    return Finding(tuple(summary), tuple(table for table in tables if table.rows))


def _named(share: Estimate) -> str:
    """Which prompts a share is of: all, a bias type, or a form."""
    return share.group.partition("=")[2] or share.group
