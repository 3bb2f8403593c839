"""The tables and figures of `debiasing`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from unmask.audit.result import load
from unmask.core.errors import StatsError
from unmask.core.estimate import Estimate, Value
from unmask.findings import Cell, Finding, Plot, Section, Table, charts
from unmask.findings.envelope import Result
from unmask.stats import signed_estimate
from unmask.stats.ranks import MIN_RANKED
from unmask.studies.collect import Columns, comparison_table, itself, paper_values, published_table, published_value
from unmask.studies.spec import Conclusion, Outputs, PaperComparison, StudyOptions
from unmask.studies.steps.finetuning import COUNTS, TaskOutcome, load_outcome
from unmask.tasks import agreement

ORIGINAL = "original"
INTRINSIC = ("sss", "cps", "aula")
BEFORE, TUNED, SEARCH, AFTER = "before", "fine-tuned", "search", "after"  # roles of steps, and COUNTS
SCORE = {"statistic": "score", "null": 0.0}
Scores = Mapping[str, tuple[Value, int]]  # by measure or task: the score and n


@dataclass(frozen=True, slots=True)
class TaskRun:
    """One version fine-tuned on one task."""

    curve: TaskOutcome | None  # bias tracked during fine-tuning
    final: TaskOutcome | None  # the best model of the search, else the end of the curve
    intrinsic: Scores  # after fine-tuning


@dataclass(frozen=True, slots=True)
class ModelVersion:
    """A model, original or mitigated."""

    model: str
    version: str
    intrinsic: Scores  # before fine-tuning
    tasks: Mapping[str, TaskRun]

    @property
    def name(self) -> str:
        """The name in steps and tables."""
        return version_name(self.model, self.version)

    @property
    def scores(self) -> dict[str, tuple[Value, int]]:
        """Intrinsic scores by measure, then extrinsic bias by task."""
        finals = {task: run.final for task, run in self.tasks.items()}
        return {**self.intrinsic, **{task: (end.bias, end.n) for task, end in finals.items() if end}}


def version_name(model: str, version: str) -> str:
    """The name of a version of a model."""
    return model if version == ORIGINAL else f"{model} {version}"


def conclude(outputs: Outputs, options: StudyOptions) -> Conclusion:
    """Collect the outputs of every version of every model, then build the tables and figures."""
    versions = [
        _load_version(outputs, model, version, options.settings["tasks"])
        for model in options.models
        for version in (ORIGINAL, *options.settings["methods"])
    ]
    counts = {role[1]: load(folder / COUNTS) for role, folder in outputs.items() if role[0] == COUNTS}
    (words, word_counts), (taus, ranks) = _word_ratios(counts), _rank_agreement(versions, options.seed)
    scores = [
        PaperComparison("figure-1", Estimate.of(score, measure=name, model=each.name, **SCORE, n=n), None)
        for each in versions
        for name, (score, n) in each.scores.items()
    ]
    sections = [
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
            word_counts,
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
            ranks,
            "Reasons for differences: other models, fewer of them, shorter training. The paper uses "
            "'Fisher's exact test', which does not apply to τ; p here is exact or by permutation.",
        ),
    ]
    return Conclusion(sections, [*taus, *words, *scores])


def _load_version(outputs: Outputs, model: str, version: str, tasks: Sequence[str]) -> ModelVersion:
    runs = {}
    for task in tasks:
        curve, search = (
            load_outcome(folder) if (folder := outputs.get((role, model, version, task))) else None
            for role in (TUNED, SEARCH)
        )
        runs[task] = TaskRun(curve, search or curve, _intrinsic(outputs, (AFTER, model, version, task)))
    return ModelVersion(model, version, _intrinsic(outputs, (BEFORE, model, version)), runs)


def _intrinsic(outputs: Outputs, role: tuple[str, ...]) -> Scores:
    """Bias score less its null value, and n, by measure."""
    return {
        estimate.measure.upper(): (signed_estimate(estimate), estimate.n)
        for (*start, _), folder in outputs.items()
        if tuple(start) == role
        for estimate in load(folder).headlines()
        if estimate.measure in INTRINSIC and estimate.null is not None
    }


def _changes(versions: Sequence[ModelVersion]) -> Finding:
    scores = {version.name: version.scores for version in versions}
    rows: list[tuple[Cell, ...]] = []
    changes: list[tuple[Cell, ...]] = []
    bars: dict[str, list[charts.Row]] = {}
    for version in versions:
        for measure, (score, n) in scores[version.name].items():
            rows.append((version.model, version.version, measure, score, n))
            base = scores.get(version.model, {}).get(measure)
            if version.version != ORIGINAL and base is not None:
                change = abs(score.value) - abs(base[0].value)
                changes.append((version.model, version.version, measure, change))
                bar = charts.interval_row(version.model, Value(change, change, change), version.version)
                bars.setdefault(measure, []).append(bar)
    answers = [
        f"{name}: lower in {sum(row['value'] < 0 for row in data)} of {len(data)}" for name, data in bars.items()
    ]
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
        Table(
            "Task performance",
            ("model", "version", "task", "validation score", "majority class"),
            tuple(
                (version.model, version.version, task, run.final.score, run.final.majority_share)
                for version in versions
                for task, run in version.tasks.items()
                if run.final
            ),
            "Accuracy, for STS-bias Pearson's r. Majority class: the score of a constant prediction.",
            digits=3,
        ),
    )
    shown = tuple(table for table in tables if table.rows)
    return Finding(tuple(answers), shown, tuple(plots), tuple(_baseline_notes(versions)))


def _baseline_notes(versions: Sequence[ModelVersion]) -> list[str]:
    """Notes on the tasks where versions are not better than a constant prediction."""
    notes = []
    for task in dict.fromkeys(task for version in versions for task in version.tasks):
        results = [result for version in versions if (result := version.tasks[task].final)]
        failed = sum(not result.beats_baseline for result in results)
        if failed:
            notes.append(
                f"{failed} of {len(results)} versions have not learnt {task} (not better than a constant "
                "prediction): their bias on it and comparisons with it are not interpretable."
            )
    return notes


def _word_ratios(counts: Mapping[str, Result]) -> tuple[list[PaperComparison], Finding]:
    """ILPS of every task's training data beside the published one, and the table of words."""
    words = []
    for task, result in counts.items():
        paper = published_value("debiasing", "table-1", measure="ilps", group=task)
        words.append(PaperComparison("table-1", replace(result.estimates[0], data=task), paper))
    totals = {task: result.meta["details"]["counts"] for task, result in counts.items()}
    columns: Columns = {
        "task": "data",
        "texts": "n",
        "feminine": lambda estimate: totals[estimate.data]["feminine"],
        "masculine": lambda estimate: totals[estimate.data]["masculine"],
        "ILPS": itself,
    }
    table = comparison_table("Words of either gender", columns, words, "Interval over texts.")
    return words, Finding((), (table,) if words else ())


def _curves(versions: Sequence[ModelVersion]) -> Finding:
    rows: list[tuple[Cell, ...]] = []
    lines: dict[str, list[charts.Row]] = {}
    for version in versions:
        model, name = version.model, version.version
        for task, run in version.tasks.items():
            for point in run.curve.points if run.curve else ():
                rows.append((model, name, task, point.step, point.bias, point.n, point.score))
                ends = {"low": point.bias.low, "high": point.bias.high}
                line = {"x": point.step, "y": point.bias.value, "panel": f"{model}: {task}", **ends}
                lines.setdefault(task, []).append({**line, "series": name})
    columns = ("model", "version", "task", "step", "bias", "n", "validation score")
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
    return Finding((), (Table("Bias during fine-tuning", columns, tuple(rows), note, 3),), figures)


def _rank_agreement(versions: Sequence[ModelVersion], seed: int) -> tuple[list[PaperComparison], Finding]:
    """τ before and after fine-tuning beside the paper's; the data of an estimate are the task.

    With three models or more, the bootstrap resamples models, each with all its versions.
    """
    taus: list[PaperComparison] = []
    ranked: list[tuple[Cell, ...]] = []
    notes = []
    tasks = list(dict.fromkeys(task for version in versions for task in version.tasks))
    clustered = len({version.model for version in versions}) >= MIN_RANKED
    families = {version.name: version.model if clustered else version.name for version in versions}
    for when in (BEFORE, AFTER):
        for task in tasks:
            table = {each.name: scores for each in versions if (scores := _paired_scores(each, task, when))}
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
                about = {"measure": pair.a, "data": task, "group": f"fine-tuning={when}", "n": pair.n}
                tau = Estimate.of(pair.tau, statistic="tau", null=0.0, p=pair.test.p, **about)
                taus.append(PaperComparison("table-2", tau, paper))
    unit = "models with their versions" if clustered else "versions (too few models)"
    note = f"τ-b with a bootstrap interval over {unit}; p assumes independent versions and is not corrected."
    columns: Columns = {"task": "data", "intrinsic": "measure", "fine-tuning": _when, "τ": itself}
    columns = {**columns, "versions": "n", "p": "p"}
    printed = [cell for cell in paper_values("debiasing") if cell.item.startswith("table-2")]
    theirs = published_table("As published", {"task": "group", "intrinsic": "measure", "table": "item"}, printed)
    tables = [comparison_table("Kendall's τ", columns, taus, note) if taus else theirs]
    heads = ("version", "task", "fine-tuning", "intrinsic", "score", "size of the bias in the task")
    tables += [Table("What is ranked", heads, tuple(ranked), digits=3)] if ranked else []
    grid = [
        {"x": tau.measure, "y": f"{tau.data}, {_when(tau)}", "value": tau.value}
        for tau in (each.estimate for each in taus)
    ]
    alt = "Grid of Kendall's τ between intrinsic and extrinsic measures, before and after fine-tuning."
    figure = (Plot("table-2", "Kendall's τ", alt, charts.grid(grid, low=-1.0, high=1.0)),) if grid else ()
    return taus, Finding((), tuple(tables), figure, (*notes, *_baseline_notes(versions)))


def _when(tau: Estimate) -> str:
    """Whether the intrinsic scores are from before or after fine-tuning."""
    return tau.group.partition("=")[2]


def _paired_scores(version: ModelVersion, task: str, when: str) -> dict[str, float]:
    """One version's intrinsic scores, and the absolute value of its extrinsic bias."""
    run = version.tasks[task]
    scores = version.intrinsic if when == BEFORE else run.intrinsic
    if run.final is None or not scores:
        return {}
    return {**{name: score.value for name, (score, _) in scores.items()}, task: abs(run.final.bias.value)}
