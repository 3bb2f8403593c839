"""Figures 6 and 13 of `gbef`: ASLD against the number of pairs, and of sentences trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from unmask.audit.parquet import rows_of
from unmask.core.estimate import Value
from unmask.core.seeds import generator
from unmask.core.types import Floats, Row
from unmask.findings import Cell, Finding, Plot, Table, charts
from unmask.findings.envelope import Result
from unmask.findings.numbers import signed_value
from unmask.stats.intervals import mean_interval
from unmask.stats.reliability import STEPS, sample_means
from unmask.stats.shares import contrast
from unmask.studies.papers.gbef import GbefOptions, curve_models

CATEGORIES = {
    "category=occupation": "occupation",
    "category=benevolent-sexism": "benevolent sexism",
    "category=hostile-sexism": "hostile sexism",
    "all": "combined",
}


def scored_rows(result: Result) -> tuple[str, str, list[Row]]:
    """The only measure and dataset of a result, and its rows."""
    (((measure, data), rows),) = rows_of(result.items).items()
    return measure, data, rows


def combined_by_size(curve: Mapping[tuple[int, int], Result]) -> dict[int, Floats]:
    """Combined ASLD of all draws, by number of sentences."""
    by_size: dict[int, list[float]] = {}
    for (size, _), result in sorted(curve.items()):
        by_size.setdefault(size, []).extend(
            each.value for each in result.estimates if each.statistic == "asld" and each.group == "all"
        )
    return {size: np.array(values) for size, values in by_size.items()}


def sample_size_finding(result: Result | None, options: GbefOptions) -> Finding:
    """Mean ASLD over samples of 20, 40, … 100 pairs of every category, and combined."""
    if result is None:
        return Finding((), ())
    sizes_of: dict[str, list[float]] = {}
    for row in scored_rows(result)[2]:
        if row.scores:
            for group in (f"category={row.groups.get('category')}", "all"):
                sizes_of.setdefault(group, []).append(abs(row.difference))
    rows: list[tuple[Cell, ...]] = []
    points = []
    for group, label in CATEGORIES.items():
        values = np.array(sizes_of.get(group, []))
        for size in (step for step in STEPS if step <= values.size):
            rng = generator(options.seed, f"figure 6 {group}", size)
            means = sample_means(values, size, max(options.draws, 2), rng=rng)
            ends = Value(float(means.mean()), float(means.min()), float(means.max()), "range")
            rows.append((label, size, ends, float(means.std(ddof=1)), values.size))
            points.append({"x": size, "y": ends.value, "low": ends.low, "high": ends.high, "series": label})
    if not rows:
        return Finding((), (), (), ("fewer than 20 pairs in every category",))
    columns = ("category", "pairs", "mean (least to most)", "SD", "of")
    note = "Samples without replacement of one category: near all of its pairs they overlap and must agree."
    table = Table("ASLD against the number of pairs", columns, tuple(rows), note)
    alt = "ASLD of samples against their size, a line per category, with the range of the samples."
    chart = charts.curves(points, x="pairs in a sample", y="ASLD, nats", band=True)
    return Finding((), (table,), (Plot("figure-6", "ASLD against the number of pairs", alt, chart),))


def _mean_over_draws(values: Sequence[float], seed: int, label: str) -> Value:
    """The mean with Student's interval, which for few draws could reach below 0."""
    return mean_interval(np.array(values), rng=generator(seed, label), unit="draws").clip(0.0, np.inf)


def curve_finding(curve: Mapping[tuple[int, int], Result], base: Result | None, options: GbefOptions) -> Finding:
    """ASLD by number of sentences and category: the mean over independent samples; 0 is the model itself."""
    values: dict[tuple[int, str], list[float]] = {}
    untrained = {(0, 0): base} if base is not None else {}
    for (size, _), result in {**untrained, **curve}.items():
        for estimate in result.estimates:
            if estimate.statistic == "asld" and estimate.group in CATEGORIES:
                values.setdefault((size, CATEGORIES[estimate.group]), []).append(estimate.value)
    order = list(CATEGORIES.values())
    means = {
        (size, group): _mean_over_draws(found, options.seed, f"{size}/{group}")
        for (size, group), found in sorted(values.items(), key=lambda entry: (entry[0][0], order.index(entry[0][1])))
    }
    planned = {size for size, _ in curve_models(options)}
    missing = [size for size in options.sizes if size not in planned]
    notes = [f"No sample of {size:,} sentences: the text has fewer." for size in missing]
    if not curve:
        return Finding((), (), (), tuple(notes))
    rows = [(size, group, mean, len(values[size, group])) for (size, group), mean in means.items()]
    points = [
        {"x": size, "y": mean.value, "low": mean.low, "high": mean.high, "series": group}
        for (size, group), mean in means.items()
    ]
    by_size = combined_by_size(curve)
    answers = []
    for small, large in zip(sorted(by_size), sorted(by_size)[1:], strict=False):
        found = contrast(by_size[large], by_size[small])
        answers.append(f"from {small:,} to {large:,} sentences combined ASLD changes by {signed_value(found)}")
    table = Table("ASLD by number of sentences", ("sentences", "category", "ASLD", "draws"), tuple(rows))
    alt = "ASLD against the number of sentences of counterfactual data, a line per category."
    chart = charts.curves(points, x="sentences", y="ASLD, nats", band=True)
    return Finding(tuple(answers), (table,), (Plot("figure-13", "Learning curve", alt, chart),), tuple(notes))
