"""Table 2 of `debiasing` beside the published one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from unmask.core.estimate import Estimate
from unmask.findings import Finding, Plot, Table, charts
from unmask.studies.collect import (
    VALUE,
    Columns,
    comparison_table,
    find_published,
    paper_values,
    published_table,
    short_name,
)
from unmask.studies.papers.debiasing import DEBIASING, NEWS, WORD_LISTS, DebiasingOptions
from unmask.studies.results.debiasing_ranks import RankCell, tau_changes
from unmask.studies.results.debiasing_versions import SIZES, group_part
from unmask.studies.results.debiasing_words import PAPER_TEXTS, Counts, as_many_texts
from unmask.studies.spec import PaperComparison
from unmask.studies.trainings import deviation
from unmask.tasks.nlibias import NliBiasOptions

BROUGHT = ("train", "dev", "allow_pickle")  # settings of a task that give it the paper's training data
TEST_SENTENCES = {
    "NLI-bias": ("data", "triples"),
    "STS-bias": ("lists",),
}  # those that give it the paper's test sentences


def compare_tau(cell: RankCell, options: DebiasingOptions, counts: Counts) -> PaperComparison:
    """τ beside the published one if models, mitigations, data and settings are the paper's; its data are the task."""
    group = f"mitigations={cell.methods}, fine-tuning={cell.when}"
    about = {"measure": cell.intrinsic, "data": cell.extrinsic, "group": group, "n": len(cell.ranked)}
    tau = Estimate.of(cell.tau, statistic="tau", null=0.0, p=cell.test.p, **about)
    reason = _difference(cell, options, counts) if cell.task in PAPER_TEXTS else "not a task of the paper"
    if reason:
        return PaperComparison("table-2", tau, None, reason)
    item = f"table-2-{cell.when}"
    found = find_published("debiasing", item, tau, measure=cell.intrinsic, group=cell.task)
    return PaperComparison("table-2", tau, *found)


def _difference(cell: RankCell, options: DebiasingOptions, counts: Counts) -> str:
    """In what a τ differs from the published one; empty if in nothing."""
    texts = next((result.estimates[0].n for (task, _), result in counts.items() if task == cell.task), 0)
    if cell.methods != "as published":
        return "other mitigations than the published code"
    if other := _other_run(options) or _other_bias(cell.task, options):
        return other
    if not as_many_texts(cell.task, texts):
        return f"other training data: {texts:,} texts, published {PAPER_TEXTS[cell.task][0]:,}"
    return "the paper does not say whether gaps keep their signs" if cell.extrinsic == SIZES else ""


def _other_run(options: DebiasingOptions) -> str:
    """In what all trainings and audits of a run differ from the paper's; empty if in nothing."""
    paper = DebiasingOptions()
    tuning = [name for name, value in paper.use.items() if options.use.get(name) != value]
    tuning += [name for name in options.use if name not in paper.use]
    differences = {
        "other models": {short_name(model) for model in options.models} != set(DEBIASING.models),
        f"other data than {' and '.join(DEBIASING.data[:2])}": options.data[:2] != DEBIASING.data[:2]
        or options.limit is not None,
        f"mitigated on another text than {NEWS}": options.corpus or NEWS not in options.data or options.documents,
        "mitigated without the word lists of Zhao et al.": not set(WORD_LISTS) <= set(options.data),
        "mitigated with other training settings": options.train != paper.train,
        "hyper-parameters were not searched": not options.search,
        f"fine-tuned with other settings: {', '.join(tuning)}": tuning,
    }
    return next((reason for reason, applies in differences.items() if applies), "")


def _other_bias(task: str, options: DebiasingOptions) -> str:
    """In what a task's own settings and test sentences differ from the paper's; empty if in nothing."""
    own = options.each.get(task, {})
    if others := [name for name in own if name not in (*BROUGHT, *TEST_SENTENCES.get(task, ()))]:
        return f"other settings of the task: {', '.join(others)}"
    if task == "NLI-bias" and not own.get("data"):
        return "our own triples, not those of Dev et al."
    if own.get("triples", sampled := NliBiasOptions().triples) < sampled:
        return f"a sample of {own['triples']:,} triples only"
    lists = [Path(name).name for name in own.get("lists") or ()]
    if task == "STS-bias" and lists != [Path(name).name for name in WORD_LISTS]:
        return "templates by other words than the lists of Zhao et al."
    return ""


def rank_finding(cells: Sequence[RankCell], taus: Sequence[PaperComparison]) -> Finding:
    """τ before and after fine-tuning, its change, the published table, and what is ranked."""
    alone = {id(each.estimate): cell.by_training for each, cell in zip(taus, cells, strict=True)}
    columns: Columns = {
        "task": "data",
        "intrinsic": "measure",
        "mitigations": lambda tau: group_part(tau, 0),
        "fine-tuning": lambda tau: group_part(tau, 1),
        "τ": VALUE,
        "SD": lambda tau: deviation(alone[id(tau)]),
        "versions": "n",
        "p": "p",
    }
    note = (
        "τ-b of means over trainings, with a bootstrap interval over models with their versions (over versions, if "
        "models are fewer than three) and over trainings; SD: of τ between trainings. p assumes independent versions, "
        "not corrected. After fine-tuning both scores are of one network, that of the last step of Figure 2."
    )
    printed = [cell for cell in paper_values("debiasing") if cell.item.startswith("table-2")]
    theirs = published_table("As published", {"task": "group", "intrinsic": "measure", "table": "item"}, printed)
    changes = tau_changes(cells)
    tables = [comparison_table("Kendall's τ", columns, taus, note)] if taus else []
    if changes:
        rows = tuple(
            (cell.extrinsic, cell.intrinsic, cell.methods, change, len(cell.ranked)) for cell, change in changes
        )
        of_change = ("task", "intrinsic", "mitigations", "τ after − τ before", "versions")
        tables.append(Table("Change of τ by fine-tuning", of_change, rows, "Interval over the same resamples of both."))
    tables.append(theirs)
    heads = ("version", "task", "mitigations", "fine-tuning", "intrinsic", "score", "size of the bias in the task")
    ranked = tuple(
        (name, cell.extrinsic, cell.methods, cell.when, cell.intrinsic, *scores)
        for cell in cells
        for name, scores in cell.ranked.items()
    )
    tables += [Table("What is ranked", heads, ranked, digits=3)] if ranked else []
    grid = [
        {"x": cell.intrinsic, "y": f"{cell.extrinsic}, {cell.methods}, {cell.when}", "value": cell.test.value}
        for cell in cells
    ]
    alt = "Grid of Kendall's τ between intrinsic and extrinsic measures, before and after fine-tuning."
    figure = (Plot("table-2", "Kendall's τ", alt, charts.grid(grid, low=-1.0, high=1.0)),) if grid else ()
    rose = sum(change.value > 0 for _, change in changes)
    answers = (f"τ is larger after fine-tuning in {rose} of {len(changes)} (the paper: 3 of 9)",) if changes else ()
    return Finding(answers, tuple(tables), figure)
