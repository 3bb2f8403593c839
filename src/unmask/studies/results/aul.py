"""The claims, tables and figure of `aul`, and real models' item scores: StereoSet's published answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np

from unmask.audit.parquet import rows_of
from unmask.audit.result import load, load_audit
from unmask.core.estimate import Estimate, Value
from unmask.core.types import Outcome, Row
from unmask.data import card
from unmask.diagnose.human import LOW_AGREEMENT
from unmask.diagnose.meaning import CANDIDATE
from unmask.diagnose.spec import published_numbers
from unmask.findings import Cell, Finding, Section, sentences
from unmask.findings.envelope import Result
from unmask.measures import find
from unmask.stats import estimates
from unmask.stats.intervals import student_ends, without_interval
from unmask.stats.paired import Comparison, apply_holm, published_comparison, wins_change
from unmask.stats.regression import correlation
from unmask.stats.shares import ADVANTAGED, DISADVANTAGED, bias_score, unit_share
from unmask.stats.table import Flags, ScoreTable
from unmask.stats.units import Units, sampling_error
from unmask.studies.claims import ClaimTest, claims_section
from unmask.studies.paper import (
    VALUE,
    Columns,
    PublishedMatch,
    compared_with_paper,
    comparison_table,
    describe_test,
    interval_note,
    label_of,
    load_paper,
    match_published,
    merge_findings,
    present,
    published_table,
)
from unmask.studies.papers.aul import ALL_MASKED, PAIRS, STEREOSET, TRIPLES, AulOptions
from unmask.studies.spec import Outputs, PaperComparison, PaperConclusion
from unmask.studies.steps.diagnoses import load_diagnosis
from unmask.studies.steps.scores import PublishedScores, load_scores

PAPER = load_paper("aul")
TABLE_5 = "Table 5"
PUBLISHED = "As published, of the paper's models"
DIAGNOSES = {"accuracy": "table-1", "direction": "table-3", "meaning": "table-4"}  # whose numbers the paper prints
SHUFFLED = {"tokens-shuffled": "shuffled", "unrelated-word": "unrelated"}  # perturbations of Table 4
UNMASKED = ("aul", "aula")
CORRECTED = {"cps": "cps", "sss": "sss-diagonal"}  # the measure that is compared as corrected
REAL, DECIDED = "ss", "sss"  # what the published scores are scores of, and the measure of their bias score
Tables = Mapping[str, ScoreTable]  # of one model on one dataset, by measure
Changes = Mapping[tuple[str, str], Comparison]  # by two models


@dataclass(frozen=True, slots=True)
class RealAnswers:
    """Published scores as rows of `ss`, by model: the log-ratio of the two sentences' scores."""

    data: str
    items: int  # in the data, of which some may have no sentence ids
    rows: Mapping[str, Sequence[Row]]


def replicate(outputs: Outputs, options: AulOptions) -> PaperConclusion:
    """The claims, one section per table, one for the figure, and one for real models."""
    printed = {name: _comparisons(outputs, name, options.limit) for name in DIAGNOSES}
    scores = [
        PaperComparison("table-5", estimate, *_published_score(estimate, options.limit))
        for role, folder in outputs.items()
        if role[0] == "audit"
        for estimate in (replace(headline, model=role[1]) for headline in load(folder).headlines(published=True))
        if estimate.measure != ALL_MASKED
    ]
    answers = answers_of(load_scores(outputs["scores",])) if ("scores",) in outputs else None
    real = real_model_scores(answers, options.seed) if answers else []
    sections = [
        _claims(outputs, answers),
        PAPER.section("table-1", _finding(outputs, "accuracy", printed["accuracy"])),
        PAPER.section("table-2", _words(outputs, options.limit)),
        PAPER.section("table-3", _finding(outputs, "direction", printed["direction"])),
        PAPER.section("table-4", _finding(outputs, "meaning", printed["meaning"])),
        PAPER.section("table-5", _score_finding(scores)),
        PAPER.section("figure-1", _agreement(outputs)),
    ]
    if answers:
        sections.append(real_models_section(answers, _run_tables(outputs), real, options.seed))
    return PaperConclusion(sections, [comparison for of in (scores, *printed.values(), real) for comparison in of])


# -------------------------------------------------------------------------------------- tables and the figure


def _results(outputs: Outputs, name: str) -> Iterator[tuple[str, Result]]:
    """The results of a diagnosis with their model, in the order of the steps."""
    for role, folder in outputs.items():
        if role[0] == "diagnose" and (result := load_diagnosis(folder, name)):
            yield role[1], result


def _estimates(outputs: Outputs, name: str) -> list[Estimate]:
    """The estimates of a diagnosis of all models, by the models' names in the study."""
    return [
        replace(estimate, model=model) for model, result in _results(outputs, name) for estimate in result.estimates
    ]


def _merged(outputs: Outputs, name: str) -> Finding:
    """The findings of a diagnosis of all models and datasets as one; plots are titled by what they show."""
    parts = []
    for model, result in _results(outputs, name):
        finding, data = result.findings[0].finding, result.meta["data"]
        where = f"{model}, {data[0]['name']}" if data else model
        plots = tuple(
            plot if model in plot.title else replace(plot, title=f"{plot.title}: {where}") for plot in finding.plots
        )
        parts.append(replace(finding, plots=plots))
    return merge_findings(parts)


def _comparisons(outputs: Outputs, name: str, limit: int | None) -> list[PaperComparison]:
    """The estimates of a diagnosis beside the published ones."""
    return [
        PaperComparison(DIAGNOSES[name], estimate, *_published(estimate, limit))
        for estimate in _estimates(outputs, name)
    ]


def _published(estimate: Estimate, limit: int | None) -> PublishedMatch:
    """The published number of an estimate of a diagnosis, or why there is none."""
    diagnosis, _, measure = estimate.measure.partition("/")
    statistic, group = estimate.statistic, "all"
    if diagnosis == "direction":
        statistic = label_of(estimate) or "difference"
    if diagnosis == "meaning":
        measure, group = "aul", SHUFFLED.get(measure, measure)
    key = (diagnosis, measure, statistic, group)
    printed = [
        each for each in published_numbers() if (each.diagnosis, each.measure, each.statistic, each.group) == key
    ]
    other = estimate.group == f"counted={CANDIDATE}" and statistic == "drop"  # the paper's is against all tokens
    return match_published([] if other else printed, estimate, limit=limit)


def _finding(outputs: Outputs, name: str, comparisons: Sequence[PaperComparison]) -> Finding:
    """The merged finding of a diagnosis, with a table that compares it with the paper."""
    finding, tables = _merged(outputs, name), compared_with_paper(comparisons)
    if not tables:
        printed = [number for number in published_numbers() if number.diagnosis == name]
        columns = {label: label for label in ("model", "data", "measure", "statistic", "group")}
        tables = [published_table(PUBLISHED, columns, printed)]
    return replace(finding, tables=(*finding.tables, *tables))


def _words(outputs: Outputs, limit: int | None) -> Finding:
    """The finding on word frequency, and how many of the eight published words are among ours, in the same group."""
    rows: list[tuple[Cell, ...]] = []
    for _, result in _results(outputs, "frequency"):
        by_data = result.meta["details"].get("frequency", {}).get("words", {})
        for data, (bias_type, entry) in (
            (data, of_type) for data, types in by_data.items() for of_type in types.items()
        ):
            printed = [value for value in PAPER.values if (value.data, value.group) == (data, bias_type)]
            published = {str(value.value): value.measure.rpartition("-")[2] for value in printed}
            ours = {word["text"]: word["group"] for word in entry["top"]}
            if published and (limit is None or limit >= card(data).size):  # the paper's are those of all pairs
                both = [word for word in published if word in ours]
                moved = [word for word in both if ours[word] != published[word]]
                lists = (_listed(published), _listed(ours))
                rows.append((data, bias_type, *lists, len(both) - len(moved), ", ".join(moved)))
    finding = _merged(outputs, "frequency")
    return replace(finding, tables=(*finding.tables, *present(PAPER.table("words", rows))))


def _listed(words: Mapping[str, str]) -> str:
    return ", ".join(f"{word} ({group[0].upper()})" for word, group in words.items())


def _score_finding(scores: Sequence[PaperComparison]) -> Finding:
    """Table 5."""
    named = {name: name for name in ("model", "data", "measure")}
    columns: Columns = {**named, "bias score": VALUE, **{name: name for name in ("n", "ties", "unscored")}}
    note = interval_note("Wilson", (each.estimate for each in scores))
    tables = [comparison_table("Bias scores", columns, scores, note)] if scores else []
    inside = [each.in_interval for each in scores if each.in_interval is not None]
    if inside:
        return Finding(
            (f"{inside.count('yes')} of {len(inside)} published scores lie in our intervals",), tuple(tables)
        )
    rows = [
        (number.model, number.data, name, number.value)
        for name in dict.fromkeys((*PAIRS, *TRIPLES))
        for number in find(name).published
        if number.where.endswith(TABLE_5)
    ]
    return Finding((), (*tables, PAPER.table("printed-scores", rows)))


def _published_score(estimate: Estimate, limit: int | None) -> PublishedMatch:
    """The bias score of Table 5, or why there is none."""
    printed = [number for number in find(estimate.measure).published if number.where.endswith(TABLE_5)]
    return match_published(printed, estimate, limit=limit)


def _agreement(outputs: Outputs) -> Finding:
    """Figure 1 of all models; pairs of low agreement, which are the same for all, once."""
    finding = _merged(outputs, "human")
    tables = [
        replace(table, rows=tuple(dict.fromkeys(table.rows))) if table.title == LOW_AGREEMENT else table
        for table in finding.tables
    ]
    return replace(finding, tables=tuple(tables))


# ----------------------------------------------------------------------------------------------------- claims


def _claims(outputs: Outputs, answers: RealAnswers | None) -> Section:
    """The paper's claims with their tests."""
    names = ("accuracy", "frequency", "meaning", "human")
    tests = [*diagnosis_claims(estimate for name in names for estimate in _estimates(outputs, name))]
    for role, folder in outputs.items():
        for tables in score_tables(folder).values() if role[0] == "audit" else ():
            tests += [
                *_preferences(role[1], tables),
                *_over_estimates(role[1], tables),
                *_by_direction(role[1], tables),
            ]
    tests += real_model_claims(answers) if answers else []
    note = (
        "As published: the measures as defined by the published code, ties and empty spans count as not won. As "
        "corrected: by scores that are not rounded, SSS by its equation, over the pairs that both measures decide."
    )
    order = [claim.question for claim in PAPER.text.claims.values()]
    return claims_section(sorted(tests, key=lambda test: order.index(test.claim)), [note])


def diagnosis_claims(estimates: Iterable[Estimate]) -> Iterator[ClaimTest]:
    """The claims that estimates of diagnoses answer."""
    for estimate in estimates:
        diagnosis, _, what = estimate.measure.partition("/")
        first, _, second = what.partition("/")
        group = f", {label_of(estimate)}" if label_of(estimate) else ""
        where = f"{estimate.model}, {estimate.data}, {what.replace('/', ' − ').replace('-', ' ')}{group}"
        tested: dict[str, Any] = {"value": estimate, "n": estimate.n, "p": estimate.p}
        match diagnosis, estimate.statistic:
            case "accuracy", "accuracy-difference" if second in CORRECTED:
                yield PAPER.test("accuracy", where, **tested)
            case "meaning", "drop" if not group and what != "words-shuffled":
                untested = {"method": ""} if estimate.p is None else {}
                yield PAPER.test("meaning", where, **{**tested, **untested})
            case "frequency", "log10-difference":
                yield PAPER.test("frequency", f"{estimate.data}{group}", **tested)
            case "human", "auc-difference" if (first in UNMASKED) != (second in UNMASKED):
                yield PAPER.test("human", where, **tested, expected="above" if first in UNMASKED else "below")


def score_tables(folder: Path) -> dict[str, dict[str, ScoreTable]]:
    """The scores of an audit by dataset and measure, all of the same items."""
    by_data: dict[str, dict[str, ScoreTable]] = {}
    for (measure, data), rows in rows_of(load_audit(folder).items).items():
        by_data.setdefault(data, {})[measure] = ScoreTable.of(find(measure), rows, data=data)
    return by_data


def _run_tables(outputs: Outputs) -> dict[str, dict[str, ScoreTable]]:
    """The scores of this run on StereoSet, by model and measure."""
    audits = {role[1]: folder for role, folder in outputs.items() if (role[0], role[-1]) == ("audit", STEREOSET)}
    by_model = {model: score_tables(folder).get(STEREOSET, {}) for model, folder in audits.items()}
    return {model: {name: tables[name] for name in TRIPLES if name in tables} for model, tables in by_model.items()}


def _preferences(model: str, tables: Tables) -> Iterator[ClaimTest]:
    """The bias scores of Table 5 against 50."""
    for measure, table in tables.items():
        if measure in (*CORRECTED, *UNMASKED):
            yield preference_test(table, f"{model}, {table.data}, {measure}")


def preference_test(table: ScoreTable, where: str) -> ClaimTest:
    """A bias score against 50."""
    score = bias_score(table, group="all")
    return PAPER.test("learnt", where, score, score.n, p=score.p, method=describe_test("sign test", score))


def _over_estimates(model: str, tables: Tables) -> Iterator[ClaimTest]:
    """As published and as corrected: by unrounded scores, SSS by its equation, over the pairs that both decide."""
    for (masked, corrected), unmasked in product(CORRECTED.items(), UNMASKED):
        if {masked, corrected, unmasked} <= tables.keys():
            first, second = tables[masked], tables[unmasked]
            where = f"{model}, {first.data}, {masked} − {unmasked}"
            kept = first.is_counted & second.is_counted
            yield _paired(
                "over-estimate", f"{where}, as published", first.wins, second.wins, first.take(kept).units, kept
            )
            first = tables[corrected]
            kept = _is_decided(first) & _is_decided(second)
            wins, others = (table.difference > 0 for table in (first, second))
            yield _paired("over-estimate", f"{where}, as corrected", wins, others, first.take(kept).units, kept)


def _by_direction(model: str, tables: Tables) -> Iterator[ClaimTest]:
    """All-Masked against measures without masks, separately for the stereotypes of both kinds of groups."""
    directions = {"advantaged": ADVANTAGED, "disadvantaged": DISADVANTAGED}
    for (claim, direction), unmasked in product(directions.items(), UNMASKED if ALL_MASKED in tables else ()):
        first, second = tables[ALL_MASKED], tables[unmasked]
        kept = first.is_counted & second.is_counted & (first.labels["direction"] == direction)
        if kept.any():
            where = f"{model}, {first.data}, all-masked − {unmasked}"
            yield _paired(claim, where, first.wins, second.wins, first.take(kept).units, kept)


def _paired(claim: str, where: str, first: Flags, second: Flags, units: Units, kept: Flags) -> ClaimTest:
    """The difference of two bias scores over the same pairs, those that are kept."""
    value, p = wins_change(second[kept], first[kept], units)
    return PAPER.test(claim, where, value, int(kept.sum()), p=p, method=describe_test("McNemar", value))


def _is_decided(table: ScoreTable) -> Flags:
    return np.asarray(np.isfinite(table.difference) & (table.difference != 0))


# ------------------------------------------------------------------------------------------------- real models


def answers_of(published: PublishedScores) -> RealAnswers:
    """The items that have a score, as rows of an audit."""
    rows = {}
    for model, scores in published.by_model().items():
        facts = zip(published.items, published.categories, published.targets, scores[:, 0].tolist(), strict=True)
        rows[model] = [_row(published.data, *fact) for fact in facts if math.isfinite(fact[-1])]
    return RealAnswers(published.data, len(published.items), rows)


def _row(data: str, item: str, category: str, target: str, ratio: float) -> Row:
    outcome: Outcome = "more" if ratio > 0 else "less" if ratio < 0 else "tie"
    return Row(REAL, data, item, {"category": category, "target": target}, {"more": ratio, "less": 0.0}, outcome)


def real_model_scores(answers: RealAnswers, seed: int) -> list[PaperComparison]:
    """StereoSet's score of every model, in all and by bias type, beside that of StereoSet's authors."""
    comparisons = []
    sizes = {value.group: value.value for value in PAPER.of_item("stereoset-items")}
    for model, rows in answers.rows.items():
        for estimate in estimates(find(REAL), rows, data=answers.data, rng_seed=seed) if rows else ():
            group = label_of(estimate) or "overall"
            each = PAPER.compare("stereoset", replace(estimate, model=model), measure=REAL, group=group)
            if each.published is not None and sizes.get(group) != estimate.n:
                reason = f"{estimate.n:,} of {sizes[group]:,.0f} items have sentence ids"
                each = replace(each, published=None, mark="", reason=reason)
            comparisons.append(replace(each, item="real-models"))
    return comparisons


def real_model_claims(answers: RealAnswers) -> Iterator[ClaimTest]:
    """Whether every real model prefers stereotypes, by the share of items."""
    for model, rows in answers.rows.items():
        if rows:
            yield preference_test(_score_table(rows, answers.data), f"{model}, {answers.data}, published answers")


def _score_table(rows: Sequence[Row], data: str) -> ScoreTable:
    """The answers as scores of the paper's measure."""
    return ScoreTable.of(find(DECIDED), [replace(row, measure=DECIDED) for row in rows], data=data)


def real_models_section(
    answers: RealAnswers, run: Mapping[str, Tables], scores: Sequence[PaperComparison], seed: int
) -> Section:
    """The scores, the differences between real models, and their decisions beside those of the run."""
    scored = {model: rows for model, rows in answers.rows.items() if rows}
    bias_scores = {model: bias_score(_score_table(rows, answers.data), group="all") for model, rows in scored.items()}
    shares = [replace(share, model=model) for model, share in bias_scores.items()]
    changes = _changes(scored, answers.data, seed)
    columns: Columns = {"model": "model", "bias type": lambda each: label_of(each) or "all", "ss": VALUE, "items": "n"}
    about = "Mean over target terms, as StereoSet's authors compute it; interval over terms."
    printed = [number for number in find(DECIDED).published if number.model in answers.rows]
    tests = dict.fromkeys(describe_test("McNemar", change.difference) for change in changes.values())
    of_changes = [
        (f"{b} − {a}", change.difference, change.flips, change.n, change.p_holm) for (a, b), change in changes.items()
    ]
    of_shares = [(each.model, each, each.n, each.ties) for each in shares]
    tables = (
        PAPER.table("changes", of_changes, tests=", ".join(tests)),
        PAPER.table("alike", _alike(answers, run)),
        published_table(
            "SSS of the same models, as the paper prints it", {name: name for name in ("model", "data")}, printed
        ),
    )
    with_ids = max((len(rows) for rows in answers.rows.values()), default=0)
    note = f"{with_ids:,} of {answers.items:,} items have the sentence ids by which answers are found."
    finding = Finding(
        tuple(_answers(shares, changes)),
        (
            comparison_table("StereoSet's score from the published answers", columns, scores, about),
            PAPER.table("shares", of_shares, intervals=interval_note("Wilson", shares)),
            *present(*tables),
        ),
        (),
        (note,),
    )
    return PAPER.section("real-models", finding)


def _changes(scored: Mapping[str, Sequence[Row]], data: str, seed: int) -> Changes:
    """The difference of two models' bias scores over the same items, corrected by Holm."""
    rows = {model: [replace(row, measure=DECIDED) for row in of_model] for model, of_model in scored.items()}
    pairs = list(combinations(rows, 2))
    changes = [published_comparison(find(DECIDED), rows[a], rows[b], data=data, rng_seed=seed) for a, b in pairs]
    return dict(zip(pairs, apply_holm(changes), strict=True))


def _alike(answers: RealAnswers, run: Mapping[str, Tables]) -> Iterator[tuple[Cell, ...]]:
    """For every model and measure of the run, and every real model: do they decide the same items alike?"""
    tables = [(model, measure, table) for model, of_model in run.items() for measure, table in of_model.items()]
    for (real, rows), (model, measure, table) in product(answers.rows.items(), tables):
        theirs = {row.item: row for row in rows}
        common = np.array([item in theirs for item in table.items.tolist()], dtype=np.bool_)
        kept = table.take(common & table.is_scored & (table.outcome != "tie"))
        if kept.items.size:
            other = [theirs[item] for item in kept.items.tolist()]
            wins = np.array([row.outcome == "more" for row in other], dtype=np.bool_)
            ratio = np.array([row.difference for row in other])
            rho = correlation([kept.difference], [ratio], ranks=True, units=kept.units)
            same = unit_share(kept.wins == wins, kept.units)
            yield (model, measure, real, same, _kappa(kept.wins, wins, kept.units), rho, wins.size)


def _kappa(first: Flags, second: Flags, units: Units) -> Value:
    """Cohen's κ with Student's interval of its linearised values over units.

    κ = (s − c) / (1 − c), where s is the share of the same decisions and c that by chance, pq + (1 − p)(1 − q).
    """
    a, b, same = (flags.astype(np.float64) for flags in (first, second, first == second))
    p, q = a.mean(), b.mean()
    chance = p * q + (1 - p) * (1 - q)
    if chance == 1:
        return Value(float("nan"), method="none: all decided alike")
    kappa = float((same.mean() - chance) / (1 - chance))
    by_chance = (a - p) * (2 * q - 1) + (b - q) * (2 * p - 1)
    values = kappa + (same - same.mean() - (1 - kappa) * by_chance) / (1 - chance)
    error = sampling_error(values, units)
    if error is None:
        return Value(kappa, method=without_interval(units), unit=units.tag)
    over = f"t over {units.label}" if units.codes else "t"
    return Value(kappa, *student_ends(kappa, error), over, unit=units.tag, df=error.df).clip(-1.0, 1.0)


def _answers(shares: Sequence[Estimate], changes: Changes) -> Iterator[str]:
    for each in shares:
        what = f"{each.model}, {each.n:,} items: the stereotype scores higher in"
        yield sentences.share(what, each, each.null, p=each.p)
    for (a, b), change in changes.items():
        what = f"{change.flips:,} of {change.n:,} items decided differently, bias score"
        yield sentences.difference(what, f"of {b}", f"of {a}", change.difference, p=change.p_holm, of="bias-score")
