"""The tables and figures of `debiasing`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from unmask.core.errors import StatsError
from unmask.findings import Cell, Finding, Plot, Section, Table, Value, charts
from unmask.stats.ranks import MIN_RANKED
from unmask.studies.collect import difference, paper_values, published_value, with_unique_ids
from unmask.studies.papers.debiasing_versions import ORIGINAL, ModelVersion, all_scores, intrinsic_scores
from unmask.studies.steps import finetuning
from unmask.tasks import agreement


def sections(
    versions: Sequence[ModelVersion], word_counts: Mapping[str, Path | None], seed: int
) -> list[Section]:
    """The tables and figures in the paper's order."""
    return [
        Section(
            "figure-1",
            "Figure 1: change by mitigation",
            "Score of the mitigated model less that of the original; below 0 is less bias.",
            _changes(versions),
            "The paper prints this figure without numbers: it states that all mitigations lower the "
            "intrinsic scores, and that BiasBios and NLI-bias often rise.",
        ),
        Section(
            "table-1",
            "Table 1: gendered words in the tasks' training data",
            "ILPS is ln of feminine over masculine words: below 0, masculine words are more frequent.",
            _word_counts(word_counts),
            "Reasons for differences: our word pairs are not the authors' list, and our files are samples of "
            "BiasBios and MNLI, not the full datasets.",
        ),
        Section(
            "figure-2",
            "Figure 2: re-learning",
            "Extrinsic bias during fine-tuning.",
            _curves(versions),
            "Another seed gives another curve: intervals are over items, not over training runs.",
        ),
        Section(
            "table-2",
            "Table 2: do intrinsic and extrinsic measures rank models alike?",
            "Kendall's τ over all versions of all models, intrinsic scores before and after fine-tuning.",
            _rank_agreement(versions, seed),
            "Reasons for differences: other models, fewer of them, shorter training. The paper uses "
            "'Fisher's exact test', which does not apply to τ; p here is exact or by permutation.",
        ),
    ]


def _changes(versions: Sequence[ModelVersion]) -> Finding:
    scores = {version.name: all_scores(version) for version in versions}
    rows: list[tuple[Cell, ...]] = []
    changes: list[tuple[Cell, ...]] = []
    bars: dict[str, list[dict[str, object]]] = {}
    for version in versions:
        for measure, (score, n) in scores[version.name].items():
            rows.append((version.model, version.version, measure, score, n))
            base = scores.get(version.model, {}).get(measure)
            if version.version != ORIGINAL and base is not None:
                change = abs(score.value) - abs(base[0].value)
                changes.append((version.model, version.version, measure, change))
                ends = {"value": change, "low": change, "high": change}
                bars.setdefault(measure, []).append(
                    {"label": version.model, "series": version.version, **ends}
                )
    alt = "Change of {} by mitigation, a bar for every model and method; below 0 is less bias."
    plots = [
        Plot(f"figure-1-{name.lower()}", name, alt.format(name), charts.bars(data, axis="change of size"))
        for name, data in bars.items()
    ]
    tables = (
        Table(
            "Scores",
            ("model", "version", "measure", "score", "n"),
            tuple(rows),
            "Intrinsic: bias score − 50. Extrinsic: the task's headline number after fine-tuning.",
            digits=3,
        ),
        Table(
            "Change of size",
            ("model", "version", "measure", "change"),
            tuple(changes),
            "Absolute score of the mitigated model − that of the original. No interval: two runs differ "
            "by chance too, and a single run of each does not show by how much.",
            digits=3,
        ),
    )
    shown = tuple(table for table in (*tables, _task_scores(versions)) if table.rows)
    answers, notes = tuple(_decreases(changes)), tuple(_baseline_notes(versions))
    return Finding(answers, shown, tuple(with_unique_ids(plots)), notes)


def _task_scores(versions: Sequence[ModelVersion]) -> Table:
    return Table(
        "How well the tasks were learnt",
        ("model", "version", "task", "development score", "guessing"),
        tuple(
            (version.model, version.version, task, result.score, result.guessing)
            for version in versions
            for task, run in version.tasks.items()
            if (result := run.task_score)
        ),
        "Accuracy, for STS-bias Pearson's r. Guessing: the score of a constant prediction.",
        digits=3,
    )


def _baseline_notes(versions: Sequence[ModelVersion]) -> list[str]:
    """Notes on the tasks where versions are not better than a constant prediction."""
    notes = []
    for task in dict.fromkeys(task for version in versions for task in version.tasks):
        results = [result for version in versions if (result := version.tasks[task].task_score)]
        failed = sum(not result.beats_baseline for result in results)
        if failed:
            notes.append(
                f"{failed} of {len(results)} versions have not learnt {task} (not better than a constant "
                "prediction): their bias on it and comparisons with it are not interpretable."
            )
    return notes


def _decreases(changes: Sequence[tuple[Cell, ...]]) -> list[str]:
    by_measure: dict[str, list[float]] = {}
    for row in changes:
        by_measure.setdefault(str(row[2]), []).append(float(row[3]))  # type: ignore[arg-type]
    return [
        f"{name}: lower in {sum(value < 0 for value in values)} of {len(values)}"
        for name, values in by_measure.items()
    ]


def _word_counts(folders: Mapping[str, Path | None]) -> Finding:
    rows: list[tuple[Cell, ...]] = []
    for task, folder in folders.items():
        paper = published_value("debiasing", "table-1", measure="ilps", group=task)
        if folder is None:
            continue
        counts = finetuning.word_counts(folder)
        ours = Value(**counts["ilps"])
        totals = list(counts["counts"].values())
        rows.append((task, counts["documents"], *totals, ours, paper, difference(ours, paper)))
    columns = ("task", "texts", "feminine", "masculine", "ILPS", "published", "difference")
    note = "Interval over texts."
    return Finding((), (Table("Words of either gender", columns, tuple(rows), note),) if rows else ())


def _curves(versions: Sequence[ModelVersion]) -> Finding:
    rows: list[tuple[Cell, ...]] = []
    lines: dict[str, list[dict[str, object]]] = {}
    for version in versions:
        model, name = version.model, version.version
        for task, run in version.tasks.items():
            for point in finetuning.curve_points(run.curve_folder) if run.curve_folder else ():
                rows.append((model, name, task, point.step, point.bias, point.n, point.score))
                ends = {"low": point.bias.low, "high": point.bias.high}
                line = {"x": point.step, "y": point.bias.value, "panel": f"{model}: {task}", **ends}
                lines.setdefault(task, []).append({**line, "series": name})
    columns = ("model", "version", "task", "step", "bias", "n", "development score")
    note = "At step 0 the head is random, so the bias there says nothing about the model."
    figures = tuple(
        Plot(
            f"figure-2-{task.lower()}",
            task,
            f"Bias on {task} against fine-tuning steps, a panel per model, a line per version.",
            charts.panels(data, x="step", y="bias", null=0.0),
        )
        for task, data in lines.items()
    )
    return Finding((), (Table("Bias while tasks are learnt", columns, tuple(rows), note, 3),), figures)


def _rank_agreement(versions: Sequence[ModelVersion], seed: int) -> Finding:
    """τ before and after fine-tuning, beside the paper's.

    With three models or more, the bootstrap resamples models, each with all its versions.
    """
    rows: list[tuple[Cell, ...]] = []
    ranked: list[tuple[Cell, ...]] = []
    notes, grid = [], []
    tasks = list(dict.fromkeys(task for version in versions for task in version.tasks))
    clustered = len({version.model for version in versions}) >= MIN_RANKED
    families = {version.name: version.model if clustered else version.name for version in versions}
    for when in ("before", "after"):
        for task in tasks:
            table = {
                version.name: scores
                for version in versions
                if (scores := _paired_scores(version, task, when))
            }
            ranked += [
                (name, task, when, measure, value, scores[task])
                for name, scores in table.items()
                for measure, value in scores.items()
                if measure != task
            ]
            try:
                agreements = agreement(table, against=[task], families=families, seed=seed)
            except StatsError as error:
                notes.append(f"{task}, {when} fine-tuning: {error}")
                continue
            for pair in agreements.pairs:
                paper = published_value("debiasing", f"table-2-{when}", measure=pair.a, group=task)
                change = difference(pair.tau, paper)
                rows.append((task, pair.a, when, pair.tau, pair.n, pair.test.p, paper, change))
                grid.append({"x": pair.a, "y": f"{task}, {when}", "value": pair.tau.value})
    columns = ("task", "intrinsic", "fine-tuning", "τ", "versions", "p", "published", "difference")
    unit = "models with their versions" if clustered else "versions (too few models)"
    note = f"τ-b with a bootstrap interval over {unit}; p assumes independent versions and is not corrected."
    tables = [Table("Kendall's τ", columns, tuple(rows), note)] if rows else [_published()]
    heads = ("version", "task", "fine-tuning", "intrinsic", "score", "size of the bias in the task")
    tables += [Table("What is ranked", heads, tuple(ranked), digits=3)] if ranked else []
    alt = "Grid of Kendall's τ between intrinsic and extrinsic measures, before and after fine-tuning."
    figure = (Plot("table-2", "Kendall's τ", alt, charts.grid(grid, low=-1.0, high=1.0)),) if grid else ()
    return Finding((), tuple(tables), figure, (*notes, *_baseline_notes(versions)))


def _paired_scores(version: ModelVersion, task: str, when: str) -> dict[str, float]:
    """One version's intrinsic scores, and the absolute value of its extrinsic bias."""
    run = version.tasks[task]
    bias = run.bias
    scores = intrinsic_scores(version.audit_folders if when == "before" else run.audit_folders)
    if bias is None or not scores:
        return {}
    return {**{name.upper(): score.value for name, (score, _) in scores.items()}, task: abs(bias[0].value)}


def _published() -> Table:
    rows = tuple(
        (cell.group, cell.measure, cell.item.rpartition("-")[2], float(cell.value))
        for cell in paper_values("debiasing")
        if cell.item.startswith("table-2")
    )
    return Table("As published", ("task", "intrinsic", "fine-tuning", "τ"), rows)
