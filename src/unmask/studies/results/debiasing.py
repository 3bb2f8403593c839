"""The sections of `debiasing`, and its Figures 1 and 2; Tables 1 and 2 are in modules of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from unmask.audit.result import load
from unmask.core.estimate import Estimate, Value
from unmask.findings import Cell, Finding, Plot, Section, Table, charts
from unmask.studies.papers.debiasing import COUNTS, ORIGINAL, ZERO_SHOT, DebiasingOptions
from unmask.studies.results.debiasing_claims import claims, size_changes
from unmask.studies.results.debiasing_rank_table import compare_tau, rank_finding
from unmask.studies.results.debiasing_ranks import rank_cells
from unmask.studies.results.debiasing_versions import ModelVersion, load_version
from unmask.studies.results.debiasing_words import label_table, word_ratios
from unmask.studies.spec import Outputs, PaperComparison, PaperConclusion
from unmask.studies.trainings import deviation, over_trainings

SCORE = {"statistic": "score", "null": 0.0}
OVER_TRAININGS = "With several trainings: the mean over them with Student's interval; SD: between trainings."


def replicate(outputs: Outputs, options: DebiasingOptions) -> PaperConclusion:
    """Collect the outputs of every version of every model, then build the tables and figures."""
    methods = options.methods
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
            "intrinsic scores and STS-bias, and that BiasBios and NLI-bias rise. All versions of a model are "
            "fine-tuned from the same head and pooler, drawn from the seed: the pooler of a checkpoint is not used.",
        ),
        Section(
            "table-1",
            "Table 1: gendered words in the tasks' training data",
            "ILPS is ln of feminine over masculine words: below 0, masculine words are more frequent.",
            replace(word_finding, tables=(*word_finding.tables, *label_table(outputs))),
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
    return PaperConclusion(sections, [*taus, *words, *scores])


def _training(options: DebiasingOptions) -> str:
    """The hyper-parameters of the tracked training, which the paper does not state."""
    grid = options.use.get("grid", {})
    chosen = [f"{name} {grid[name][0]:g}" for name in ("batch", "rate") if grid.get(name)]
    return f"Trained with {', '.join(chosen)}, which is our choice." if chosen else ""


def _changes(versions: Sequence[ModelVersion]) -> Finding:
    """Scores of all versions, their change by mitigation, and task performance."""
    changes = list(_mitigation_changes(versions))
    bars: dict[str, list[MitigationChange]] = {}
    for change in changes:
        bars.setdefault(change.measure, []).append(change)
    answers = [
        f"{measure}: f(mitigated) − f(original) is below 0 in {sum(each.change.value < 0 for each in of)} "
        f"of {len(of)}, the size is lower in {sum(each.size.value < 0 for each in of)}"
        for measure, of in bars.items()
    ]
    alt = "Change of {} by mitigation, a bar for every model and method; below 0 is less bias."
    plots = [
        Plot(
            f"figure-1-{number}",
            measure,
            alt.format(measure),
            charts.bars([each.bar for each in of], axis="f(mitigated) − f(original)"),
        )
        for number, (measure, of) in enumerate(bars.items(), 1)
    ]
    tables = (_score_table(versions), _change_table(changes), _performance_table(versions))
    shown = tuple(table for table in tables if table.rows)
    return Finding(tuple(answers), shown, tuple(plots), tuple(_baseline_notes(versions)))


class MitigationChange(NamedTuple):
    """What a mitigation did to one score of a model."""

    model: str
    version: str
    measure: str
    change: Value  # f(mitigated) − f(original)
    size: Value  # the same of absolute scores
    trainings: int

    @property
    def bar(self) -> charts.Row:
        """The change as a bar; without an interval if there was one training."""
        value = self.change.value
        shown = self.change if self.change.has_interval else Value(value, value, value)
        return charts.interval_row(self.model, shown, self.version)


def _mitigation_changes(versions: Sequence[ModelVersion]) -> Iterator[MitigationChange]:
    """The changes of all scores that the original has in as many trainings."""
    originals = {version.model: version for version in versions if version.version == ORIGINAL}
    for version in versions:
        for measure in version.counts if version.version != ORIGINAL else ():
            values, base = version.values(measure), originals[version.model].values(measure)
            if len(base) == len(values):
                change, size = (_change(values, base, of) for of in (float, abs))
                yield MitigationChange(version.model, version.version, measure, change, size, len(values))


def _score_table(versions: Sequence[ModelVersion]) -> Table:
    rows = [
        (version.model, version.version, measure, over_trainings(values), _spread(values), len(values), n)
        for version in versions
        for measure, n in version.counts.items()
        for values in [version.values(measure)]
    ]
    note = (
        "Intrinsic: bias score − 50. Extrinsic: the task's headline number after fine-tuning; of BiasBios the mean "
        "of signed gaps, and the mean of absolute ones; of WinoBias and Winogender accuracy with − against the "
        f"stereotype, in points, without fine-tuning. {OVER_TRAININGS}"
    )
    columns = ("model", "version", "measure", "score", "SD", "trainings", "n")
    return Table("Scores", columns, tuple(rows), note, digits=3)


def _change_table(changes: Sequence[MitigationChange]) -> Table:
    note = (
        "Change of size: of absolute scores. Trainings are paired by their seed; a single one has no interval: "
        "two runs differ by chance too."
    )
    columns = ("model", "version", "measure", "f(mitigated) − f(original)", "change of size", "trainings")
    return Table("Change by mitigation", columns, tuple(changes), note, digits=3)


def _performance_table(versions: Sequence[ModelVersion]) -> Table:
    rows = [
        (version.model, version.version, task, over_trainings(scores), _spread(scores), ends[0].majority_share)
        for version in versions
        for task in version.trainings[0].tasks
        if (ends := version.finals(task))
        for scores in [[end.score for end in ends]]
    ]
    note = (
        "Accuracy, for STS-bias Pearson's r; where nothing is fine-tuned, accuracy on the better side. Majority class: "
        f"the score of a constant prediction. {OVER_TRAININGS}"
    )
    columns = ("model", "version", "task", "validation score", "SD", "majority class")
    return Table("Task performance", columns, tuple(rows), note, digits=3)


def _spread(values: Sequence[Value]) -> float | None:
    return deviation([value.value for value in values])


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
            poor = f"do not resolve the pronouns of {task} (not better than guessing)"
            if task not in ZERO_SHOT:
                poor = f"have not learnt {task} (not better than a constant prediction)"
            notes.append(
                f"{failed} of {len(results)} {what} {poor}: their bias on it and comparisons with it are not "
                "interpretable."
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
                rows.append((model, name, task, first.step, bias, _spread(values), len(values), first.n, score))
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
    tables = (Table("Bias during fine-tuning", columns, tuple(rows), note, 3),) if rows else ()
    return Finding((), tables, figures)
