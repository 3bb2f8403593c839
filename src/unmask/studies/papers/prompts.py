"""`prompts`: Exploring social bias through prompt learning (2023), Tables I and III to V, and HLD."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from unmask.audit.result import load
from unmask.core.errors import StatsError
from unmask.core.estimate import Estimate
from unmask.findings import Cell, Finding, Plot, Section, Table, charts
from unmask.findings.envelope import Result
from unmask.prompts.folder import open_folder
from unmask.prompts.scoring import rank_agreement, ranking, verdicts
from unmask.studies import collect
from unmask.studies.spec import Conclusion, Outputs, PaperComparison, Role, Step, Study, StudyOptions
from unmask.studies.steps import audits

TYPES = {"race-color": "race", "gender": "gender", "socioeconomic": "socioeconomic", "religion": "religion"}
# By statistic: its name in the paper.
SCORES = {"bias-score": "metric score", "stereo-score": "stereo score", "antistereo-score": "anti-stereo score"}
ROLES = ("benchmark", "prompts", "answers")
Results = Mapping[str, Result]  # by model
MASKED, CAUSAL = "cps", "cll"
CORPUS, OWN = "table-3", "table-4"


def plan(options: StudyOptions) -> dict[Role, Step]:
    """For every model: audits of the benchmark and of the filled prompts, and its answers to the prompts."""
    kind, limit = "unmask.studies.steps.prompts", options.settings["prompts"]
    prompt_pairs = Step.of("prompts as pairs", f"{kind}:FILLED", {"limit": limit}, data="prompts")
    steps: dict[Role, Step] = {}
    for model in options.models:
        measures = (CAUSAL if model.endswith(("-causal", "gpt2")) else MASKED,)
        common = {**options.scoring, "model": model, "shard": options.shard}
        steps["benchmark", model] = audits.step(model, options.data[0], measures, **common)
        steps["prompts", model] = audits.step(model, prompt_pairs, measures, **{**common, "limit": None})
        asked = {"limit": limit, "dtype": options.dtype}
        name = f"ask {model} the prompts"
        steps["answers", model] = Step.of(name, f"{kind}:ASKED", asked, model=model, data="prompts")
    return steps


def conclude(outputs: Outputs, options: StudyOptions) -> Conclusion:
    """The paper's tables, and its second measure."""
    folders = {name: {role[1]: path for role, path in outputs.items() if role[0] == name} for name in ROLES}
    benchmark, own = ({model: load(path) for model, path in folders[name].items()} for name in ROLES[:2])
    scores = {item: _comparisons(results, item) for item, results in ((CORPUS, benchmark), (OWN, own))}
    sections = [
        Section(
            "table-1", "Table I: the benchmark's pairs", "Pairs of the benchmark per bias type.", _sizes(benchmark)
        ),
        Section(
            "table-3",
            "Table III: scores on the benchmark",
            "Share of pairs in which the stereotyping sentence is likelier: all, and by direction.",
            _scores(scores[CORPUS], CORPUS),
            "Reasons for differences: published numbers are of bert-base-uncased, roberta-large and "
            "albert-xxlarge-v2, lower-cased by the original script for BERT and ALBERT. The original and "
            "its reproduction differ for RoBERTa: a misprint or another revision of the weights.",
        ),
        Section(
            "table-4",
            "Table IV: scores on the authors' prompts",
            "The same over prompts filled with a biased and with a fair word.",
            _scores(scores[OWN], OWN),
            "The paper's 100 prompts are not public and ours differ, so agreement is not expected. Its text "
            "swaps the numbers of BERT and RoBERTa relative to its Table IV; the table's are used.",
        ),
        Section(
            "table-5",
            "Table V: bias types in order",
            "Bias types by the mean difference in log-likelihood, in nats.",
            _ranks(benchmark),
            "Reasons for differences: the mean difference grows with sentence length, which differs between "
            "bias types.",
        ),
        Section(
            "hld",
            "Human-level diagnosis",
            "Share of prompts whose two likeliest words are biased, by the rules for clear cases.",
            _human_level_diagnosis(folders["answers"], benchmark, options.seed),
            "Only clear cases are decided here; `unmask prompts` lets annotators decide the rest. The paper "
            "states that this measure ranks bias types as Table V does, and prints no number for it.",
        ),
    ]
    shares = [
        PaperComparison("hld", replace(load(folder).estimates[0], model=model), None)
        for model, folder in folders["answers"].items()
    ]
    return Conclusion(sections, [*scores[CORPUS], *scores[OWN], *shares])


def _sizes(results: Results) -> Finding:
    if not results:
        return Finding((), ())
    first = next(iter(results.values()))
    by_type = {
        estimate.group.partition("=")[2]: estimate for estimate in first.estimates if estimate.statistic == "bias-score"
    }
    rows: list[tuple[Cell, ...]] = []
    for name, label in TYPES.items():
        ours = by_type.get(name) or by_type.get(label)
        n = ours.n + ours.unscored if ours else 0
        rows.append((label, n, int(collect.published_value("prompts", "table-1", group=label) or 0)))
    note = f"Pairs of {first.meta['data'][0]['name']}. Counts have no interval."
    return Finding((), (Table("Pairs by bias type", ("bias type", "pairs", "published"), tuple(rows), note),))


def _comparisons(results: Results, item: str) -> list[PaperComparison]:
    """The three scores of every model beside the published ones."""
    return [
        collect.compare("prompts", item, estimate, model, measure=SCORES[estimate.statistic])
        for model, result in results.items()
        for statistic in SCORES
        for estimate in result.estimates
        if (estimate.group, estimate.statistic) == ("all", statistic)
    ]


def _scores(scores: Sequence[PaperComparison], item: str) -> Finding:
    columns: collect.Columns = {
        "model": "model",
        "data": "data",
        "score": lambda estimate: SCORES[estimate.statistic],
        "ours": collect.itself,
        "n": "n",
        "neutral": "ties",
    }
    note = "Wilson intervals. Neutral: pairs with equal scores."
    tables = [collect.comparison_table("Scores", columns, scores, note)] if scores else []
    titles = {f"{item}-o": "The original paper (Nangia et al. 2020), as quoted"}
    if all(each.published is None for each in scores):
        titles = {item: "As published, of other models", **titles}
    for part, title in titles.items():
        printed = [cell for cell in collect.paper_values("prompts") if cell.item == part]
        tables += [collect.published_table(title, {"model": "model", "score": "measure"}, printed)] if printed else []
    return Finding((), tuple(tables))


def _ranks(results: Results) -> Finding:
    rows: list[tuple[Cell, ...]] = []
    bars = []
    for model, result in results.items():
        paper = {
            cell.group: int(float(cell.value))
            for cell in collect.paper_values("prompts")
            if cell.item == "table-5" and cell.model == collect.short_name(model)
        }
        for rank, (name, estimate) in enumerate(_mean_differences(result), 1):
            rows.append((model, rank, name, estimate, estimate.n, paper.get(name)))
            bars.append(charts.interval_row(name, estimate, model))
    published: dict[str, list[str]] = {}
    for cell in sorted(collect.paper_values("prompts"), key=lambda cell: cell.value):
        if cell.item == "table-5":
            published.setdefault(cell.model, []).append(cell.group)
    tables = [
        Table(
            "Bias types by mean difference",
            ("model", "place", "bias type", "mean difference", "n", "published place"),
            tuple(rows),
            "In nats; positive: the stereotyping sentence is likelier. Bootstrap intervals.",
        ),
        Table(
            "As published",
            ("model", "first", "second", "third", "fourth"),
            tuple((model, *names) for model, names in published.items()),
        ),
    ]
    alt = "Mean difference in log-likelihood between the two sentences of a pair, by bias type and model."
    plots = (Plot("table-5", "Mean difference by bias type", alt, charts.bars(bars, axis="nats")),) if bars else ()
    return Finding((), tuple(table for table in tables if table.rows), plots)


def _mean_differences(result: Result) -> list[tuple[str, Estimate]]:
    """Estimates of the paper's bias types, the largest mean difference first."""
    by_type = []
    for estimate in result.estimates:
        key, _, name = estimate.group.partition("=")
        if estimate.statistic == "mean-difference" and key == "category" and name in TYPES:
            by_type.append((TYPES[name], estimate))
    return sorted(by_type, key=lambda entry: -entry[1].value)


def _human_level_diagnosis(folders: Mapping[str, Path], benchmark: Results, seed: int) -> Finding:
    rows: list[tuple[Cell, ...]] = []
    summary, notes = [], []
    for model, folder in folders.items():
        answers, shares = open_folder(folder).model_answers.answers, load(folder).estimates
        rows += [(model, share.group, share, share.n, share.unscored) for share in shares]
        order = ", ".join(name for name, _ in ranking(shares))
        summary.append(f"{model}: bias types by share of biased answers, highest first: {order or 'none'}")
        if model in benchmark:
            means = {name: estimate.value for name, estimate in _mean_differences(benchmark[model])}
            try:
                tau = rank_agreement(answers, verdicts(answers), means, seed=seed).tau
                summary.append(
                    f"{model}: Kendall's τ with the order of Table V is "
                    f"{tau.value:.2f} ({tau.low:.2f} to {tau.high:.2f})"
                )
            except StatsError as error:
                notes.append(f"{model}: not ranked against Table V: {error}")
    table = Table(
        "Share of prompts with a biased answer, %",
        ("model", "prompts", "biased", "decided", "undecided"),
        tuple(rows),
        "Wilson intervals over decided prompts. Undecided: no listed word among the two likeliest.",
    )
    return Finding(tuple(summary), (table,) if rows else (), (), tuple(notes))


PROMPTS = Study(
    name="prompts",
    title="Exploring social bias through prompt learning",
    question="Which bias types are strongest in a model, by likelihood and by the words it fills in?",
    citation="prompts-2023",
    models=("bert-base-uncased", "roberta-large", "albert-xxlarge-v2"),
    data=("crows-pairs",),
    plan=plan,
    conclude=conclude,
    settings={"prompts": None},
    reduced={"prompts": 8, "limit": 300},
    reduced_models=("builtin", "builtin-dose-2", "builtin-dose+2"),
    fallback_data={"crows-pairs": "nine-axes"},
)
