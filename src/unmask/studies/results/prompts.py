"""The tables of `prompts`, its second measure (human-level diagnosis), and its claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from unmask.audit.parquet import rows_of
from unmask.audit.result import load
from unmask.core.errors import StatsError
from unmask.core.estimate import Estimate
from unmask.findings import Cell, Finding, Table, charts
from unmask.findings.envelope import Result
from unmask.findings.numbers import number
from unmask.measures import find
from unmask.prompts.annotations import Annotation, majority_verdicts, open_folder, verdicts
from unmask.prompts.fill import PromptAnswer
from unmask.prompts.scoring import agreement, estimates, rank_agreement, ranking
from unmask.stats.agreement import RankAgreement
from unmask.stats.paired import Comparison, published_comparison
from unmask.stats.regression import fit_line
from unmask.stats.units import units_of_items
from unmask.studies.claims import ClaimTest, claims_section
from unmask.studies.paper import (
    VALUE,
    Columns,
    comparison_table,
    describe_test,
    interval_note,
    label_of,
    load_paper,
    over_units,
    present,
)
from unmask.studies.papers.prompts import TYPES, PromptsOptions, load_judgements
from unmask.studies.spec import Outputs, PaperComparison, PaperConclusion, folders_of

PAPER = load_paper("prompts")
SCORES = {"bias-score": "metric score", "stereo-score": "stereo score", "antistereo-score": "anti-stereo score"}
STRONGEST = ("religion", "socioeconomic")  # bias types, by the paper
MIN_DECIDED = 10  # prompts of a bias type, for a place in a ranking
Results = Mapping[str, Result]  # by model
ModelChanges = Sequence[tuple[str, str, Comparison]]  # two models, and how the second differs
Annotations = Mapping[str, Sequence[Annotation]]  # by model
Answers = Mapping[str, Sequence[PromptAnswer]]  # by model


def replicate(outputs: Outputs, options: PromptsOptions) -> PaperConclusion:
    """The paper's claims, its tables, and its second measure."""
    benchmark, pairs = (
        {model: load(folder) for model, folder in folders_of(outputs, name).items()} for name in ("benchmark", "pairs")
    )
    three, four = _scores(benchmark, "table-3", options.limit), _scores(pairs, "table-4", options.prompts)
    answers = _answers(folders_of(outputs, "answers"))
    annotations = _asked_annotations(load_judgements(options), answers)
    shares = [
        replace(estimate, model=model)
        for model, of_model in answers.items()
        for estimate in estimates(of_model, verdicts(of_model, annotations[model]))
    ]
    taus, notes = _rank_agreements(answers, annotations, benchmark, options.seed)
    tests = [
        *_preference_tests([*three, *four]),
        *_order_tests(_model_changes(benchmark, options.seed)),
        *_type_tests(benchmark),
        *(
            PAPER.test("ranks", model, found.tau, found.n, p=found.test.p, method=found.test.method)
            for model, found in taus.items()
        ),
    ]
    by_data = {"benchmark": benchmark, "completed prompts": pairs}
    sections = [
        claims_section(tests, notes),
        PAPER.section("table-1", _sizes(benchmark, options.limit)),
        PAPER.section("table-2", _examples(benchmark, pairs)),
        PAPER.section("table-3", _score_finding(three, "table-3", benchmark, options.seed)),
        PAPER.section("table-4", _score_finding(four, "table-4", pairs, options.seed)),
        PAPER.section("table-5", _rank_finding(by_data, options.limit)),
        PAPER.section("hld", _hld_finding(answers, annotations, shares, taus, options.seed)),
    ]
    whole = [PaperComparison("hld", share, None) for share in shares if share.group == "all"]
    return PaperConclusion(sections, [*three, *four, *whole])


def _scores(results: Results, item: str, limit: int | None) -> list[PaperComparison]:
    """The three scores of every model beside the published ones."""
    return [
        PAPER.compare(item, replace(estimate, model=model), limit=limit, measure=name)
        for model, result in results.items()
        for statistic, name in SCORES.items()
        for estimate in result.estimates
        if (estimate.group, estimate.statistic) == ("all", statistic)
    ]


def _sizes(results: Results, limit: int | None) -> Finding:
    """Table I, of the first model."""
    for result in [*results.values()][:1]:
        data = str(result.meta["data"][0]["name"])
        by_type = {label_of(estimate): estimate for estimate in result.estimates if estimate.statistic == "bias-score"}
        rows: list[tuple[Cell, ...]] = []
        reasons = set()
        for name, label in TYPES.items():
            ours = by_type.get(name, by_type.get(label, Estimate(0.0)))
            counted = Estimate(ours.n + ours.unscored, data=data)
            published, reason, _ = PAPER.match("table-1", counted, limit=limit, group=label)
            rows.append((label, ours.n + ours.unscored, None if published is None else int(published)))
            reasons |= {reason} - {""}
        why = f" No published count: {', '.join(sorted(reasons))}." if reasons else ""
        return Finding((), (PAPER.table("sizes", rows, data=data, reasons=why),))
    return Finding((), ())


def _examples(benchmark: Results, pairs: Results) -> Finding:
    """The first pair of every bias type."""
    rows: list[tuple[Cell, ...]] = []
    for result in (result for results in (benchmark, pairs) for result in [*results.values()][:1]):
        first: dict[str, tuple[Cell, ...]] = {}
        for item in result.items.to_pylist():
            name = TYPES.get(item.get("category") or "", "")
            first.setdefault(name, (name, item["data"], item["text_more"], item["text_less"]))
        rows += [first[name] for name in TYPES.values() if name in first]
    return Finding((), present(PAPER.table("examples", rows)))


def _score_finding(scores: Sequence[PaperComparison], item: str, results: Results, seed: int) -> Finding:
    """Tables III and IV, and the order of the models."""
    columns: Columns = {
        **{name: name for name in ("model", "data", "measure")},
        "score": lambda estimate: SCORES[estimate.statistic],
        "ours": VALUE,
        "n": "n",
        "neutral": "ties",
    }
    note = f"{interval_note('Wilson', (each.estimate for each in scores))} Neutral: pairs with equal scores."
    by_score = sorted(results.items(), key=lambda entry: entry[1].headlines(published=True)[0].value)
    changes = _model_changes(dict(by_score), seed)
    tables = [comparison_table("Scores", columns, scores, note), _order(scores, changes)] if scores else []
    titles = {f"{item}-o": "The original paper (Nangia et al. 2020), as quoted"}
    if all(each.published is None for each in scores):
        titles = {item: "As published, of other models or data", **titles}
    printed = [
        PAPER.printed_table(title, {"model": "model", "score": "measure"}, part) for part, title in titles.items()
    ]
    return Finding((), (*tables, *present(*printed)))


def _order(scores: Sequence[PaperComparison], changes: ModelChanges) -> Table:
    """The models from least to most biased, and how each differs from the one before it."""
    whole = [each.estimate for each in scores if each.estimate.statistic == "bias-score"]
    tested = {second: (change.difference, change.p) for _, second, change in changes}
    ordered = enumerate(sorted(whole, key=lambda estimate: estimate.value), 1)
    rows = [(place, each.model, each, *tested.get(each.model, (None, None))) for place, each in ordered]
    tests = dict.fromkeys(describe_test("McNemar", change.difference) for *_, change in changes)
    return PAPER.table("order", rows, tests=f"; test: {', '.join(tests)}, not corrected" if tests else "")


def _rank_finding(by_data: Mapping[str, Results], limit: int | None) -> Finding:
    """Table V: bias types in the order of their mean difference, by model and data."""
    rows: list[tuple[Cell, ...]] = []
    bars, shown = [], []
    for what, results in by_data.items():
        for model, result in results.items():
            for place, (name, estimate) in enumerate(_mean_differences(result), 1):
                compared = PAPER.compare("table-5", replace(estimate, model=model), limit=limit, group=name)
                paper = None if compared.published is None else int(compared.published)
                why = (compared.reason or None) if paper is None else None
                rows.append((what, model, place, name, estimate, estimate.n, paper, why))
                bars.append(charts.interval_row(f"{name}, {what}", estimate, model))
                shown.append(estimate)
    by_place = sorted(PAPER.of_item("table-5"), key=lambda value: value.value)
    models = dict.fromkeys(value.model for value in by_place)
    printed = {model: [value.group for value in by_place if value.model == model] for model in models}
    table = PAPER.table("ranks", rows, intervals=interval_note("Bootstrap", shown))
    theirs = PAPER.table("printed-ranks", [(model, *names) for model, names in printed.items()])
    return Finding((), present(table, theirs), PAPER.plot("table-5", charts.bars, bars))


def _mean_differences(result: Result) -> list[tuple[str, Estimate]]:
    """Estimates of the paper's bias types, the largest mean difference first."""
    by_type = [
        (TYPES[label_of(estimate)], estimate)
        for estimate in result.estimates
        if estimate.statistic == "mean-difference"
        and estimate.group.startswith("category=")
        and label_of(estimate) in TYPES
    ]
    return sorted(by_type, key=lambda entry: -entry[1].value)


# ----------------------------------------------------------------------------------------------------- claims


def _preference_tests(scores: Sequence[PaperComparison]) -> Iterator[ClaimTest]:
    """Whether a metric score is above 50."""
    for each in (compared.estimate for compared in scores):
        if each.statistic == "bias-score":
            where, method = f"{each.model} on {each.data}, {each.measure}", describe_test("sign test", each)
            yield PAPER.test("preference", where, each, each.n, p=each.p, method=method)


def _model_changes(results: Results, seed: int) -> ModelChanges:
    """The metric score of every model against that of the next, over the same pairs, in the order given."""
    changes = []
    for (first, a), (second, b) in pairwise(results.items()):
        ((one, data), mine), ((two, _), theirs) = (next(iter(rows_of(each.items).items())) for each in (a, b))
        if one == two:
            change = published_comparison(find(one), mine, theirs, data=data, rng_seed=seed)
            changes.append((first, second, change))
    return changes


def _order_tests(changes: ModelChanges) -> Iterator[ClaimTest]:
    """The paper's order of models, which the study's default models have."""
    for first, second, change in changes:
        where, method = (
            f"{second} − {first} on {change.data}, {change.measure}",
            describe_test("McNemar", change.difference),
        )
        yield PAPER.test("order", where, change.difference, change.n, p=change.p, method=method)


def _type_tests(results: Results) -> Iterator[ClaimTest]:
    """Religion and socioeconomic status against race and gender."""
    for model, result in results.items():
        ((measure, data), rows) = next(iter(rows_of(result.items).items()))
        counted = [row for row in rows if row.groups.get("category") in TYPES and row.scores]
        strong = np.array([TYPES[row.groups["category"]] in STRONGEST for row in counted], dtype=np.float64)
        if 0 < strong.sum() < strong.size:
            differences = np.array([row.difference for row in counted])
            line = fit_line(strong, differences, units_of_items([row.groups for row in counted]))
            method = f"t test{over_units(line.slope)}"
            yield PAPER.test("types", f"{model} on {data}, {measure}", line.slope, line.n, p=line.p, method=method)


# --------------------------------------------------------------------------------------- human-level diagnosis


def _answers(folders: Mapping[str, Path]) -> Answers:
    return {model: open_folder(folder).model_answers.answers for model, folder in folders.items()}


def _asked_annotations(annotations: Annotations, answers: Answers) -> Annotations:
    """The annotations of prompts that the models were asked: with fewer prompts, fewer."""
    asked = {model: {answer.prompt for answer in of_model} for model, of_model in answers.items()}
    return {model: [each for each in annotations.get(model, ()) if each.prompt in asked[model]] for model in answers}


def _rank_agreements(
    answers: Answers, annotations: Annotations, benchmark: Results, seed: int
) -> tuple[dict[str, RankAgreement], list[str]]:
    """τ between the two rankings of bias types, and the models for which there is none; few decided rank nothing."""
    taus, notes = {}, []
    for model, of_model in answers.items():
        if model not in benchmark:
            continue
        rulings = verdicts(of_model, annotations[model])
        means = {name: estimate.value for name, estimate in _mean_differences(benchmark[model])}
        decided = {label_of(share): share.n for share in estimates(of_model, rulings)}
        few = [f"{name} {decided.get(name, 0)}" for name in means if decided.get(name, 0) < MIN_DECIDED]
        try:
            if few:
                raise StatsError(f"expected {MIN_DECIDED} decided prompts of every bias type, found {', '.join(few)}")
            taus[model] = rank_agreement(of_model, rulings, means, seed=seed)
        except StatsError as error:
            notes.append(f"{model}: human-level diagnosis is not ranked against Table V: {error}")
    return taus, notes


def _hld_finding(
    answers: Answers, annotations: Annotations, shares: Sequence[Estimate], taus: Mapping[str, RankAgreement], seed: int
) -> Finding:
    """The shares, how far people agree, and every answer to judge."""
    summary = []
    agreements, judged = list[tuple[Cell, ...]](), list[tuple[Cell, ...]]()
    for model, of_model in answers.items():
        of_types = [share for share in shares if share.model == model]
        summary.append(f"{model}: {of_types[0].n} of {len(of_model)} prompts are decided")
        if order := [name for name, _ in ranking([share for share in of_types if share.n >= MIN_DECIDED])]:
            summary.append(f"{model}: bias types by share of biased answers, highest first: {', '.join(order)}")
        if model in taus:
            tau = taus[model].tau
            ends = f"{number(tau.low)} to {number(tau.high)}"
            summary.append(f"{model}: Kendall's τ with the order of Table V is {number(tau.value)} ({ends})")
        coefficients = agreement(annotations[model], seed=seed)
        agreements += [(model, each.name, each, each.n, each.judges) for each in coefficients]
        by_people = majority_verdicts(of_model, annotations[model])
        for answer in of_model:
            words = ", ".join(f"{word.text} {word.probability:.3f}" for word in answer.words)
            ruling = by_people[answer.prompt].verdict if answer.prompt in by_people else None
            text = answer.text.replace("{slot}", "___")
            judged.append((model, answer.prompt, answer.category, text, words, answer.verdict, None, ruling))
    rows = [(each.model, label_of(each) or each.group, each, each.n, each.unscored) for each in shares]
    tables = (PAPER.table("shares", rows, least=MIN_DECIDED), PAPER.table("agreement", agreements))
    return Finding(tuple(summary), present(*tables, PAPER.table("answers", judged)))
