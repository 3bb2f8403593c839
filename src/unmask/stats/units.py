"""The unit of resampling: what items share, so that they are not independent, and the sampling error of their mean.

Pairs of one writer, examples of one target term, paraphrases of one pair, templates filled with one word have more in
common than others. `units_of` derives the unit from the group columns of the items, in one place for intervals and
tests alike; `sampling_error` is the variance of a mean over them, its degrees of freedom and the design effect.

One unit: the cluster-robust variance with the correction CR2 (Bell & McCaffrey 2002) and Satterthwaite's degrees of
freedom under a random effect of the unit (Imbens & Kolesár 2016), which are few where one unit has most of the items.
Words × templates: the variances over words and over templates minus that of their interaction, as in the analysis of
variance of two crossed random effects, with Satterthwaite's degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from unmask.core.types import SAME, Floats, Ints

ITEM, WORD, TEMPLATE = "item", "word", "template"
CROSSED = f"{WORD} × {TEMPLATE}"
# Group columns that name what items share, in the order in which they are looked for, and the name of the unit.
COLUMNS = {
    "writer": "writer",
    "target": "target term",
    "original": "original pair",
    "stereotype": "stereotype",
    "occupation": "occupation",
    "cluster": "sentence",
}
DISTINCT = "distinct pair"  # the unit of data with equal pairs
MIN_CROSSED = 4  # fewest words, and templates, for an interval over both: with 2 it covers 86 to 95%, with 3 93 to 98%
SWEEPS = 200  # at most, of the additive fit; a balanced table needs one
NEGLIGIBLE = 1e-12


@dataclass(frozen=True, slots=True)
class Units:
    """The units of some items: none (the items themselves), one, or words and templates."""

    name: str = ITEM
    codes: tuple[Ints, ...] = ()  # for each unit, the number of each item's own
    counts: tuple[int, ...] = ()  # how many there are of each

    @property
    def label(self) -> str:
        """`77 writers`, `60 words and 5 templates`; empty for items."""
        names = (WORD, TEMPLATE) if len(self.codes) == 2 else (self.name,)
        return " and ".join(f"{count:,} {plural(name, count)}" for count, name in zip(self.counts, names, strict=False))

    @property
    def tag(self) -> str:
        """The name as a value carries it: empty for items."""
        return "" if self.name == ITEM else self.name

    @property
    def independent(self) -> bool:
        """Whether every item is a unit of its own."""
        return not self.codes


INDEPENDENT = Units()


def plural(name: str, count: int) -> str:
    """The name of a unit for so many of them."""
    return name if count == 1 else f"{name}s"


def units_of(labels: Mapping[str, np.ndarray]) -> Units:
    """The units of items with these group columns; a column counts if every item has a value in it.

    Equal pairs are in one unit: units that share such a pair are one.
    """
    present = {name: column for name, column in labels.items() if column.size and (column != "").all()}
    same = present.get(SAME)
    if WORD in present and TEMPLATE in present:
        return _crossed(present[WORD], _joined(present[TEMPLATE], same))
    for column, name in COLUMNS.items():
        if column in present:
            return _clusters(name, _joined(present[column], same))
    return INDEPENDENT if same is None else _clusters(DISTINCT, same)


def units_of_items(groups: Sequence[Mapping[str, str]]) -> Units:
    """The units of items with these groups."""
    names = (WORD, TEMPLATE, *COLUMNS, SAME)
    return units_of({name: np.array([each.get(name, "") for each in groups], dtype=np.str_) for name in names})


def _crossed(words: np.ndarray, templates: np.ndarray) -> Units:
    """Words × templates; the coarser of the two if each of its values has the other's values to itself."""
    both = [np.unique(column, return_inverse=True) for column in (words, templates)]
    (n_words, n_templates), codes = [names.size for names, _ in both], [code for _, code in both]
    cells = np.unique(codes[0] * n_templates + codes[1]).size
    if n_words == 1 or cells == n_words > n_templates > 1:
        return _clusters(TEMPLATE, templates)
    if n_templates in (1, cells):
        return _clusters(WORD, words)
    return Units(CROSSED, (codes[0], codes[1]), (n_words, n_templates))


def _joined(column: np.ndarray, same: np.ndarray | None) -> np.ndarray:
    """The column with one value for all items that are connected by its values or by equal pairs."""
    if same is None:
        return column
    codes, others = (np.unique(each, return_inverse=True)[1] for each in (column, same))
    nodes = int(codes.max() + others.max()) + 2
    links = (np.ones(column.size), (codes, others + codes.max() + 1))
    _, blocks = connected_components(coo_array(links, shape=(nodes, nodes)), directed=False)
    return np.asarray(blocks[codes]).astype(np.str_)


def _clusters(name: str, column: np.ndarray) -> Units:
    found, codes = np.unique(column, return_inverse=True)
    return Units(name) if found.size == column.size else Units(name, (codes,), (found.size,))


class SamplingError(NamedTuple):
    """The variance of a mean over units, its degrees of freedom, and that variance over that of independent items."""

    variance: float
    df: float
    design_effect: float


def sampling_error(values: Floats, units: Units) -> SamplingError | None:
    """The sampling error of the mean of the values; None with too few units, or if they do not differ."""
    deviations, n = values - values.mean(), values.size
    if n < 2 or not (alone := float(deviations @ deviations) / (n - 1) / n):
        return None
    if units.independent:
        return SamplingError(alone, n - 1.0, 1.0)
    few = MIN_CROSSED if len(units.codes) == 2 else 2
    if min(units.counts) < few:
        return None
    found = variance_over_both(deviations, units) if len(units.codes) == 2 else _over(deviations, units.codes[0])
    variance, df = found
    if not variance > NEGLIGIBLE * alone:
        return None
    return SamplingError(variance, df, variance / alone)


def _over(deviations: Floats, codes: Ints) -> tuple[float, float]:
    """Variance and degrees of freedom over clusters.

    With cluster sizes m, sums S of deviations and w = 1 / (1 − m/n) / n², the variance is Σ w S². Under a random
    effect, the sums have the covariance C = diag(v) − (v mᵀ + m vᵀ)/n + (Σv) m mᵀ/n², where v = σ²m + τ²m²; the
    degrees of freedom are tr(WC)² / tr((WC)²).
    """
    n = deviations.size
    sizes = np.bincount(codes).astype(np.float64)
    sums = np.asarray(np.bincount(codes, deviations), np.float64)
    weights = 1 / (1 - sizes / n) / n**2
    v = _cluster_variances(deviations, sums, sizes)
    basis = np.stack([v, sizes])
    core = np.array([[0.0, -1 / n], [-1 / n, v.sum() / n**2]])
    projected = core @ ((basis * weights) @ basis.T)
    trace = float(weights @ v + np.trace(projected))
    square = float(
        (weights * v) @ (weights * v)
        + 2 * np.trace(core @ ((basis * weights**2 * v) @ basis.T))
        + np.trace(projected @ projected)
    )
    return float(weights @ sums**2), trace**2 / square


def _cluster_variances(deviations: Floats, sums: Floats, sizes: Floats) -> Floats:
    """The variance of each cluster's sum by the analysis of variance, the component of clusters at least 0."""
    n, count = deviations.size, sizes.size
    between = float((sums**2 / sizes).sum())
    of_clusters = between / (count - 1)
    of_items = max((float(deviations @ deviations) - between) / max(1, n - count), NEGLIGIBLE * of_clusters)
    typical = (n - float(sizes @ sizes) / n) / (count - 1)
    component = max(0.0, (of_clusters - of_items) / typical)
    return np.asarray(of_items * sizes + component * sizes**2, np.float64)


def variance_over_both(deviations: Floats, units: Units) -> tuple[float, float]:
    """Variance and degrees of freedom over words and templates; at least the larger of the two alone."""
    words, templates = units.codes
    parts = [_over(deviations, words), _over(deviations, templates)]
    (by_word, word_df), (by_template, template_df) = parts
    rest, rest_df = _interaction(deviations, units)
    variance, larger = by_word + by_template - rest, max(parts)
    if variance <= larger[0]:
        return larger
    return variance, variance**2 / (by_word**2 / word_df + by_template**2 / template_df + rest**2 / rest_df)


@dataclass(frozen=True, slots=True)
class Components:
    """The variances of words, of templates and of the rest."""

    words: float
    templates: float
    rest: float

    def error(self, words: int, templates: int) -> float:
        """The standard error of the mean of a table of so many words and templates."""
        return float(np.sqrt(self.words / words + self.templates / templates + self.rest / (words * templates)))


def crossed_components(values: Floats, units: Units) -> Components | None:
    """The variance components of words × templates, none negative; None with too few of them."""
    if len(units.codes) != 2 or min(units.counts) < MIN_CROSSED:
        return None
    deviations, (words, templates) = values - values.mean(), units.counts
    by_word, by_template = (_over(deviations, codes)[0] for codes in units.codes)
    rest, _ = _interaction(deviations, units)
    return Components(
        max(0.0, (by_word - rest) * words), max(0.0, (by_template - rest) * templates), rest * deviations.size
    )


def _interaction(deviations: Floats, units: Units) -> tuple[float, float]:
    """The variance that the interaction adds to the mean, and its degrees of freedom, by an additive fit."""
    residuals, sizes = deviations.copy(), [np.bincount(codes) for codes in units.codes]
    for _ in range(SWEEPS):
        moved = 0.0
        for codes, size in zip(units.codes, sizes, strict=True):
            means = np.bincount(codes, residuals) / size
            residuals -= means[codes]
            moved = max(moved, float(np.abs(means).max()))
        if moved <= NEGLIGIBLE * float(np.abs(deviations).max()):
            break
    n, links = deviations.size, (np.ones(deviations.size), (units.codes[0], units.codes[1] + units.counts[0]))
    nodes = sum(units.counts)
    blocks, _ = connected_components(coo_array(links, shape=(nodes, nodes)), directed=False)
    df = max(1.0, float(n - nodes + int(blocks)))
    return float(residuals @ residuals) / df / n, df
