"""Real models' item scores in `aul`: StereoSet's published answers, against each other and the models of the run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from unmask.core.estimate import Estimate, Value
from unmask.core.types import Outcome, Row
from unmask.findings import Cell, Finding, Section, Table
from unmask.measures import find
from unmask.stats import estimates
from unmask.stats.intervals import student_ends, without_interval
from unmask.stats.paired import Comparison, apply_holm, published_comparison
from unmask.stats.regression import correlation
from unmask.stats.shares import bias_score, unit_share
from unmask.stats.table import Flags, ScoreTable
from unmask.stats.units import Units, sampling_error
from unmask.studies import collect
from unmask.studies.claims import ClaimTest, describe_test
from unmask.studies.results.aul_claims import preference_test
from unmask.studies.spec import PaperComparison
from unmask.studies.steps.scores import PublishedScores

MEASURE = "ss"  # what the published scores are scores of
ITEM = "stereoset"  # of the published numbers
DECIDED = "sss"  # the measure whose bias score is the share of items
RunTables = Mapping[str, Mapping[str, ScoreTable]]  # by model of the run and measure, on the same data
Changes = Mapping[tuple[str, str], Comparison]  # by two models


@dataclass(frozen=True, slots=True)
class RealAnswers:
    """Published scores as rows of `ss`, by model: the log-ratio of the two sentences' scores."""

    data: str
    items: int  # in the data, of which some may have no sentence ids
    rows: Mapping[str, Sequence[Row]]


def answers_of(published: PublishedScores) -> RealAnswers:
    """The items that have a score, as rows of an audit."""
    rows = {}
    for model, scores in published.by_model().items():
        facts = zip(published.items, published.categories, published.targets, scores[:, 0].tolist(), strict=True)
        rows[model] = [_row(published.data, *fact) for fact in facts if math.isfinite(fact[-1])]
    return RealAnswers(published.data, len(published.items), rows)


def _row(data: str, item: str, category: str, target: str, ratio: float) -> Row:
    outcome: Outcome = "more" if ratio > 0 else "less" if ratio < 0 else "tie"
    groups = {"category": category, "target": target}
    return Row(MEASURE, data, item, groups, {"more": ratio, "less": 0.0}, outcome)


def real_model_scores(answers: RealAnswers, seed: int) -> list[PaperComparison]:
    """StereoSet's score of every model, in all and by bias type, beside that of StereoSet's authors."""
    found = []
    for model, rows in answers.rows.items():
        for estimate in estimates(find(MEASURE), rows, data=answers.data, rng_seed=seed) if rows else ():
            group = estimate.group.partition("=")[2] or "overall"
            ours = replace(estimate, model=model)
            size = collect.published_value("aul", f"{ITEM}-items", group=group)
            published, reason, _ = collect.find_published("aul", ITEM, ours, measure=MEASURE, group=group)
            if published is not None and size != ours.n:
                published, reason = None, f"{ours.n:,} of {size:,.0f} items have sentence ids"
            found.append(PaperComparison("real-models", ours, published, reason))
    return found


def real_model_claims(answers: RealAnswers) -> Iterator[ClaimTest]:
    """Whether every real model prefers stereotypes, by the share of items."""
    for model, rows in answers.rows.items():
        if rows:
            yield preference_test(_score_table(rows, answers.data), f"{model}, {answers.data}, published answers")


def real_models_section(answers: RealAnswers, run: RunTables, scores: Sequence[PaperComparison], seed: int) -> Section:
    """The scores, the differences between real models, and their decisions beside those of the run."""
    columns: collect.Columns = {"model": "model", "bias type": _bias_type, "ss": collect.VALUE, "items": "n"}
    about = "Mean over target terms, as StereoSet's authors compute it; interval over terms."
    tables = [collect.comparison_table("StereoSet's score from the published answers", columns, scores, about)]
    shares = [_bias_score(model, rows, answers.data) for model, rows in answers.rows.items() if rows]
    printed = [number for number in find(DECIDED).published if number.model in answers.rows]
    tables.append(_share_table(shares))
    changes = _changes(answers, seed)
    if changes:
        tables.append(_change_table(changes))
    alike = [*_alike(answers, run)]
    if alike:
        tables.append(_alike_table(alike))
    if printed:
        labels = {name: name for name in ("model", "data")}
        tables.append(collect.published_table("SSS of the same models, as the paper prints it", labels, printed))
    with_ids = max((len(rows) for rows in answers.rows.values()), default=0)
    note = f"{with_ids:,} of {answers.items:,} items have the sentence ids by which answers are found."
    return Section(
        "real-models",
        "Real models' item scores",
        "What published models answered on StereoSet, item by item: no model of this run is involved.",
        Finding(tuple(_answers(shares, changes)), tuple(tables), (), (note,)),
        "The answers are the files `code/answers` of StereoSet: the probability of the word at the blank (masked "
        "models) or of the sentence (gpt2). The paper's SSS of the same models differs in the tokens it reads.",
    )


def _bias_type(estimate: Estimate) -> Cell:
    return estimate.group.partition("=")[2] or "all"


def _bias_score(model: str, rows: Sequence[Row], data: str) -> Estimate:
    """The paper's bias score (eq. 6): the share of items, not the mean over target terms."""
    return replace(bias_score(_score_table(rows, data), group="all"), model=model)


def _score_table(rows: Sequence[Row], data: str) -> ScoreTable:
    """The answers as scores of the paper's measure."""
    return ScoreTable.of(find(DECIDED), [replace(row, measure=DECIDED) for row in rows], data=data)


def _share_table(shares: Sequence[Estimate]) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple((each.model, each, each.n, each.ties) for each in shares)
    note = "The paper's equation 6 over the same answers: 50 is no preference. "
    note += collect.interval_note("Wilson", shares)
    return Table(
        "Share of items in which the stereotype scores higher, %", ("model", "bias score", "items", "ties"), rows, note
    )


def _changes(answers: RealAnswers, seed: int) -> dict[tuple[str, str], Comparison]:
    """The difference of two models' bias scores over the same items, corrected by Holm."""
    rows = {model: [replace(row, measure=DECIDED) for row in given] for model, given in answers.rows.items() if given}
    pairs = list(combinations(rows, 2))
    changes = [
        published_comparison(find(DECIDED), rows[a], rows[b], data=answers.data, rng_seed=seed) for a, b in pairs
    ]
    return dict(zip(pairs, apply_holm(changes), strict=True))


def _change_table(changes: Changes) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (f"{b} − {a}", change.difference, change.flips, change.n, change.p_holm) for (a, b), change in changes.items()
    )
    columns = ("models", "difference of bias scores", "decided differently", "items", "p (Holm)")
    tests = dict.fromkeys(describe_test("McNemar", change.difference) for change in changes.values())
    note = f"Over the same items; test: {', '.join(tests)}."
    return Table("Differences between real models", columns, rows, note)


def _alike(answers: RealAnswers, run: RunTables) -> Iterator[tuple[Cell, ...]]:
    """For every model and measure of the run, and every real model: do they decide the same items alike?"""
    for real, rows in answers.rows.items():
        theirs = {row.item: row for row in rows}
        for model, tables in run.items():
            for measure, table in tables.items():
                common = np.array([item in theirs for item in table.items.tolist()], dtype=np.bool_)
                kept = table.take(common & table.is_scored & (table.outcome != "tie"))
                if not kept.items.size:
                    continue
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


def _alike_table(rows: Sequence[tuple[Cell, ...]]) -> Table:
    columns = ("model of the run", "measure", "real model", "same decision, %", "Cohen's κ", "Spearman's ρ", "items")
    note = (
        "κ: 0 is agreement by chance, 1 full agreement. ρ: of the differences of this run with the log-ratio of the "
        "published scores. Intervals are over target terms. For one model under both names it says how far the "
        "measures agree."
    )
    return Table("Item by item: this run and real models", columns, tuple(rows), note)


def _answers(shares: Sequence[Estimate], changes: Changes) -> Iterator[str]:
    for each in shares:
        yield (
            f"{each.model}: the stereotype scores higher in {each.value:.1f}% of {each.n:,} items "
            f"({each.low:.1f} to {each.high:.1f})"
        )
    for (a, b), change in changes.items():
        decided = change.p_holm is not None and change.p_holm < 0.05
        said = "differ in their bias score, and" if decided else "do not differ significantly in their bias score, but"
        yield f"{a} and {b} {said} decide {change.flips:,} of {change.n:,} items differently"
