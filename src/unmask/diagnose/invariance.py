"""`invariance`: do items measure the same in two groups of models? (differential item functioning)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

import numpy as np

from unmask.core.errors import StatsError
from unmask.core.estimate import Estimate, Value
from unmask.core.seeds import generator
from unmask.core.statistic import LEVEL
from unmask.data.matrices import ScoreMatrix
from unmask.diagnose.score_matrices import MeasuredScores, join_matrices, matrices, take
from unmask.diagnose.spec import DiagnosisObservation, DiagnosisSettings, Observations
from unmask.findings import Cell, Finding, Plot, Table, charts
from unmask.findings.numbers import number, p_value, signed_number
from unmask.stats.corrections import holm
from unmask.stats.dif import (
    STRATA,
    Flags,
    ItemAgreement,
    ItemDif,
    MantelHaenszel,
    invariance_test,
    item_agreement,
    mantel_haenszel,
    regression_dif,
)

SHOWN = 20  # items listed
MIN_CATEGORIES = 3
LARGE = 1.5  # on the ETS delta scale


@dataclass(frozen=True, slots=True, eq=False)
class InvarianceResult:
    """How two groups of models compare on the same items."""

    scores: MeasuredScores
    focal: Flags
    names: tuple[str, str]  # of the focal group and the other
    items: ItemDif
    decisions: MantelHaenszel
    overall: tuple[float, float]  # the mean squared t, and its p-value
    agreement: ItemAgreement

    @property
    def where(self) -> str:
        """The groups and the data in a sentence or a title."""
        return f"{self.names[0]} against {self.names[1]}, {self.scores.where}"

    @property
    def below(self) -> float:
        """Percent of items with p < 0.05, of which 5 are expected by chance."""
        return 100 * float((self.items.p < LEVEL).mean())


def conclude(observations: Observations, settings: DiagnosisSettings) -> Finding:
    """Differential item functioning as a whole, by category and by item."""
    found, notes = _results(tuple(observations), settings)
    tables = [table for each in found for table in (_groups(each), _summary(each), _categories(each), _items(each))]
    plots = [
        plot
        for number, each in enumerate(found, start=1)
        for plot in _plots(each, f"-{number}" if len(found) > 1 else "")
    ]
    return Finding(
        tuple(line for each in found for line in _answers(each)),
        tuple(table for table in tables if table.rows),
        tuple(plots),
        tuple(notes),
    )


def estimates(observations: Observations, settings: DiagnosisSettings) -> list[Estimate]:
    """The mean squared t with its p-value, the correlation of the items, and the effect by category."""
    every = []
    for each in _results(tuple(observations), settings)[0]:
        named = {"measure": f"invariance/{each.scores.measure or 'scores'}", "data": each.scores.matrix.name}
        n = len(each.scores.matrix.items)
        square, p = each.overall
        every += [
            Estimate.of(Value(square, method="permutation"), **named, statistic="mean-squared-t", null=1.0, n=n, p=p),
            Estimate.of(each.agreement.r, **named, statistic="item-correlation", n=n),
            Estimate.of(Value(each.below, method="none"), **named, statistic="items-below-0.05", null=5.0, n=n),
        ]
        every += [
            Estimate.of(value, **named, group=f"category={name}", statistic="dif", null=0.0, n=count, p=p, p_holm=q)
            for name, count, value, p, q in _by_category(each)
        ]
    return every


def details(observations: Observations, settings: DiagnosisSettings) -> dict[str, Any]:
    """All items with DIF after correction, by groups and data."""
    return {
        "items": {
            each.where: [each.scores.matrix.items[place] for place in np.flatnonzero(each.items.has_dif)]
            for each in _results(tuple(observations), settings)[0]
        }
    }


@lru_cache(maxsize=1)  # for the finding, the estimates and the details
def _results(
    observations: tuple[DiagnosisObservation, ...], settings: DiagnosisSettings
) -> tuple[list[InvarianceResult], list[str]]:
    """The result of every matrix with two groups of models, and why others have none."""
    found, notes = [], list[str]()
    for scores in _tables_joined(matrices(observations, centre=settings.centre)):
        notes += scores.notes
        try:
            found.append(_result(scores, settings))
        except StatsError as error:
            notes.append(f"{scores.where}: {error}")
    if not found:
        raise StatsError("; ".join(notes) or "no scores of the same items by two groups of models")
    return found, notes


def _tables_joined(scores: Sequence[MeasuredScores]) -> Iterator[MeasuredScores]:
    """Tables of scores as one, as their models are compared with each other; matrices of audits as they are."""
    tables = [each for each in scores if not each.measure]
    if tables:
        notes = tuple(note for each in tables for note in each.notes)
        matrix = join_matrices([each.matrix for each in tables])
        if len(tables) > 1:
            notes += (f"the {len(matrix.items):,} items that {matrix.name} have in common; means over wordings",)
        yield replace(tables[0], matrix=matrix, notes=notes)
    for each in scores:
        if each.measure:
            yield replace(each, matrix=join_matrices([each.matrix]))


def _result(scores: MeasuredScores, settings: DiagnosisSettings) -> InvarianceResult:
    matrix, focal, names = _grouped(scores.matrix, settings)
    values = matrix.scores[:, :, 0]
    items = regression_dif(values, focal)
    return InvarianceResult(
        replace(scores, matrix=matrix),
        focal,
        names,
        items,
        mantel_haenszel(values, focal, items.anchors),
        invariance_test(values, focal, rng=generator(settings.seed, "permutations")),
        item_agreement(values, focal),
    )


def _grouped(matrix: ScoreMatrix, settings: DiagnosisSettings) -> tuple[ScoreMatrix, Flags, tuple[str, str]]:
    """The models of the two groups, which of them are focal, and the names of the groups."""
    if settings.focal:
        inside = [_matches(model, settings.focal) for model in matrix.models]
        others = [
            not own and (not settings.reference or _matches(model, settings.reference))
            for model, own in zip(matrix.models, inside, strict=True)
        ]
        names = ",".join(settings.focal), ",".join(settings.reference) or "others"
    else:
        known = list(dict.fromkeys(matrix.groups))
        if len(known) != 2 or settings.reference:
            what = f"groups {', '.join(known)}" if any(known) else "no groups of models"
            raise StatsError(f"{what}: expected two, or the models of one of them in focal (--focal)")
        inside, others = ([group == name for group in matrix.groups] for name in known)
        names = known[0], known[1]
    places = [place for place, kept in enumerate(zip(inside, others, strict=True)) if any(kept)]
    chosen = take(matrix, places, range(len(matrix.items)))
    return chosen, np.array([inside[place] for place in places], dtype=np.bool_), names


def _matches(model: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(model, pattern) for pattern in patterns)


# ------------------------------------------------------------------------------------ what is said


def _answers(each: InvarianceResult) -> list[str]:
    square, p = each.overall
    flagged = int(each.items.has_dif.sum())
    n = len(each.scores.matrix.items)
    whole = "measure differently in the two groups" if p < LEVEL else "show no difference between the groups"
    r, corrected = each.agreement.r.value, each.agreement.corrected_r
    without_noise = f", {number(corrected)} without the noise of few models" if math.isfinite(corrected) else ""
    lines = [
        f"{each.where}: as a whole the items {whole} (mean squared t {square:.2f}, 1 without a difference; "
        f"p {p_value(p)}); {flagged:,} of {n:,} items differ after correction, {each.below:.0f}% before (5% by chance)",
        f"{each.where}: the two groups order the items with a correlation of {number(r)}{without_noise}",
    ]
    moved = [(name, value) for name, _, value, _, q in _by_category(each) if q is not None and q < LEVEL]
    if moved:
        texts = [
            f"{name} ({signed_number(value.value)})"
            for name, value in sorted(moved, key=lambda one: -abs(one[1].value))
        ]
        lines.append(f"{each.where}: at the same mean {each.names[0]} differ on {', '.join(texts[:6])}")
    return lines


def _groups(each: InvarianceResult) -> Table:
    matrix = each.scores.matrix
    means = matrix.scores[:, :, 0].mean(axis=1)
    rows: list[tuple[Cell, ...]] = []
    for name, members in zip(each.names, (each.focal, ~each.focal), strict=True):
        listed = [model for model, inside in zip(matrix.models, members, strict=True) if inside]
        spread = float(means[members].std(ddof=1)) if members.sum() > 1 else None
        rows.append((name, len(listed), float(means[members].mean()), spread, ", ".join(listed)))
    columns = ("group", "n", f"mean {each.scores.statistic}", "SD", "models")
    return Table(f"The groups: {each.where}", columns, tuple(rows), digits=3)


def _summary(each: InvarianceResult) -> Table:
    dif, odds = each.items, each.decisions
    n = len(each.scores.matrix.items)

    def row(name: str, p: Any, q: Any, family: Any = None) -> tuple[Cell, ...]:
        known = np.isfinite(p)
        counts = [100 * float((p[known] < LEVEL).mean()) if known.any() else None, int((q[known] < LEVEL).sum())]
        return (name, int(known.sum()), *counts, int((family[known] < LEVEL).sum()) if family is not None else None)

    rows = [
        row("regression: level", dif.p, dif.q, dif.p_holm),
        row("regression: slope", dif.p_slopes, dif.q_slopes),
        row("Mantel–Haenszel: decisions", odds.p, odds.q),
    ]
    large = 100 * float((np.abs(odds.delta[np.isfinite(odds.delta)]) > LARGE).mean()) if n else 0.0
    return Table(
        f"Items that do not function alike: {each.where}",
        ("test", "items tested", "p < 0.05, %", "FDR 5%", "Holm 5%"),
        tuple(rows),
        "Level: the item is higher in one group at the same mean of the others. Slope: it follows the mean more in one "
        f"group. Decisions: the odds of a positive score, within {STRATA} strata of the mean share of the others; "
        f"{large:.0f}% of the items have a large odds ratio (above {LARGE} on the ETS scale), of which few models give "
        f"many by chance. The mean is of {int(dif.anchors.sum()):,} items after purification ({dif.rounds} rounds).",
    )


def _by_category(each: InvarianceResult) -> list[tuple[str, int, Value, float | None, float | None]]:
    """Name, items, effect, p and its Holm correction of every category, matched by the mean of the others."""
    of = np.array(each.scores.matrix.categories)
    names = sorted(set(each.scores.matrix.categories))
    if len(names) < MIN_CATEGORIES:
        return []
    values = each.scores.matrix.scores[:, :, 0]
    means = np.stack([values[:, of == name].mean(axis=1) for name in names], axis=1)
    found = regression_dif(means, each.focal, purify=False)
    ps = [None if np.isnan(p) else float(p) for p in found.p]
    return [
        (name, int((of == name).sum()), found.value(place), p, q)
        for place, (name, p, q) in enumerate(zip(names, ps, holm(ps), strict=True))
    ]


def _categories(each: InvarianceResult) -> Table:
    return Table(
        f"By category: {each.where}",
        ("category", "items", "effect", "p", "p Holm"),
        tuple(_by_category(each)),
        f"How much higher {each.names[0]} score on the items of a category at the same mean of the other categories, "
        "in standard deviations within groups; interval and p over models. Differences are relative: about 0 on "
        "average.",
    )


def _items(each: InvarianceResult) -> Table:
    matrix, dif, odds = each.scores.matrix, each.items, each.decisions
    categories = matrix.categories or ("",) * len(matrix.items)
    rows: list[tuple[Cell, ...]] = []
    for place in np.argsort(np.nan_to_num(dif.p, nan=2.0), kind="stable")[:SHOWN]:
        numbers = [float(values[place]) for values in (dif.effect, dif.p, dif.q, dif.p_holm, odds.delta)]
        rows.append((matrix.items[place], categories[place], *(None if np.isnan(x) else x for x in numbers)))
    return Table(
        f"Items that differ most: {each.where}",
        ("item", "category", "effect", "p", "p FDR", "p Holm", "ETS delta"),
        tuple(rows),
        f"Effect: how much higher {each.names[0]} score at the same mean of the others, in standard deviations within "
        "groups. p FDR: false discovery rate (Benjamini–Hochberg). ETS delta: −2.35 × the log of the Mantel–Haenszel "
        "odds ratio of decisions; a dash if a group decides all alike.",
    )


def _plots(each: InvarianceResult, number: str) -> tuple[Plot, ...]:
    rows = ((name, value, "") for name, _, value, _, _ in _by_category(each))
    alt = "Mean difference of the items of each category between the groups at the same total score, with intervals."
    axis = "effect, standard deviations"
    return charts.interval_plots(
        f"invariance{number}", f"Difference by category: {each.where}", alt, rows, axis=axis, null=0.0
    )
