"""The claims, tables and figures of `debiasing`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from unmask.audit.result import load
from unmask.core.estimate import Estimate, Value
from unmask.core.seeds import generator
from unmask.findings import Cell, Finding, Plot, Section, Table, charts
from unmask.findings.envelope import Result
from unmask.findings.storage import load_value
from unmask.stats.agreement import MIN_RANKED
from unmask.stats.intervals import mean_interval, mean_test
from unmask.studies.claims import ClaimTest, claims_section
from unmask.studies.paper import VALUE, Columns, comparison_table, load_paper, present
from unmask.studies.papers.debiasing import (
    COUNTS,
    DEBIASING,
    INTRINSIC,
    JOINED,
    NEWS,
    ORIGINAL,
    PUBLISHED_WORDS,
    TUNED,
    WORD_LISTS,
    ZERO_SHOT,
    DebiasingOptions,
)
from unmask.studies.results.debiasing_versions import (
    SIZES,
    ModelVersion,
    RankCell,
    load_version,
    method_sets,
    rank_cells,
    tau_changes,
)
from unmask.studies.spec import Outputs, PaperComparison, PaperConclusion, short_name
from unmask.studies.trainings import deviation, over_trainings
from unmask.tasks.nlibias import NliBiasOptions

PAPER = load_paper("debiasing")
PAPER_TEXTS = {"BiasBios": (251_000, 500), "STS-bias": (5_700, 50), "NLI-bias": (392_700, 50)}  # printed, ± rounding
BROUGHT = ("train", "dev", "allow_pickle")  # settings of a task that give it the paper's training data
TEST_SENTENCES = {"NLI-bias": ("data", "triples"), "STS-bias": ("lists",)}  # those that give it the paper's sentences
OTHER_TASK = "not a task of the paper"
Counts = Mapping[tuple[str, str], Result]  # by task and word list
SizeChanges = Mapping[str, Mapping[str, Sequence[float]]]  # by measure, by model: per method and training


def replicate(outputs: Outputs, options: DebiasingOptions) -> PaperConclusion:
    """Collect the outputs of every version of every model, then build the tables and figures."""
    versions = [
        load_version(outputs, model, version, options)
        for model in options.models
        for version in (ORIGINAL, *options.methods)
    ]
    counts = {(role[1], role[2]): load(folder / COUNTS) for role, folder in outputs.items() if role[0] == COUNTS}
    cells, rank_notes = rank_cells(versions, options.methods, options.seed)
    words, word_finding = word_ratios(counts, size_changes(versions, dict.fromkeys(options.methods, ORIGINAL)))
    taus = [compare_tau(cell, options, counts) for cell in cells]
    notes = _baseline_notes(versions)
    with_labels = replace(word_finding, tables=(*word_finding.tables, *label_table(outputs)))
    grid = options.use.get("grid", {})
    chosen = [f"{name} {grid[name][0]:g}" for name in ("batch", "rate") if grid.get(name)]
    training = f"Trained with {', '.join(chosen)}, which is our choice." if chosen else ""
    ranks = replace(_rank_finding(cells, taus), notes=(*rank_notes, *notes))
    sections = [
        claims(versions, cells, options.methods, notes),
        PAPER.section("figure-1", _changes(versions)),
        PAPER.section("table-1", with_labels),
        PAPER.section("figure-2", _curves(versions), training=training),
        PAPER.section("table-2", ranks),
    ]
    scores = [
        Estimate.of(score, measure=name, model=version.name, statistic="score", null=0.0, n=n)
        for version in versions
        for name, n in version.counts.items()
        for score in [over_trainings(version.values(name))]
    ]
    return PaperConclusion(sections, [*taus, *words, *(PaperComparison("figure-1", score, None) for score in scores)])


def _baseline_notes(versions: Sequence[ModelVersion]) -> list[str]:
    """Notes on the tasks where versions are not better than a constant prediction."""
    notes = []
    for task in dict.fromkeys(task for version in versions for task in version.trainings[0].tasks):
        results = [result for version in versions for result in version.finals(task)]
        if failed := sum(not result.beats_baseline for result in results):
            what = "versions" if len(results) <= len(versions) else "trainings"
            poor = f"do not resolve the pronouns of {task} (not better than guessing)"
            if task not in ZERO_SHOT:
                poor = f"have not learnt {task} (not better than a constant prediction)"
            notes.append(
                f"{failed} of {len(results)} {what} {poor}: their bias on it and comparisons with it are not "
                "interpretable."
            )
    return notes


# --------------------------------------------------------------------------------------------- Figures 1 and 2


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


def _changes(versions: Sequence[ModelVersion]) -> Finding:
    """Scores of all versions, their change by mitigation, and task performance."""
    changes = list(_mitigation_changes(versions))
    by_measure: dict[str, list[MitigationChange]] = {}
    for change in changes:
        by_measure.setdefault(change.measure, []).append(change)
    answers, plots = [], []
    for number, (measure, of) in enumerate(by_measure.items(), 1):
        below, smaller = sum(change.change.value < 0 for change in of), sum(change.size.value < 0 for change in of)
        answers.append(
            f"{measure}: f(mitigated) − f(original) is below 0 in {below} of {len(of)}, the size is lower in {smaller}"
        )
        alt = f"Change of {measure} by mitigation, a bar for every model and method; below 0 is less bias."
        chart = charts.bars([change.bar for change in of], axis="f(mitigated) − f(original)")
        plots.append(Plot(f"figure-1-{number}", measure, alt, chart))
    scores: list[tuple[Cell, ...]] = []
    performance: list[tuple[Cell, ...]] = []
    for version in versions:
        names = (version.model, version.version)
        for measure, n in version.counts.items():
            values = version.values(measure)
            scores.append((*names, measure, over_trainings(values), deviation(values), len(values), n))
        for task in version.trainings[0].tasks:
            if ends := version.finals(task):
                reached = [end.score for end in ends]
                row = (over_trainings(reached), deviation(reached), ends[0].majority_share)
                performance.append((*names, task, *row))
    tables = (PAPER.table("scores", scores), PAPER.table("changes", changes), PAPER.table("performance", performance))
    return Finding(tuple(answers), present(*tables), tuple(plots), tuple(_baseline_notes(versions)))


def _mitigation_changes(versions: Sequence[ModelVersion]) -> Iterator[MitigationChange]:
    """The changes of all scores that the original has in as many trainings."""
    originals = {version.model: version for version in versions if version.version == ORIGINAL}
    for version in (version for version in versions if version.version != ORIGINAL):
        for measure in version.counts:
            values, base = version.values(measure), originals[version.model].values(measure)
            if len(base) == len(values):
                change, size = (_change(values, base, of) for of in (float, abs))
                yield MitigationChange(version.model, version.version, measure, change, size, len(values))


def _change(new: Sequence[Value], old: Sequence[Value], of: Callable[[float], float]) -> Value:
    """The mean over trainings of the change of a score, or of its size; one training has no interval."""
    return over_trainings([Value(of(a.value) - of(b.value)) for a, b in zip(new, old, strict=True)])


def _curves(versions: Sequence[ModelVersion]) -> Finding:
    """Bias at every evaluation of the fine-tunings, means over trainings."""
    rows: list[tuple[Cell, ...]] = []
    lines: dict[str, list[charts.Row]] = {}
    for version in versions:
        for task in version.trainings[0].tasks:
            curves = [curve.points for training in version.trainings if (curve := training.tasks[task].curve)]
            for points in zip(*curves, strict=False):
                values, first = [point.bias for point in points], points[0]
                bias, score = over_trainings(values), fmean(point.score for point in points)
                of_bias = (bias, deviation(values), len(values), first.n, score)
                rows.append((version.model, version.version, task, first.step, *of_bias))
                line = {"x": first.step, "y": bias.value, "panel": f"{version.model}: {task}", "low": bias.low}
                lines.setdefault(task, []).append({**line, "high": bias.high, "series": version.version})
    figures = tuple(
        Plot(
            f"figure-2-{task.lower()}",
            task,
            f"Bias on {task} against fine-tuning steps, a panel per model, a line per version.",
            charts.panels(points, x="step", y="bias", null=0.0),
        )
        for task, points in lines.items()
    )
    return Finding((), present(PAPER.table("curves", rows)), figures)


# ----------------------------------------------------------------------------------------------------- Table 1


def word_ratios(counts: Counts, changes: SizeChanges) -> tuple[list[PaperComparison], Finding]:
    """ILPS of every task's training data, by the package's words and by the published lists."""
    words, totals = [], {}
    for (task, kind), result in counts.items():
        estimate = replace(result.estimates[0], data=task, group=f"words={kind}")
        reason = "" if kind == PUBLISHED_WORDS else "other words than Zhao et al.'s"
        reason = (reason or _other_texts(task, estimate.n)) if task in PAPER_TEXTS else OTHER_TASK
        each = PAPER.compare("table-1", estimate, measure="ilps", group=task)
        words.append(replace(each, published=None, reason=reason) if reason else each)
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
    tables = [comparison_table("Words of either gender", columns, words, note)] if words else []
    theirs = PAPER.printed_table("As published", {"task": "group", "number": "measure"}, "table-1")
    return words, Finding(tuple(_order(words, changes)) if words else (), (*tables, theirs))


def group_part(estimate: Estimate, part: int = 0) -> str:
    """What the group of an estimate says: of `words=x, fine-tuning=y` the first is x."""
    return estimate.group.split(", ")[part].partition("=")[2]


def _other_texts(task: str, texts: int) -> str:
    """Why the training data are not as large as those of the paper, which are printed rounded; empty if they are."""
    size, rounding = PAPER_TEXTS[task]
    return "" if abs(texts - size) <= rounding else f"other training data: {texts:,} texts, published {size:,}"


def _order(words: Sequence[PaperComparison], changes: SizeChanges) -> Iterator[str]:
    """The paper's remark: training data with more masculine words, tasks whose bias rises in more versions."""
    ilps = {each.estimate.data: each.estimate.value for each in words}  # by the last word list
    of_tasks = {task: changes[task].values() for task in ilps if task in changes}
    rises = {task: sum(change > 0 for of in of_models for change in of) for task, of_models in of_tasks.items()}
    if len(rises) > 1:
        by_ilps, by_rises = sorted(rises, key=lambda task: -ilps[task]), sorted(rises, key=rises.__getitem__)
        same = "the same" if by_ilps == by_rises else "another"
        listed = ", ".join(f"{task} {rises[task]}" for task in by_rises)
        yield (
            f"By ILPS: {' < '.join(by_ilps)}; by how many mitigated versions are more biased than their original: "
            f"{listed}. This is {same} order (the paper: the same)"
        )


def label_table(outputs: Outputs) -> tuple[Table, ...]:
    """The labels of the tasks' training data by gender, which the paper names but does not measure; none if unknown."""
    by_task: dict[str, Mapping[str, Any]] = {}
    for role, folder in outputs.items():
        if role[0] == TUNED and role[-1] not in by_task and (labels := load(folder).meta["details"].get("labels")):
            by_task[role[-1]] = labels
    rows: list[tuple[Cell, ...]] = []
    for task, gap in ((task, gap) for task, labels in by_task.items() for gap in labels["gaps"]):
        value = load_value({name: gap["gap"][name] for name in ("value", "low", "high", "method")})
        p = gap["gap"]["p"] if gap["p_holm"] is None else gap["p_holm"]
        rows.append((task, gap["label"], gap["female"], gap["male"], value, p))
    return present(PAPER.table("labels", rows))


# ----------------------------------------------------------------------------------------------------- Table 2


def compare_tau(cell: RankCell, options: DebiasingOptions, counts: Counts) -> PaperComparison:
    """τ beside the published one if models, mitigations, data and settings are the paper's; its data are the task."""
    group = f"mitigations={cell.methods}, fine-tuning={cell.when}"
    about = {"measure": cell.intrinsic, "data": cell.extrinsic, "group": group, "n": len(cell.ranked)}
    tau = Estimate.of(cell.tau, statistic="tau", null=0.0, p=cell.test.p, **about)
    if reason := _difference(cell, options, counts):
        return PaperComparison("table-2", tau, None, reason)
    found = PAPER.match(f"table-2-{cell.when}", tau, measure=cell.intrinsic, group=cell.task)
    return PaperComparison("table-2", tau, *found)


def _difference(cell: RankCell, options: DebiasingOptions, counts: Counts) -> str:
    """In what a τ differs from the published one; empty if in nothing."""
    if cell.task not in PAPER_TEXTS:
        return OTHER_TASK
    texts = next((result.estimates[0].n for (task, _), result in counts.items() if task == cell.task), 0)
    reasons = (
        "" if cell.methods == "as published" else "other mitigations than the published code",
        _other_run(options),
        _other_bias(cell.task, options),
        _other_texts(cell.task, texts),
        "the paper does not say whether gaps keep their signs" if cell.extrinsic == SIZES else "",
    )
    return next(filter(None, reasons), "")


def _other_run(options: DebiasingOptions) -> str:
    """In what all trainings and audits of a run differ from the paper's; empty if in nothing."""
    paper = DebiasingOptions()
    tuning = [name for name in (*paper.use, *options.use) if options.use.get(name) != paper.use.get(name)]
    other_text = options.corpus or NEWS not in options.data or options.documents
    other_data = options.data[:2] != DEBIASING.data[:2] or options.limit is not None
    differences = {
        "other models": {short_name(model) for model in options.models} != set(DEBIASING.models),
        f"other data than {' and '.join(DEBIASING.data[:2])}": other_data,
        f"mitigated on another text than {NEWS}": other_text,
        "mitigated without the word lists of Zhao et al.": not options.has_lists,
        "mitigated with other training settings": options.train != paper.train,
        "hyper-parameters were not searched": not options.search,
        f"fine-tuned with other settings: {', '.join(dict.fromkeys(tuning))}": tuning,
    }
    return next((reason for reason, applies in differences.items() if applies), "")


def _other_bias(task: str, options: DebiasingOptions) -> str:
    """In what a task's own settings and test sentences differ from the paper's; empty if in nothing."""
    chosen = options.each.get(task, {})
    others = [name for name in chosen if name not in (*BROUGHT, *TEST_SENTENCES.get(task, ()))]
    lists = [Path(name).name for name in chosen.get("lists") or ()]
    every = NliBiasOptions().triples
    sampled = chosen.get("triples", every)
    differences = {
        f"other settings of the task: {', '.join(others)}": others,
        "our own triples, not those of Dev et al.": task == "NLI-bias" and not chosen.get("data"),
        f"a sample of {sampled:,} triples only": sampled < every,
        "templates by other words than the lists of Zhao et al.": task == "STS-bias"
        and lists != [Path(name).name for name in WORD_LISTS],
    }
    return next((reason for reason, applies in differences.items() if applies), "")


def _rank_finding(cells: Sequence[RankCell], taus: Sequence[PaperComparison]) -> Finding:
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
    changes = tau_changes(cells)
    of_change = [(cell.extrinsic, cell.intrinsic, cell.methods, change, len(cell.ranked)) for cell, change in changes]
    ranked = [
        (name, cell.extrinsic, cell.methods, cell.when, cell.intrinsic, *scores)
        for cell in cells
        for name, scores in cell.ranked.items()
    ]
    labels = {"task": "group", "intrinsic": "measure", "table": "item"}
    tables = (
        *([comparison_table("Kendall's τ", columns, taus, note)] if taus else []),
        *present(PAPER.table("tau-changes", of_change)),
        PAPER.printed_table("As published", labels, "table-2-before", "table-2-after"),
        *present(PAPER.table("ranked", ranked)),
    )
    grid: list[charts.Row] = [
        {"x": cell.intrinsic, "y": f"{cell.extrinsic}, {cell.methods}, {cell.when}", "value": cell.test.value}
        for cell in cells
    ]
    rose = sum(change.value > 0 for _, change in changes)
    answers = (f"τ is larger after fine-tuning in {rose} of {len(changes)} (the paper: 3 of 9)",) if changes else ()
    return Finding(answers, tables, PAPER.plot("table-2", charts.grid, grid, low=-1.0, high=1.0))


# ----------------------------------------------------------------------------------------------------- claims


def claims(
    versions: Sequence[ModelVersion], cells: Sequence[RankCell], methods: Sequence[str], notes: Sequence[str] = ()
) -> Section:
    """Every claim of the paper with its tests; `notes` say what cannot be interpreted."""
    tests = [*_change_tests(versions, methods), *_combinations(versions), *_growth(versions), *_ranks(cells)]
    few = len({version.model for version in versions}) < MIN_RANKED
    of_few = ["Tests over models need several: with fewer than three hardly anything can be decided."] if few else []
    return claims_section(tests, [*of_few, *notes])


def size_changes(versions: Sequence[ModelVersion], earlier: Mapping[str, str]) -> dict[str, dict[str, list[float]]]:
    """By measure, by model: |score| of each version less that of its `earlier` one, by training."""
    by_name = {(version.model, version.version): version for version in versions}
    changes: dict[str, dict[str, list[float]]] = {}
    for version in versions:
        before = by_name.get((version.model, earlier.get(version.version, "")))
        for new, old in zip(version.trainings, before.trainings, strict=True) if before else ():
            for measure in (name for name in old.scores if name in new.scores):
                change = abs(new.scores[measure][0].value) - abs(old.scores[measure][0].value)
                changes.setdefault(measure, {}).setdefault(version.model, []).append(change)
    return changes


def _change_tests(versions: Sequence[ModelVersion], methods: Sequence[str]) -> Iterator[ClaimTest]:
    """The change of size by mitigation, a test for every measure."""
    of_papers = {**dict.fromkeys((*PAPER_TEXTS, SIZES), "higher"), "STS-bias": "lower-sts"}
    of_measures = {**of_papers, **dict.fromkeys((name.upper() for name in INTRINSIC), "lower")}
    for name, chosen in method_sets(methods).items():
        for measure, by_model in size_changes(versions, dict.fromkeys(chosen, ORIGINAL)).items():
            where = f"{measure}, {', '.join(chosen)} ({name})"
            yield _over_models(of_measures.get(measure, "further"), where, by_model)


def _combinations(versions: Sequence[ModelVersion]) -> Iterator[ClaimTest]:
    """The size of a combination less that of every part of it that was run alone, a test for every measure."""
    names = dict.fromkeys(version.version for version in versions)
    for combination in (name for name in names if JOINED in name):
        for part in dict.fromkeys(part for part in combination.split(JOINED) if part in names):
            for measure, by_model in size_changes(versions, {combination: part}).items():
                yield _over_models("combined", f"{measure}, {combination} against {part}", by_model)


def _growth(versions: Sequence[ModelVersion]) -> Iterator[ClaimTest]:
    """The size of the bias at the last point less that at the first after step 0, where the head is random."""
    growth: dict[str, dict[str, list[float]]] = {}
    for version in versions:
        for task, run in ((task, run) for training in version.trainings for task, run in training.tasks.items()):
            points = [point for point in (run.curve.points if run.curve else ()) if point.step]
            if len(points) > 1:
                change = abs(points[-1].bias.value) - abs(points[0].bias.value)
                growth.setdefault(task, {}).setdefault(version.model, []).append(change)
    for task, by_model in growth.items():
        yield _over_models("relearnt", f"{task}, all versions", by_model)


def _over_models(claim: str, where: str, by_model: Mapping[str, Sequence[float]]) -> ClaimTest:
    """Student's test of the means of models."""
    values = np.array([fmean(changes) for changes in by_model.values()])
    value = mean_interval(values, rng=generator(0, PAPER.text.claims[claim].question), unit="models")
    return PAPER.test(claim, where, value, values.size, p=mean_test(values, 0.0))


def _ranks(cells: Sequence[RankCell]) -> Iterator[ClaimTest]:
    """τ against 0 before and after fine-tuning, and its change."""
    for cell in cells:
        where, n = f"{cell.intrinsic} and {cell.extrinsic} ({cell.methods})", len(cell.ranked)
        yield PAPER.test(f"alike-{cell.when}", where, cell.tau, n, p=cell.test.p, method=f"τ-b, {cell.test.method}")
    for cell, change in tau_changes(cells):
        where = f"{cell.intrinsic} and {cell.extrinsic} ({cell.methods})"
        yield PAPER.test("closer", where, change, len(cell.ranked))
