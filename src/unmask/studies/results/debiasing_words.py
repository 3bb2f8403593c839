"""Table 1 of `debiasing`: gendered words in the training data of the tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from unmask.audit.result import load
from unmask.core.estimate import Value
from unmask.findings import Cell, Finding, Table
from unmask.findings.envelope import Result
from unmask.findings.storage import load_value
from unmask.studies.collect import VALUE, Columns, comparison_table, find_published, paper_values, published_table
from unmask.studies.papers.debiasing import PUBLISHED_WORDS, TUNED
from unmask.studies.results.debiasing_versions import group_part
from unmask.studies.spec import Outputs, PaperComparison

PAPER_TEXTS = {"BiasBios": (251_000, 500), "STS-bias": (5_700, 50), "NLI-bias": (392_700, 50)}  # printed, ± rounding
Counts = Mapping[tuple[str, str], Result]  # by task and word list


def word_ratios(
    counts: Counts, changes: Mapping[str, Mapping[str, Sequence[float]]]
) -> tuple[list[PaperComparison], Finding]:
    """ILPS of every task's training data, by the package's words and by the published lists."""
    words, totals = [], {}
    for (task, kind), result in counts.items():
        estimate = replace(result.estimates[0], data=task, group=f"words={kind}")
        paper, reason, _ = find_published("debiasing", "table-1", estimate, measure="ilps", group=task)
        if task not in PAPER_TEXTS:
            paper, reason = None, "not a task of the paper"
        elif kind != PUBLISHED_WORDS:
            paper, reason = None, "other words than Zhao et al.'s"
        elif not as_many_texts(task, estimate.n):
            paper, reason = None, f"other training data: {estimate.n:,} texts, published {PAPER_TEXTS[task][0]:,}"
        words.append(PaperComparison("table-1", estimate, paper, reason))
        totals[task, estimate.group] = result.meta["details"]["counts"]
    columns: Columns = {
        "task": "data",
        "words": group_part,
        "texts": "n",
        "feminine": lambda estimate: totals[estimate.data, estimate.group]["feminine"],
        "masculine": lambda estimate: totals[estimate.data, estimate.group]["masculine"],
        "ILPS": VALUE,
    }
    note = "Interval over texts. Zhao et al.'s lists are counted as in the paper: words between white space."
    table = comparison_table("Words of either gender", columns, words, note)
    printed = [cell for cell in paper_values("debiasing") if cell.item == "table-1"]
    theirs = published_table("As published", {"task": "group", "number": "measure"}, printed)
    answers = _order(words, changes)
    return words, Finding(tuple(answers), (table, theirs) if words else (theirs,))


def label_table(outputs: Outputs) -> list[Table]:
    """The labels of the tasks' training data by gender, which the paper names but does not measure; none if unknown."""
    by_task: dict[str, Mapping[str, Any]] = {}
    for role, folder in outputs.items():
        if role[0] == TUNED and role[-1] not in by_task and (labels := load(folder).meta["details"].get("labels")):
            by_task[role[-1]] = labels
    rows: list[tuple[Cell, ...]] = [
        (task, gap["label"], gap["female"], gap["male"], _gap_value(gap["gap"]), _corrected_p(gap))
        for task, labels in by_task.items()
        for gap in labels["gaps"]
    ]
    note = (
        "Share of a label among the examples about women and among those about men, in percent; of similarities the "
        "mean. Examples with words of both genders or of none are left out. p: Fisher's exact test, Holm over the "
        "labels of a task; of a mean Mann–Whitney. A classifier can learn gender from labels where words are balanced."
    )
    columns = ("task", "label", "female", "male", "female − male", "p")
    return [Table("Labels by gender", columns, tuple(rows), note)] if rows else []


def _gap_value(gap: Mapping[str, Any]) -> Value:
    """The difference with its interval."""
    return load_value({name: gap[name] for name in ("value", "low", "high", "method")})


def _corrected_p(gap: Mapping[str, Any]) -> float | None:
    p: float | None = gap["gap"]["p"] if gap["p_holm"] is None else gap["p_holm"]
    return p


def as_many_texts(task: str, texts: int) -> bool:
    """Whether the training data are as large as those of the paper, which are printed rounded."""
    size, rounding = PAPER_TEXTS[task]
    return abs(texts - size) <= rounding


def _order(words: Sequence[PaperComparison], changes: Mapping[str, Mapping[str, Sequence[float]]]) -> list[str]:
    """The paper's remark: training data with more masculine words, tasks whose bias rises in more versions."""
    ilps = {each.estimate.data: each.estimate.value for each in words}  # by the last word list
    rises = {
        task: sum(change > 0 for of_model in changes[task].values() for change in of_model)
        for task in ilps
        if task in changes
    }
    if len(rises) < 2:
        return []
    by_ilps, by_rises = (sorted(rises, key=key) for key in (lambda task: -ilps[task], lambda task: rises[task]))
    same = "the same" if by_ilps == by_rises else "another"
    listed = ", ".join(f"{task} {rises[task]}" for task in by_rises)
    return [
        f"By ILPS: {' < '.join(by_ilps)}; by how many mitigated versions are more biased than their original: "
        f"{listed}. This is {same} order (the paper: the same)"
    ]
