"""Tables I to V of `prompts`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from unmask.core.estimate import Estimate
from unmask.findings import Cell, Finding, Plot, Table, charts
from unmask.findings.envelope import Result
from unmask.stats.paired import Comparison
from unmask.studies import collect
from unmask.studies.claims import describe_test
from unmask.studies.papers.prompts import TYPES
from unmask.studies.spec import PaperComparison

# By statistic: its name in the paper.
SCORES = {"bias-score": "metric score", "stereo-score": "stereo score", "antistereo-score": "anti-stereo score"}
Results = Mapping[str, Result]  # by model
ModelChanges = Sequence[tuple[str, str, Comparison]]  # two models, and how the second differs


def size_finding(results: Results, limit: int | None) -> Finding:
    """Table I."""
    if not results:
        return Finding((), ())
    first = next(iter(results.values()))
    by_type = {
        estimate.group.partition("=")[2]: estimate for estimate in first.estimates if estimate.statistic == "bias-score"
    }
    rows: list[tuple[Cell, ...]] = []
    data, reasons = str(first.meta["data"][0]["name"]), set[str]()
    for name, label in TYPES.items():
        ours = by_type.get(name) or by_type.get(label)
        counted = Estimate(ours.n + ours.unscored if ours else 0, data=data)
        published, reason, _ = collect.find_published("prompts", "table-1", counted, limit=limit, group=label)
        rows.append((label, int(counted.value), None if published is None else int(published)))
        reasons |= {reason} - {""}
    note = f"Pairs of {data}. Counts have no interval."
    note += f" No published count: {', '.join(sorted(reasons))}." if reasons else ""
    return Finding((), (Table("Pairs by bias type", ("bias type", "pairs", "published"), tuple(rows), note),))


def example_finding(benchmark: Results, own: Results) -> Finding:
    """The first pair of every bias type."""
    rows: list[tuple[Cell, ...]] = []
    for results in (benchmark, own):
        found: dict[str, tuple[Cell, ...]] = {}
        for item in next(iter(results.values())).items.to_pylist() if results else ():
            name = TYPES.get(item.get("category") or "")
            if name is not None:
                found.setdefault(name, (name, item["data"], item["text_more"], item["text_less"]))
        rows += [found[name] for name in TYPES.values() if name in found]
    columns = ("bias type", "data", "stereotyping sentence", "other sentence")
    return Finding((), (Table("Examples", columns, tuple(rows)),) if rows else ())


def score_comparisons(results: Results, item: str, limit: int | None) -> list[PaperComparison]:
    """The three scores of every model beside the published ones."""
    return [
        collect.compare("prompts", item, estimate, model, limit=limit, measure=SCORES[estimate.statistic])
        for model, result in results.items()
        for statistic in SCORES
        for estimate in result.estimates
        if (estimate.group, estimate.statistic) == ("all", statistic)
    ]


def score_finding(scores: Sequence[PaperComparison], item: str, changes: ModelChanges) -> Finding:
    """Tables III and IV, and the order of the models."""
    columns: collect.Columns = {
        "model": "model",
        "data": "data",
        "measure": "measure",
        "score": lambda estimate: SCORES[estimate.statistic],
        "ours": collect.VALUE,
        "n": "n",
        "neutral": "ties",
    }
    note = f"{collect.interval_note('Wilson', (each.estimate for each in scores))} Neutral: pairs with equal scores."
    tables = [collect.comparison_table("Scores", columns, scores, note), _order(scores, changes)] if scores else []
    titles = {f"{item}-o": "The original paper (Nangia et al. 2020), as quoted"}
    if all(each.published is None for each in scores):
        titles = {item: "As published, of other models or data", **titles}
    for part, title in titles.items():
        printed = [cell for cell in collect.paper_values("prompts") if cell.item == part]
        tables += [collect.published_table(title, {"model": "model", "score": "measure"}, printed)] if printed else []
    return Finding((), tuple(tables))


def _order(scores: Sequence[PaperComparison], changes: ModelChanges) -> Table:
    """The models from least to most biased, and how each differs from the one before it."""
    whole = [each.estimate for each in scores if each.estimate.statistic == "bias-score"]
    against = {second: (first, change) for first, second, change in changes}
    rows: list[tuple[Cell, ...]] = []
    for place, each in enumerate(sorted(whole, key=lambda estimate: estimate.value), 1):
        _, change = against.get(each.model, (None, None))
        tested = (None, None) if change is None else (change.difference, change.p)
        rows.append((place, each.model, each, *tested))
    tests = dict.fromkeys(describe_test("McNemar", change.difference) for *_, change in changes)
    note = "By metric score. Difference: from the model before, over the same pairs"
    return Table(
        "Models from least to most biased",
        ("place", "model", "metric score", "difference", "p"),
        tuple(rows),
        f"{note}; test: {', '.join(tests)}, not corrected." if tests else f"{note}.",
    )


def rank_finding(by_data: Mapping[str, Results], limit: int | None) -> Finding:
    """Table V: bias types in the order of their mean difference, by model and data."""
    rows: list[tuple[Cell, ...]] = []
    bars, shown_estimates = [], list[Estimate]()
    for what, results in by_data.items():
        for model, result in results.items():
            for place, (name, estimate) in enumerate(mean_differences(result), 1):
                compared = collect.compare("prompts", "table-5", estimate, model, limit=limit, group=name)
                paper = None if compared.published is None else int(compared.published)
                shown = (compared.reason or None) if paper is None else None
                rows.append((what, model, place, name, estimate, estimate.n, paper, shown))
                shown_estimates.append(estimate)
                bars.append(charts.interval_row(f"{name}, {what}", estimate, model))
    note = collect.interval_note("Bootstrap", shown_estimates)
    published: dict[str, list[str]] = {}
    for cell in sorted(collect.paper_values("prompts"), key=lambda cell: cell.value):
        if cell.item == "table-5":
            published.setdefault(cell.model, []).append(cell.group)
    columns = ("pairs", "model", "place", "bias type", "mean difference", "n", "published place", "why not compared")
    tables = [
        Table(
            "Bias types by mean difference",
            columns,
            tuple(rows),
            f"In nats; positive: the stereotyping sentence is likelier. {note}",
        ),
        Table(
            "As published",
            ("model", "first", "second", "third", "fourth"),
            tuple((model, *names) for model, names in published.items()),
        ),
    ]
    alt = "Mean difference in log-likelihood between the two sentences of a pair, by bias type, data and model."
    plots = (Plot("table-5", "Mean difference by bias type", alt, charts.bars(bars, axis="nats")),) if bars else ()
    return Finding((), tuple(table for table in tables if table.rows), plots)


def mean_differences(result: Result) -> list[tuple[str, Estimate]]:
    """Estimates of the paper's bias types, the largest mean difference first."""
    by_type = []
    for estimate in result.estimates:
        key, _, name = estimate.group.partition("=")
        if estimate.statistic == "mean-difference" and key == "category" and name in TYPES:
            by_type.append((TYPES[name], estimate))
    return sorted(by_type, key=lambda entry: -entry[1].value)
