"""What `reliability` found about one matrix of scores, and its tables and curves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from unmask.core.estimate import Value
from unmask.diagnose.score_matrices import MeasuredScores
from unmask.findings import Cell, Plot, Table, charts
from unmask.stats.generalizability import MODEL, GStudy
from unmask.stats.reliability import Discrimination, ShortForms

ITEMS, WORDINGS = (60, 200, 1000), (1, 2, 4, 10)  # asked in the table
CURVE = (10, 20, 40, 60, 100, 200, 400, 600, 1000, 2000, 4000)  # items on the curve
LEVELS = (0.8, 0.9)
SHOWN = 20  # items listed that discriminate the wrong way
Z = 1.959964


@dataclass(frozen=True, slots=True, eq=False)
class ReliabilityResult:
    """What is known of one matrix of scores."""

    scores: MeasuredScores
    study: GStudy
    by_category: GStudy | None  # the same with the means of categories in the place of items
    items: Discrimination | None
    short: ShortForms | None

    @property
    def sizes(self) -> tuple[int, int]:
        """The numbers of items and of wordings."""
        return len(self.scores.matrix.items), len(self.scores.matrix.wordings)


def tables(each: ReliabilityResult) -> list[Table]:
    """All tables of one matrix."""
    return [_components(each), _decisions(each), _needed(each), _models(each), _wrong_way(each), _short_forms(each)]


def curves(each: ReliabilityResult, number: str) -> Plot:
    """Reliability of the ranking against the number of items, for several numbers of wordings."""
    items, wordings = each.sizes
    counts = sorted({*WORDINGS, wordings}) if wordings > 1 else [1]
    rows = []
    for count in counts:
        for n in sorted({*(size for size in CURVE if size < 1.2 * items), items}):
            value = each.study.reliability(n, count)
            series = f"{count} wording{'s' if count > 1 else ''}"
            rows.append({"series": series, "x": n, "y": value.value, "low": value.low, "high": value.high})
    return Plot(
        f"reliability{number}",
        f"What more items and wordings would buy: {each.scores.where}",
        "Reliability of the ranking of models against the number of items, a curve for each number of wordings.",
        charts.curves(rows, x="items", y="reliability of the ranking", band=len(counts) == 1),
    )


def _components(each: ReliabilityResult) -> Table:
    study = each.study
    rows: list[tuple[Cell, ...]] = []
    for number, effect in enumerate(study.effects):
        numbers = study.component(number), float(study.restricted_components[number]), study.share(number)
        relative = study.share(number, relative=True) if MODEL in effect.facets else None
        rows.append((effect.name, int(study.freedom[number]), *numbers, relative))
    return Table(
        f"Variance components: {each.scores.where}",
        ("effect", "df", "ANOVA", "REML", "share, %", "relative, %"),
        tuple(rows),
        "The variance of single scores that is due to models, items, wordings and their interactions. ANOVA: mean "
        "squares equated with their expectations; can be negative. REML: the mixed model, the same unless one would be "
        "negative. Share: of their sum; relative: of what differs between models. Intervals: generalised, from the "
        "distribution of mean squares of normal effects; they take the models for an independent sample, which sizes "
        "of one family are not.",
        digits=3,
    )


def _decisions(each: ReliabilityResult) -> Table:
    items, wordings = each.sizes
    counts = sorted({*WORDINGS, wordings}) if wordings > 1 else [1]
    rows: list[tuple[Cell, ...]] = [
        (f"{n:,} items", count, *_reliabilities(each.study, n, count))
        for n in sorted({*(size for size in ITEMS if size < items), items})
        for count in counts
    ]
    note = (
        "Of the ranking: the share of the variance of models' scores that is the models' own (generalisability "
        "coefficient). Of the scores: the same, counting also what raises or lowers the scores of all models (index "
        "of dependability). Error: standard error of a model's score, relative to the other models and in itself. "
        "Items and wordings are taken for a sample of those that could be asked."
    )
    if each.by_category is not None:
        sizes = each.by_category.sizes
        asked = f"{sizes['item']} categories"
        rows.append((asked, sizes["wording"], *_reliabilities(each.by_category, sizes["item"], sizes["wording"])))
        note += (
            " Last row: the means of categories in the place of items, as if other categories could have been asked."
        )
    columns = ("asked", "wordings", "of the ranking", "of the scores", "error, relative", "error")
    return Table(f"Reliability of what could be asked: {each.scores.where}", columns, tuple(rows), note, digits=3)


def _reliabilities(study: GStudy, items: int, wordings: int) -> tuple[Value, ...]:
    both = (False, True)
    return (
        *(study.reliability(items, wordings, absolute=absolute) for absolute in both),
        *(study.standard_error(items, wordings, absolute=absolute) for absolute in both),
    )


def _needed(each: ReliabilityResult) -> Table:
    counts = WORDINGS if each.sizes[1] > 1 else (1,)
    return Table(
        f"Items needed: {each.scores.where}",
        ("wordings", *(f"for {level}" for level in LEVELS)),
        tuple((count, *(each.study.items_needed(level, count) for level in LEVELS)) for count in counts),
        "The number of items with which the ranking has this reliability. A dash: no number is enough, because the "
        "models differ in how they take a wording; only more wordings help.",
    )


def _models(each: ReliabilityResult) -> Table:
    """The score of every model with the error of that score."""
    matrix, (items, wordings) = each.scores.matrix, each.sizes
    means = matrix.scores.mean(axis=(1, 2))
    half = Z * each.study.standard_error(items, wordings).value
    ranks = rankdata(-means, method="min")
    order = np.argsort(-means, kind="stable")
    groups = matrix.groups or ("",) * len(means)
    rows = [
        (
            *(matrix.models[place], groups[place], int(ranks[place])),
            Value(float(means[place]), float(means[place]) - half, float(means[place]) + half, "standard error"),
        )
        for place in order
    ]
    return Table(
        f"Models: {each.scores.where}",
        ("model", "group", "rank", each.scores.statistic),
        tuple(rows),
        "Mean over all items and wordings; interval: 1.96 standard errors of the score relative to the other models, "
        "over items and wordings that could have been asked.",
        digits=3,
    )


def _wrong_way(each: ReliabilityResult) -> Table:
    rows: list[tuple[Cell, ...]] = []
    if each.items is not None:
        matrix, found = each.scores.matrix, each.items
        categories = matrix.categories or ("",) * len(matrix.items)
        for place in np.argsort(np.nan_to_num(found.r, nan=2.0), kind="stable")[:SHOWN]:
            if found.r[place] < 0:
                numbers = (float(found.r[place]), float(found.p[place]), float(found.q[place]))
                rows.append((matrix.items[place], categories[place], *numbers))
    return Table(
        f"Items that push the wrong way most: {each.scores.where}",
        ("item", "category", "r", "p", "p corrected"),
        tuple(rows),
        "r: correlation of the item with the mean of the others, over models. p: one-sided, of no better than chance; "
        "corrected: the false discovery rate if all items up to this one are called wrong (Benjamini–Hochberg). All "
        "items below 0.05 are in `details` of result.json.",
    )


def _short_forms(each: ReliabilityResult) -> Table:
    rows = []
    if each.short is not None:
        rows = list(zip(each.short.sizes, each.short.chosen, each.short.random, strict=True))
    return Table(
        f"Fewer items, other models: {each.scores.where}",
        ("items", "τ, chosen", "τ, at random"),
        tuple(rows),
        "Kendall's τ between the ranking by so many items and by all, on one half of the models; the items are those "
        "that discriminate best among the other half, or as many at random. Mean and middle 95% of the splits. The "
        "short form that keeps 0.9 is in `details` of result.json.",
    )
