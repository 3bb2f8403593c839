"""The tables and figures of `debiasing`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from unmask.core.errors import StatsError
from unmask.findings import Cell, Finding, Plot, Table, Value, charts
from unmask.findings.html import Section
from unmask.stats.ranks import MIN_RANKED
from unmask.studies.collect import difference, paper_values, published_value, with_unique_ids
from unmask.studies.papers.debiasing_versions import ORIGINAL, ModelVersion, all_scores, intrinsic_scores
from unmask.studies.steps import finetuning
from unmask.tasks import agreement


def sections(rows: Sequence[ModelVersion], tallies: Mapping[str, Path | None], seed: int) -> list[Section]:
    """The paper's order."""
    return [
        Section(
            "figure-1",
            "Figure 1: change by mitigation",
            "Score of the mitigated model less that of the original; below 0 is less bias.",
            _changes(rows),
            "The paper prints this figure without numbers: it says that all mitigations lower the intrinsic "
            "scores, and that BiasBios and NLI-bias often rise.",
        ),
        Section(
            "table-1",
            "Table 1: words of either gender in what tasks teach with",
            "ILPS is ln of feminine over masculine words: below 0, masculine words are more frequent.",
            _tallied(tallies),
            "Reasons for differences: our word pairs are not the authors' list, and the files at hand are "
            "samples of BiasBios and of MNLI, not the whole.",
        ),
        Section(
            "figure-2",
            "Figure 2: re-learning",
            "Extrinsic bias while the task is learnt.",
            _curves(rows),
            "Another seed gives another curve: intervals are of the items asked, not of trainings.",
        ),
        Section(
            "table-2",
            "Table 2: do intrinsic and extrinsic measures rank models alike?",
            "Kendall's τ over all versions of all models, intrinsic scores before and after fine-tuning.",
            _ranked(rows, seed),
            "Reasons for differences: other models, fewer of them, shorter trainings. The paper tests by "
            "'Fisher's exact test', which does not fit τ; p here is exact or by permutation.",
        ),
    ]


def _changes(rows: Sequence[ModelVersion]) -> Finding:
    every = {row.name: all_scores(row) for row in rows}
    cells: list[tuple[Cell, ...]] = []
    changes: list[tuple[Cell, ...]] = []
    bars: dict[str, list[dict[str, object]]] = {}
    for row in rows:
        for measure, (score, n) in every[row.name].items():
            cells.append((row.model, row.version, measure, score, n))
            base = every.get(row.model, {}).get(measure)
            if row.version != ORIGINAL and base is not None:
                change = abs(score.value) - abs(base[0].value)
                changes.append((row.model, row.version, measure, change))
                ends = {"value": change, "low": change, "high": change}
                bars.setdefault(measure, []).append({"label": row.model, "series": row.version, **ends})
    told = "Change of {} by mitigation, a bar for every model and method; below 0 is less bias."
    drawn = [
        Plot(f"figure-1-{name.lower()}", name, told.format(name), charts.bars(some, axis="change of size"))
        for name, some in bars.items()
    ]
    tables = (
        Table(
            "Scores",
            ("model", "version", "measure", "score", "n"),
            tuple(cells),
            "Intrinsic: bias score less 50. Extrinsic: the headline of the task, at the end of teaching.",
            digits=3,
        ),
        Table(
            "Change of size",
            ("model", "version", "measure", "change"),
            tuple(changes),
            "Distance from 0 of the mitigated model's score less the original's. No interval: two trainings "
            "differ by chance too, and one of each says nothing of how much.",
            digits=3,
        ),
    )
    shown = tuple(one for one in (*tables, _learnt(rows)) if one.rows)
    return Finding(tuple(_fallen(changes)), shown, tuple(with_unique_ids(drawn)), tuple(_not_learnt(rows)))


def _learnt(rows: Sequence[ModelVersion]) -> Table:
    return Table(
        "How well the tasks were learnt",
        ("model", "version", "task", "development score", "guessing"),
        tuple(
            (row.model, row.version, task, told.score, told.guessing)
            for row in rows
            for task, run in row.tasks.items()
            if (told := run.task_score)
        ),
        "Accuracy, of STS-bias Pearson's r. Guessing: what saying always the same gets.",
        digits=3,
    )


def _not_learnt(rows: Sequence[ModelVersion]) -> list[str]:
    """Tasks with how many versions are no better than guessing."""
    found = []
    for task in dict.fromkeys(task for row in rows for task in row.tasks):
        told = [one for row in rows if (one := row.tasks[task].task_score)]
        few = sum(not one.beats_baseline for one in told)
        if few:
            found.append(
                f"{few} of {len(told)} versions have not learnt {task}: their bias there means nothing, and "
                "what is compared with it little."
            )
    return found


def _fallen(changes: Sequence[tuple[Cell, ...]]) -> list[str]:
    by: dict[str, list[float]] = {}
    for row in changes:
        by.setdefault(str(row[2]), []).append(float(row[3]))  # type: ignore[arg-type]
    return [f"{name}: lower in {sum(v < 0 for v in some)} of {len(some)}" for name, some in by.items()]


def _tallied(tallies: Mapping[str, Path | None]) -> Finding:
    rows: list[tuple[Cell, ...]] = []
    for task, folder in tallies.items():
        paper = published_value("debiasing", "table-1", measure="ilps", group=task)
        if folder is None:
            continue
        found = finetuning.word_counts(folder)
        ours = Value(**found["ilps"])
        sides = list(found["counts"].values())
        rows.append((task, found["documents"], *sides, ours, paper, difference(ours, paper)))
    columns = ("task", "texts", "feminine", "masculine", "ILPS", "published", "difference")
    note = "Interval over texts."
    return Finding((), (Table("Words of either gender", columns, tuple(rows), note),) if rows else ())


def _curves(rows: Sequence[ModelVersion]) -> Finding:
    cells: list[tuple[Cell, ...]] = []
    drawn: dict[str, list[dict[str, object]]] = {}
    for row in rows:
        for task, run in row.tasks.items():
            for point in finetuning.curve_points(run.curve_folder) if run.curve_folder else ():
                cells.append((row.model, row.version, task, point.step, point.bias, point.n, point.score))
                ends = {"low": point.bias.low, "high": point.bias.high}
                line = {"x": point.step, "y": point.bias.value, "panel": f"{row.model}: {task}", **ends}
                drawn.setdefault(task, []).append({**line, "series": row.version})
    columns = ("model", "version", "task", "step", "bias", "n", "development score")
    note = "Step 0: the head is random, so the bias there says nothing of the model."
    figures = tuple(
        Plot(
            f"figure-2-{task.lower()}",
            task,
            f"Bias in {task} against steps of fine-tuning, a panel a model, a line a version.",
            charts.panels(some, x="step", y="bias", null=0.0),
        )
        for task, some in drawn.items()
    )
    return Finding((), (Table("Bias while tasks are learnt", columns, tuple(cells), note, 3),), figures)


def _ranked(rows: Sequence[ModelVersion], seed: int) -> Finding:
    """τ before and after, each beside the paper's. Three models and more are drawn with their versions."""
    cells: list[tuple[Cell, ...]] = []
    ranked: list[tuple[Cell, ...]] = []
    notes, drawn = [], []
    tasks = list(dict.fromkeys(task for row in rows for task in row.tasks))
    together = len({row.model for row in rows}) >= MIN_RANKED
    families = {row.name: row.model if together else row.name for row in rows}
    for when in ("before", "after"):
        for task in tasks:
            table = {row.name: by for row in rows if (by := _both(row, task, when))}
            ranked += [
                (name, task, when, measure, value, by[task])
                for name, by in table.items()
                for measure, value in by.items()
                if measure != task
            ]
            try:
                found = agreement(table, against=[task], families=families, seed=seed)
            except StatsError as error:
                notes.append(f"{task}, {when} fine-tuning: {error}")
                continue
            for measure, _, tau, n, p, *_ in found.tables[0].rows:
                paper = published_value("debiasing", f"table-2-{when}", measure=str(measure), group=task)
                cells.append((task, measure, when, tau, n, p, paper, difference(tau, paper)))
                drawn.append({"x": measure, "y": f"{task}, {when}", "value": _value(tau)})
    columns = ("task", "intrinsic", "fine-tuning", "τ", "versions", "p", "published", "difference")
    unit = "models drawn anew, each with its versions" if together else "versions drawn anew (too few models)"
    note = f"τ-b with an interval: {unit}; p takes versions as independent and is not corrected."
    tables = [Table("Kendall's τ", columns, tuple(cells), note)] if cells else [_published()]
    heads = ("version", "task", "fine-tuning", "intrinsic", "score", "size of the bias in the task")
    tables += [Table("What is ranked", heads, tuple(ranked), digits=3)] if ranked else []
    told = "Grid of Kendall's τ between intrinsic and extrinsic measures, before and after fine-tuning."
    figure = (Plot("table-2", "Kendall's τ", told, charts.grid(drawn, low=-1.0, high=1.0)),) if drawn else ()
    return Finding((), tuple(tables), figure, (*notes, *_not_learnt(rows)))


def _both(row: ModelVersion, task: str, when: str) -> dict[str, float]:
    """One version's intrinsic scores and its size of extrinsic bias."""
    run = row.tasks[task]
    bias = run.bias
    found = intrinsic_scores(row.audit_folders if when == "before" else run.audit_folders)
    if bias is None or not found:
        return {}
    return {**{name.upper(): score.value for name, (score, _) in found.items()}, task: abs(bias[0].value)}


def _value(cell: Cell) -> float:
    return cell.value if isinstance(cell, Value) else float("nan")


def _published() -> Table:
    rows = tuple(
        (one.group, one.measure, one.item.rpartition("-")[2], float(one.value))
        for one in paper_values("debiasing")
        if one.item.startswith("table-2")
    )
    return Table("As published", ("task", "intrinsic", "fine-tuning", "τ"), rows)
