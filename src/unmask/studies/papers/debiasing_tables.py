"""The sections of `debiasing`, and its Figures 1 and 2; Tables 1 and 2 are in modules of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from unmask.audit.result import load
from unmask.core.estimate import Estimate, Value
from unmask.findings import Cell, Finding, Plot, Section, Table, charts
from unmask.studies.papers.debiasing_claims import claims, size_changes
from unmask.studies.papers.debiasing_rank_table import compare_tau, rank_finding
from unmask.studies.papers.debiasing_ranks import rank_cells
from unmask.studies.papers.debiasing_versions import ORIGINAL, ModelVersion, deviation, load_version, over_trainings
from unmask.studies.papers.debiasing_words import word_ratios
from unmask.studies.spec import Conclusion, Outputs, PaperComparison, StudyOptions
from unmask.studies.steps.finetuning import COUNTS

SCORE = {"statistic": "score", "null": 0.0}
OVER_TRAININGS = "With several trainings: the mean over them with Student's interval; SD: between trainings."


def conclude(outputs: Outputs, options: StudyOptions) -> Conclusion:
    """Collect the outputs of every version of every model, then build the tables and figures."""
    methods = options.settings["methods"]
    versions = [
        load_version(outputs, model, version, options) for model in options.models for version in (ORIGINAL, *methods)
    ]
    counts = {(role[1], role[2]): load(folder / COUNTS) for role, folder in outputs.items() if role[0] == COUNTS}
    cells, rank_notes = rank_cells(versions, methods, options.seed)
    (words, word_finding) = word_ratios(counts, size_changes(versions, methods))
    taus = [compare_tau(cell, options, counts) for cell in cells]
    scores = [
        PaperComparison("figure-1", Estimate.of(score, measure=name, model=each.name, **SCORE, n=n), None)
        for each in versions
        for name, n in each.counts.items()
        for score in [over_trainings(each.values(name))]
    ]
    notes = (*rank_notes, *_baseline_notes(versions))
    sections = [
        claims(versions, cells, methods, _baseline_notes(versions)),
        Section(
            "figure-1",
            "Figure 1: change by mitigation",
            "Score of the mitigated model less that of the original, f(mitigated) − f(original), as published, and "
            "the change of its size; below 0 is less bias.",
            _changes(versions),
            "The paper prints this figure without numbers: it states that all mitigations lower the "
            "intrinsic scores and STS-bias, and that BiasBios and NLI-bias rise.",
        ),
        Section(
            "table-1",
            "Table 1: gendered words in the tasks' training data",
            "ILPS is ln of feminine over masculine words: below 0, masculine words are more frequent.",
            word_finding,
            "A published number stands only beside the same words counted in as many training texts.",
        ),
        Section(
            "figure-2",
            "Figure 2: re-learning",
            "Extrinsic bias during fine-tuning.",
            _curves(versions),
            f"{_training(options)} With one training, intervals are over items: another seed gives another curve.",
        ),
        Section(
            "table-2",
            "Table 2: do intrinsic and extrinsic measures rank models alike?",
            "Kendall's τ over all versions of all models, intrinsic scores before and after fine-tuning.",
            replace(rank_finding(cells, taus), notes=notes),
            "The paper uses 'Fisher's exact test', which does not apply to τ; p here is exact without ties, by all "
            "permutations for up to 7 tied versions, else asymptotic.",
        ),
    ]
    return Conclusion(sections, [*taus, *words, *scores])


def _training(options: StudyOptions) -> str:
    """The hyper-parameters of the tracked training, which the paper does not state."""
    grid = options.settings["use"].get("grid", {})
    chosen = [f"{name} {grid[name][0]:g}" for name in ("batch", "rate") if grid.get(name)]
    return f"Trained with {', '.join(chosen)}, which is our choice." if chosen else ""


def _changes(versions: Sequence[ModelVersion]) -> Finding:
    """Scores of all versions, their change by mitigation, and task performance."""
    originals = {version.model: version for version in versions if version.version == ORIGINAL}
    rows: list[tuple[Cell, ...]] = []
    changes: list[tuple[Cell, ...]] = []
    bars: dict[str, list[charts.Row]] = {}
    lower: dict[str, list[bool]] = {}
    for version in versions:
        for measure, n in version.counts.items():
            values = version.values(measure)
            score = over_trainings(values)
            rows.append(
                (
                    version.model,
                    version.version,
                    measure,
                    score,
                    deviation([value.value for value in values]),
                    len(values),
                    n,
                )
            )
            base = originals[version.model].values(measure)
            if version.version == ORIGINAL or len(base) != len(values):
                continue
            change, size = (_change(values, base, of) for of in (float, abs))
            changes.append((version.model, version.version, measure, change, size, len(values)))
            shown = change if change.has_interval else Value(change.value, change.value, change.value)
            bars.setdefault(measure, []).append(charts.interval_row(version.model, shown, version.version))
            lower.setdefault(measure, []).append(size.value < 0)
    answers = [
        f"{name}: f(mitigated) − f(original) is below 0 in {sum(row['value'] < 0 for row in data)} of {len(data)}, "
        f"the size is lower in {sum(lower[name])}"
        for name, data in bars.items()
    ]
    alt = "Change of {} by mitigation, a bar for every model and method; below 0 is less bias."
    plots = [
        Plot(f"figure-1-{number}", name, alt.format(name), charts.bars(data, axis="f(mitigated) − f(original)"))
        for number, (name, data) in enumerate(bars.items(), 1)
    ]
    tables = (
        Table(
            "Scores",
            ("model", "version", "measure", "score", "SD", "trainings", "n"),
            tuple(rows),
            "Intrinsic: bias score − 50. Extrinsic: the task's headline number after fine-tuning; of BiasBios the mean "
            f"of signed gaps, and the mean of absolute ones. {OVER_TRAININGS}",
            digits=3,
        ),
        Table(
            "Change by mitigation",
            ("model", "version", "measure", "f(mitigated) − f(original)", "change of size", "trainings"),
            tuple(changes),
            "Change of size: of absolute scores. Trainings are paired by their seed; a single one has no interval: "
            "two runs differ by chance too.",
            digits=3,
        ),
        Table(
            "Task performance",
            ("model", "version", "task", "validation score", "SD", "majority class"),
            tuple(
                (
                    version.model,
                    version.version,
                    task,
                    over_trainings(score),
                    deviation([value.value for value in score]),
                    ends[0].majority_share,
                )
                for version in versions
                for task in version.trainings[0].tasks
                if (ends := version.finals(task))
                for score in [[end.score for end in ends]]
            ),
            f"Accuracy, for STS-bias Pearson's r. Majority class: the score of a constant prediction. {OVER_TRAININGS}",
            digits=3,
        ),
    )
    shown_tables = tuple(table for table in tables if table.rows)
    return Finding(tuple(answers), shown_tables, tuple(plots), tuple(_baseline_notes(versions)))


def _change(new: Sequence[Value], old: Sequence[Value], of: Callable[[float], float]) -> Value:
    """The mean over trainings of the change of a score, or of its size; one training has no interval."""
    changes = [Value(of(a.value) - of(b.value)) for a, b in zip(new, old, strict=True)]
    return over_trainings(changes)


def _baseline_notes(versions: Sequence[ModelVersion]) -> list[str]:
    """Notes on the tasks where versions are not better than a constant prediction."""
    notes = []
    for task in dict.fromkeys(task for version in versions for task in version.trainings[0].tasks):
        results = [result for version in versions for result in version.finals(task)]
        failed = sum(not result.beats_baseline for result in results)
        if failed:
            what = "versions" if len(results) <= len(versions) else "trainings"
            notes.append(
                f"{failed} of {len(results)} {what} have not learnt {task} (not better than a constant "
                "prediction): their bias on it and comparisons with it are not interpretable."
            )
    return notes


def _curves(versions: Sequence[ModelVersion]) -> Finding:
    """Bias at every evaluation of the fine-tunings, means over trainings."""
    rows: list[tuple[Cell, ...]] = []
    lines: dict[str, list[charts.Row]] = {}
    for version in versions:
        model, name = version.model, version.version
        for task in version.trainings[0].tasks:
            curves = [curve.points for each in version.trainings if (curve := each.tasks[task].curve)]
            for points in zip(*curves, strict=False):
                values = [point.bias for point in points]
                bias, first = over_trainings(values), points[0]
                score = sum(point.score for point in points) / len(points)
                rows.append(
                    (
                        model,
                        name,
                        task,
                        first.step,
                        bias,
                        deviation([value.value for value in values]),
                        len(values),
                        first.n,
                        score,
                    )
                )
                line = {"x": first.step, "y": bias.value, "panel": f"{model}: {task}", "low": bias.low}
                lines.setdefault(task, []).append({**line, "high": bias.high, "series": name})
    columns = ("model", "version", "task", "step", "bias", "SD", "trainings", "n", "validation score")
    note = f"At step 0 the head is random, so the bias there says nothing about the model. {OVER_TRAININGS}"
    figures = tuple(
        Plot(
            f"figure-2-{task.lower()}",
            task,
            f"Bias on {task} against fine-tuning steps, a panel per model, a line per version.",
            charts.panels(data, x="step", y="bias", null=0.0),
        )
        for task, data in lines.items()
    )
    return Finding((), (Table("Bias during fine-tuning", columns, tuple(rows), note, 3),), figures)
