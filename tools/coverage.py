"""How often the 95% intervals contain the truth: samples with a known truth, drawn at random.

python -m tools.coverage --draws 2000
python -m tools.coverage --draws 200 --only "words × templates" --jobs 4
python -m tools.coverage --rejected

A row is a kind of estimate that the tool prints, for one shape of data. `coverage` has its Monte-Carlo error (one
standard error); draws without an interval ("too few") are counted apart and cover nothing. The aim is 93 to 97%.
`--rejected` prints the same for methods that unmask does not use, and that docs/statistics.md says why it does not.
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import bootstrap

from unmask.core.estimate import Value
from unmask.corpus.ratios import ilps
from unmask.findings import Table
from unmask.findings.markdown import table as markdown
from unmask.stats.agreement import Rankings, kendall_taus, rank_agreements
from unmask.stats.bootstrap import BootstrapMethod, percentile_interval, resampled_items
from unmask.stats.intervals import mean_interval, paired_interval, student_ends
from unmask.stats.regression import correlation, fit_line
from unmask.stats.roc import roc_auc
from unmask.stats.shares import HitCounts, difference_interval, share_contrast, share_interval, unit_share, wilson
from unmask.stats.triples import TermScores, icat, icat_interval
from unmask.stats.units import INDEPENDENT, SamplingError, Units, units_of, variance_over_both
from unmask.stats.validity import dose_correlation, dose_margin
from unmask.stats.worsening import distance_interval

Rng = np.random.Generator
COLUMNS = ("estimate", "data", "truth", "coverage, %", "error", "below, %", "above, %", "too few, %")
# 1,508 pairs of 77 writers, as unequal as those of CrowS-Pairs
CROWS = (130, 120, 110, 100, 90, 80, 70, 60, *(40,) * 8, *(20,) * 12, *(8,) * 15, *(3,) * 17, *(1,) * 17)


OF_WRITERS = {"1,508 pairs of 77 writers": CROWS, "60 pairs of 10 writers": (6,) * 10}


@dataclass(frozen=True)
class Case:
    """What is estimated, on which data, its true value, and how an estimate is drawn."""

    kind: str
    data: str
    truth: float
    draw: Callable[[Rng], Value]


def clusters(sizes: Sequence[int]) -> Units:
    """Units of these sizes."""
    labels = np.repeat([f"{number:05}" for number in range(len(sizes))], sizes)
    return units_of({"writer": labels})


def shares() -> Iterator[Case]:
    """Bias scores of independent pairs and of pairs of writers, and gaps between two of them."""
    for n in (10, 60, 262, 1508):
        for share in (0.5, 0.9):
            yield Case("share", f"{n} pairs", 100 * share, lambda rng, n=n, p=share: wilson(int(rng.binomial(n, p)), n))
    shapes = {
        "1,508 pairs of 77 writers": CROWS,
        "60 pairs of 22 writers": (12, 9, 7, 5, 4, 3, 3, *(2,) * 2, *(1,) * 13),
        "60 pairs of 10 writers": (6,) * 10,
        "50 pairs of 5 writers": (10,) * 5,
    }
    for name, sizes in shapes.items():
        for share, alike in ((0.5, 0.0), (0.5, 0.02), (0.6, 0.1), (0.9, 0.02)):
            units, of = clusters(sizes), np.array(sizes)
            truth, label = 100 * share, f"{name}, ICC {alike:g}"
            yield Case(
                "share", label, truth, lambda rng, u=units, of=of, p=share, r=alike: unit_share(_wins(rng, of, p, r), u)
            )
    for n, m, p, q in ((40, 20, 0.6, 0.6), (40, 20, 0.9, 0.6), (1290, 218, 0.6, 0.5)):
        yield Case(
            "gap of two shares",
            f"{n} and {m} pairs",
            100 * (p - q),
            lambda rng, n=n, m=m, p=p, q=q: share_contrast(int(rng.binomial(n, p)), n, int(rng.binomial(m, q)), m),
        )


def _wins(rng: Rng, sizes: np.ndarray, share: float, alike: float) -> np.ndarray:
    """Which pairs are won, if those of one writer are alike so much (the intraclass correlation)."""
    scale = (1 - alike) / alike if alike else math.inf
    chances = rng.beta(share * scale, (1 - share) * scale, sizes.size) if alike else np.full(sizes.size, share)
    return rng.random(sizes.sum()) < np.repeat(chances, sizes)


SHAPES: dict[str, tuple[Callable[[Rng, int], np.ndarray], float]] = {
    "normal": (lambda rng, n: rng.normal(size=n), 0.0),
    "t with 3 df": (lambda rng, n: rng.standard_t(3, n), 0.0),
    "skewed differences": (lambda rng, n: rng.exponential(1.0, n) - 1, 0.0),
    "ASLD of normal": (lambda rng, n: np.abs(rng.normal(size=n)), math.sqrt(2 / math.pi)),
    "ASLD of Laplace": (lambda rng, n: np.abs(rng.laplace(size=n)), 1.0),
    "log-normal": (lambda rng, n: rng.lognormal(size=n), math.exp(0.5)),
}


def means() -> Iterator[Case]:
    """Mean differences and ASLD of independent pairs, and of pairs of writers."""
    for name, (sample, truth) in SHAPES.items():
        for n in (8, 30, 60, 172):
            label = f"{n} pairs, {name}"
            yield Case("mean", label, truth, lambda rng, f=sample, n=n: mean_interval(f(rng, n), rng=rng))
    for label, sizes in OF_WRITERS.items():
        for name in ("normal", "t with 3 df", "skewed differences", "ASLD of Laplace"):
            sample, truth = SHAPES[name]
            yield Case("mean", f"{label}, {name}, ICC 0.1", truth, _draw_clusters(sample, truth, sizes))


def _draw_clusters(
    sample: Callable[[Rng, int], np.ndarray], truth: float, sizes: Sequence[int]
) -> Callable[[Rng], Value]:
    units, of, weight = clusters(sizes), np.array(sizes), math.sqrt(0.1)

    def draw(rng: Rng) -> Value:
        own, shared = sample(rng, of.sum()) - truth, np.repeat(sample(rng, of.size) - truth, of)
        return mean_interval(math.sqrt(0.9) * own + weight * shared + truth, rng=rng, units=units)

    return draw


LEAN_SPREADS = ((0.1, 0.1), (0.2, 0.05), (0.05, 0.2))  # standard deviations of words and of templates


def mean_of_units(rng: Rng, values: np.ndarray, units: Units) -> Value:
    """The interval that is used."""
    return mean_interval(values, rng=rng, units=units)


def leans() -> Iterator[Case]:
    """Means over words × templates: complete tables, blocks by category, and templates of one word each."""
    for words, templates in ((2, 17), (3, 3), (4, 4), (4, 12), (5, 5), (7, 12), (11, 16), (60, 5), (25, 25)):
        for of_words, of_templates in LEAN_SPREADS:
            yield _lean(f"{words} × {templates}", _cells(words, templates), of_words, of_templates)
    for of_words, of_templates in LEAN_SPREADS:
        blocks = np.concatenate(
            [np.indices((8, 6)).reshape(2, -1) + np.array([[8 * k], [6 * k]]) for k in range(4)], axis=1
        )
        yield _lean("4 categories of 8 × 6", blocks, of_words, of_templates)
        nested = np.stack([np.repeat(np.arange(5), 12), np.arange(60)])
        yield _lean("5 words, each in 12 templates of its own", nested, of_words, of_templates)


def _cells(words: int, templates: int) -> np.ndarray:
    """The word and the template of every cell of a complete table."""
    return np.indices((words, templates)).reshape(2, -1)


def _lean(label: str, table: np.ndarray, of_words: float, of_templates: float, by: str = "") -> Case:
    words, templates = table
    units = units_of({"word": words.astype(str), "template": templates.astype(str)})

    def draw(rng: Rng) -> Value:
        effects = of_words * rng.normal(size=words.max() + 1)[words]
        effects = effects + of_templates * rng.normal(size=templates.max() + 1)[templates]
        return METHODS[by](rng, effects + 0.1 * rng.normal(size=words.size), units)

    return Case(
        f"words × templates, {by}" if by else "words × templates",
        f"{label}, SD {of_words:g} and {of_templates:g}",
        0.0,
        draw,
    )


def triples() -> Iterator[Case]:
    """StereoSet's statistics over target terms of 3 to 30 examples each."""
    for count in (3, 12, 40, 79):
        for share in (0.5, 0.6):
            yield Case("ss", f"{count} terms", 100 * share, lambda rng, n=count, p=share: _ss(_terms(rng, n, p)))
            truth = icat(80.0, 100 * share)
            yield Case(
                "icat", f"{count} terms", truth, lambda rng, n=count, p=share: icat_interval(_terms(rng, n, p), rng=rng)
            )


def _terms(rng: Rng, count: int, share: float) -> TermScores:
    sizes = rng.integers(3, 31, count)
    found = [rng.binomial(sizes, rng.beta(8 * p, 8 * (1 - p), count)) for p in (0.8, share)]
    return TermScores(*(100 * each / sizes for each in found))


def _ss(terms: TermScores) -> Value:
    return mean_interval(terms.ss, rng=np.random.default_rng(0), unit="target terms").clip(0.0, 100.0)


def changes() -> Iterator[Case]:
    """Paired changes of two runs: of a bias score with rare and frequent flips, of a mean, of the distance from 50."""
    rates = ((0.02, 0.0), (0.05, 0.05), (0.1, 0.04), (0.3, 0.2))
    for n in (30, 60, 360, 1508):
        for gained, lost in rates:
            yield Case("change of a share", f"{n} pairs, flips {gained:g} and {lost:g}", *_change(n, gained, lost))
    for gained, lost in rates:
        truth, draw = _change(1508, gained, lost, CROWS)
        yield Case("change of a share", f"1,508 pairs of 77 writers, flips {gained:g} and {lost:g}", truth, draw)
    for n in (30, 60, 360):
        yield Case("change of ASLD", f"{n} pairs, correlation 0.9", 0.0, lambda rng, n=n: _asld_change(rng, n))
    for n, before, after in ((60, 0.5, 0.5), (360, 0.5, 0.5), (360, 0.45, 0.6), (1508, 0.5, 0.52)):
        truth = 100 * (abs(after - 0.5) - abs(before - 0.5))
        label = f"{n} pairs, {100 * before:g} and {100 * after:g}"
        draw = lambda rng, n=n, a=before, b=after: _distance(rng, n, a, b)  # noqa: E731
        yield Case("worsening of a share", label, truth, draw)


def _change(n: int, gained: float, lost: float, sizes: Sequence[int] = ()) -> tuple[float, Callable[[Rng], Value]]:
    units = clusters(sizes) if sizes else INDEPENDENT

    def draw(rng: Rng) -> Value:
        if not sizes:
            chosen = rng.choice([100.0, -100.0, 0.0], n, p=[gained, lost, 1 - gained - lost])
            return paired_interval(chosen, units)
        scale = (1 - 0.05) / 0.05  # ICC 0.05
        parameters = np.maximum(np.array([gained, lost, 1 - gained - lost]) * scale, 1e-9)
        chances = np.repeat(rng.dirichlet(parameters, len(sizes)), sizes, axis=0)
        drawn = rng.random(len(chances))
        up, down = drawn < chances[:, 0], drawn > 1 - chances[:, 1]
        return paired_interval(100.0 * up - 100.0 * down, units)

    return 100 * (gained - lost), draw


def _asld_change(rng: Rng, n: int) -> Value:
    before = rng.laplace(size=n)
    after = 0.9 * before + math.sqrt(1 - 0.81) * rng.laplace(size=n)
    return mean_interval(np.abs(after) - np.abs(before) - _asld_truth(), rng=rng)


def _asld_truth() -> float:
    """E|aX + bY| − 1 of independent Laplace variables X and Y: (a² + ab + b²) / (a + b) − 1."""
    a, b = 0.9, math.sqrt(1 - 0.81)
    return (a * a + a * b + b * b) / (a + b) - 1


def _distance(rng: Rng, n: int, before: float, after: float) -> Value:
    """|b − 50| − |a − 50| of two runs whose pairs are won together (correlation 0.9), as the gate computes it."""
    a, b = _two_runs(rng, n, before, after)
    less, plus = (paired_interval(values, INDEPENDENT) for values in (b - a, a + b - 100))
    return Value(abs(b.mean() - 50) - abs(a.mean() - 50), *distance_interval(less, plus))


def _two_runs(rng: Rng, n: int, before: float, after: float, alike: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
    first = rng.normal(size=n)
    second = alike * first + math.sqrt(1 - alike**2) * rng.normal(size=n)
    return 100.0 * (first < ndtri(before)), 100.0 * (second < ndtri(after))


def accuracies() -> Iterator[Case]:
    """Shares of right tokens of pairs of writers, and the difference of two measures on the same tokens."""
    for label, sizes in OF_WRITERS.items():
        for share in (0.03, 0.7, 0.98):
            draw = lambda rng, s=sizes, p=share: _pooled(rng, s, p)  # noqa: E731
            yield Case("accuracy", f"{label}, 5 to 24 tokens a pair, ICC 0.05", 100 * share, draw)
        for share, kept in ((0.7, 0.8), (0.98, 0.98)):
            label_of = f"{label}, {100 * share:g}% and {100 * share * kept:.0f}%"
            draw = lambda rng, s=sizes, p=share, q=kept: _accuracy_difference(rng, s, p, q)  # noqa: E731
            yield Case("difference of accuracies", label_of, 100 * share * (1 - kept), draw)


def _right_tokens(rng: Rng, sizes: Sequence[int], share: float) -> HitCounts:
    """The right tokens of every pair: writers have an intraclass correlation of 0.05, their pairs one of 0.1."""
    units, own = clusters(sizes), rng.beta(19 * share, 19 * (1 - share), len(sizes))
    of_writer = np.repeat(np.clip(own, 1e-6, 1 - 1e-6), sizes)
    tokens = rng.integers(5, 25, of_writer.size)
    hits = rng.binomial(tokens, rng.beta(9 * of_writer, 9 * (1 - of_writer)))
    return HitCounts(hits.astype(np.float64), tokens.astype(np.float64), units)


def _pooled(rng: Rng, sizes: Sequence[int], share: float) -> Value:
    return share_interval(_right_tokens(rng, sizes, share), rng=rng)


def _accuracy_difference(rng: Rng, sizes: Sequence[int], share: float, kept: float) -> Value:
    """The second measure gets a share of the tokens right that the first does, which depends on the writer."""
    first = _right_tokens(rng, sizes, share)
    chances = np.repeat(rng.beta(19 * kept, 19 * (1 - kept), len(sizes)), sizes)
    second = rng.binomial(first.hits.astype(int), chances).astype(np.float64)
    return difference_interval(first, HitCounts(second, first.trials, first.units), rng=rng)


TRUE_SCORES = {
    "6 models, τ 1": (np.linspace(-0.3, 0.3, 6), ()),
    "9 models, τ 0.17": (np.linspace(-0.5, 0.5, 9), (0, -1)),
}


def taus(by: str = "") -> Iterator[Case]:
    """Kendall's τ between the rankings of models by two measures: the truth is that of scores without noise."""
    for label, sizes in OF_WRITERS.items():
        for name, (scores, swapped) in TRUE_SCORES.items():
            both = np.stack([scores, scores])
            both[1, list(swapped)] = scores[list(swapped[::-1])]
            draw = lambda rng, s=sizes, x=both: _tau(rng, s, x, by)  # noqa: E731
            truth = float(kendall_taus(*both))
            yield Case(f"Kendall's τ, {by}" if by else "Kendall's τ", f"{label}, {name}", truth, draw)


def _tau(rng: Rng, sizes: Sequence[int], scores: np.ndarray, by: str) -> Value:
    units = clusters(sizes)
    values = np.array([[score + _alike(rng, sizes) for score in row] for row in scores])
    resampled, names = resampled_items(values, units, rng=rng), ("a", "b")
    found = rank_agreements(
        Rankings(names, values.mean(axis=-1), resampled, np.full(scores.shape[1], len(sizes)), units.label)
    )[0].tau
    return percentile_interval(kendall_taus(resampled[:, 0], resampled[:, 1]), found.value, "writers") if by else found


def others() -> Iterator[Case]:
    """ILPS of a corpus, correlations over pairs, and areas under ROC curves."""
    for documents, dispersion in ((5, 5.0), (20, 2.0), (60, 2.0)):
        yield Case(
            "ILPS",
            f"{documents} documents, dispersion {dispersion:g}",
            math.log(2 / 3),
            lambda rng, n=documents, k=dispersion: _ilps(rng, n, k),
        )
    for n in (30, 60):
        yield Case("correlation", f"{n} pairs", 0.5, lambda rng, n=n: _correlation(rng, n, 0.5))
    for label, sizes in OF_WRITERS.items():
        yield Case("correlation", f"{label}, ICC 0.1", 0.5, lambda rng, s=sizes: _correlation_of_writers(rng, s))
        yield Case("slope", f"{label}, ICC 0.1", 0.5, lambda rng, s=sizes: _slope(rng, s))
        truth = float(ndtr(0.5 / math.sqrt(2)))
        yield Case("AUC", f"{label}, ICC 0.1", truth, lambda rng, s=sizes: _auc_of_writers(rng, s))
    for n in (30, 60):
        yield Case("slope", f"{n} pairs", 0.5, lambda rng, n=n: fit_line(*_line(rng, n)).slope)
    for biased, others in ((15, 15), (30, 100), (100, 100)):
        for apart in (0.5, 1.5):
            yield Case(
                "AUC",
                f"{biased} biased pairs, {others} others",
                float(ndtr(apart / math.sqrt(2))),
                lambda rng, sizes=(biased, others), apart=apart: _auc(rng, *sizes, apart),
            )


def _ilps(rng: Rng, documents: int, dispersion: float) -> Value:
    length = rng.gamma(dispersion, 1 / dispersion, documents)
    groups = np.stack([rng.poisson(20 * length * rng.gamma(2, 0.5, documents)), rng.poisson(30 * length)], axis=1)
    return ilps(np.concatenate([groups, np.full((documents, 1), 500)], axis=1), seed=int(rng.integers(2**31)))


def _correlation(rng: Rng, n: int, r: float) -> Value:
    x = rng.standard_t(5, n)
    return correlation([x], [r * x + math.sqrt(1 - r**2) * rng.standard_t(5, n)])


def _line(rng: Rng, n: int) -> tuple[np.ndarray, np.ndarray]:
    x = rng.standard_t(5, n)
    return x, 0.5 * x + math.sqrt(0.75) * rng.standard_t(5, n)


def _alike(rng: Rng, sizes: Sequence[int]) -> np.ndarray:
    """Normal values with an intraclass correlation of 0.1."""
    of = np.array(sizes)
    return math.sqrt(0.1) * np.repeat(rng.normal(size=of.size), of) + math.sqrt(0.9) * rng.normal(size=of.sum())


def _correlation_of_writers(rng: Rng, sizes: Sequence[int]) -> Value:
    x = _alike(rng, sizes)
    return correlation([x], [0.5 * x + math.sqrt(0.75) * _alike(rng, sizes)], units=clusters(sizes))


def _slope(rng: Rng, sizes: Sequence[int]) -> Value:
    x = _alike(rng, sizes)
    return fit_line(x, 0.5 * x + math.sqrt(0.75) * _alike(rng, sizes), clusters(sizes)).slope


def _auc_of_writers(rng: Rng, sizes: Sequence[int]) -> Value:
    labels = rng.random(sum(sizes)) < 0.4
    return roc_auc(labels, _alike(rng, sizes) + 0.5 * labels, clusters(sizes))


def _auc(rng: Rng, positives: int, negatives: int, apart: float) -> Value:
    labels = np.repeat([True, False], [positives, negatives])
    return roc_auc(labels, rng.normal(size=labels.size) + apart * labels)


LEVELS = np.repeat([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0], 6)  # doses of 36 models
SLOPES = ((0.0, 0.3, 1.0, 0.0), (0.0, 1.0, 0.3, 0.0), (0.1, 0.1, 2.0, 0.0), (0.3, 0.3, 1.0, 0.3), (0.5, 0.1, 1.0, 0.2))


def doses(*, models_only: bool = False) -> Iterator[Case]:
    """Correlations of 36 models' scores with their doses, and how much they exceed that with another bias type's."""
    for mean_slope, spread, noise, scatter in SLOPES:
        part = mean_slope**2 * float(LEVELS.var())
        truth, shape = math.sqrt(part / (part + scatter**2 + noise**2 / 40)), (mean_slope, spread, noise, scatter)
        label = f"40 items, slopes {mean_slope:g} ± {spread:g}, noise {noise:g} and {scatter:g}"
        draw = lambda rng, s=shape: _dosed(rng, *s, models_only=models_only)[0]  # noqa: E731
        yield Case("correlation with a dose" + ", models only" * models_only, label, truth, draw)
        if not models_only:
            of_margin = lambda rng, s=shape: dose_margin(*_of_two(_dosed(rng, *s)))  # noqa: E731
            yield Case("margin over another dose", label, truth, of_margin)


def _dosed(
    rng: Rng, mean_slope: float, spread: float, noise: float, scatter: float, *, models_only: bool = False
) -> tuple[Value, Value]:
    """Correlations with the own dose and with another that has no effect."""
    own, other = rng.permutation(LEVELS), rng.permutation(LEVELS)
    values = np.outer(own, mean_slope + spread * rng.normal(size=40)) + noise * rng.normal(size=(36, 40))
    values += scatter * rng.normal(size=(36, 1))
    if models_only:
        return correlation([own], [values.mean(axis=1)]), correlation([other], [values.mean(axis=1)])
    return dose_correlation(values, own, INDEPENDENT), dose_correlation(values, other, INDEPENDENT)


def _of_two(both: tuple[Value, Value]) -> tuple[Value, tuple[Value]]:
    return both[0], (both[1],)


BOTH_METHODS: tuple[BootstrapMethod, ...] = ("percentile", "BCa")


def rejected_cases() -> Iterator[Case]:
    """Intervals that are not used, on the data for which they fail."""
    for name in ("t with 3 df", "skewed differences", "ASLD of Laplace"):
        sample, truth = SHAPES[name]
        for n in (30, 172):
            draw = lambda rng, f=sample, n=n: _bootstrap(rng, (f(rng, n),), _mean)  # noqa: E731
            yield Case("mean, BCa bootstrap", f"{n} pairs, {name}", truth, draw)
    for words, templates in ((2, 17), (3, 3), (60, 5), (7, 12)):
        for spreads in LEAN_SPREADS:
            yield _lean(f"{words} × {templates}", _cells(words, templates), *spreads, by="percentile bootstrap")
    for words, templates in ((2, 17), (3, 3), (60, 3)):
        for spreads in LEAN_SPREADS:
            yield _lean(f"{words} × {templates}", _cells(words, templates), *spreads, by="Student's t")
    yield from taus("percentile bootstrap")
    yield from doses(models_only=True)
    for count in (12, 40, 79):
        for method in BOTH_METHODS:
            draw = lambda rng, n=count, how=method: _bootstrap(rng, _terms(rng, n, 0.5), _icat_of, how)  # noqa: E731
            yield Case(f"icat, {method} bootstrap", f"{count} terms", 80.0, draw)
    for n in (30, 60):
        draw = lambda rng, n=n: _mean_and_error(rng.choice([100.0, 0.0], n, p=[0.02, 0.98]))  # noqa: E731
        yield Case("change of a share, Student's t", f"{n} pairs, flips 0.02 and 0", 2.0, draw)
    for n, before, after in ((60, 0.5, 0.5), (360, 0.5, 0.5), (360, 0.48, 0.52)):
        for alike in (0.9, 0.0):
            label, runs = f"{n} pairs, {100 * before:g} and {100 * after:g}", (n, before, after, alike)
            draw = lambda rng, runs=runs: _bootstrap(rng, _two_runs(rng, *runs), _distance_of)  # noqa: E731
            yield Case("worsening of a share, BCa bootstrap", f"{label}, correlation {alike:g}", 0.0, draw)


def _mean(values: np.ndarray, axis: int) -> np.ndarray:
    return values.mean(axis=axis)


def _icat_of(lms: np.ndarray, ss: np.ndarray, axis: int) -> np.ndarray:
    both = ss.mean(axis=axis)
    return lms.mean(axis=axis) * np.minimum(both, 100 - both) / 50


def _distance_of(a: np.ndarray, b: np.ndarray, axis: int) -> np.ndarray:
    return np.abs(b.mean(axis=axis) - 50) - np.abs(a.mean(axis=axis) - 50)


def _bootstrap(
    rng: Rng, columns: tuple[np.ndarray, ...], statistic: Callable[..., np.ndarray], method: BootstrapMethod = "BCa"
) -> Value:
    """A bootstrap interval of 500 resamples; none where it is undefined."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of values that do not vary
        ends = bootstrap(
            columns, statistic, method=method, n_resamples=500, paired=len(columns) > 1, vectorized=True, rng=rng
        ).confidence_interval
    return Value(float(statistic(*columns, axis=-1)), float(ends.low), float(ends.high))


def _bootstrap_crossed(rng: Rng, values: np.ndarray, units: Units) -> Value:
    """The percentile bootstrap that resamples words and templates."""
    table = values.reshape(units.counts)
    weights = [rng.multinomial(count, np.full(count, 1 / count), 500) / count for count in units.counts]
    low, high = np.quantile(np.einsum("rw,wt,rt->r", weights[0], table, weights[1]), [0.025, 0.975]).tolist()
    return Value(float(values.mean()), low, high)


def _both_student(rng: Rng, values: np.ndarray, units: Units) -> Value:
    """Student's interval over words and templates, however few there are."""
    variance, df = variance_over_both(values - values.mean(), units)
    return Value(float(values.mean()), *student_ends(float(values.mean()), SamplingError(variance, df, 1.0)))


def _mean_and_error(values: np.ndarray) -> Value:
    """Student's interval; of values that are all alike it has no width."""
    error = float(values.std(ddof=1)) ** 2 / values.size
    return Value(float(values.mean()), *student_ends(float(values.mean()), SamplingError(error, values.size - 1, 1.0)))


METHODS = {"": mean_of_units, "percentile bootstrap": _bootstrap_crossed, "Student's t": _both_student}


def coverage(case: Case, draws: int, seed: int = 0) -> tuple[str | float, ...]:
    """One row of the table."""
    rng = np.random.default_rng([seed, *map(ord, case.kind + case.data)])
    found = [case.draw(rng) for _ in range(draws)]
    known = [value for value in found if value.has_interval]
    few = 100 * (1 - len(known) / draws)
    if not known:
        return case.kind, case.data, case.truth, math.nan, math.nan, math.nan, math.nan, few
    above = 100 * sum(value.low > case.truth + 1e-9 for value in known) / len(known)
    below = 100 * sum(value.high < case.truth - 1e-9 for value in known) / len(known)
    held = 100 - above - below
    error = math.sqrt(max(held * (100 - held), 1e-9) / len(known))
    return case.kind, case.data, case.truth, held, error, below, above, few


def cases(*, of_rejected: bool = False) -> list[Case]:
    """Every case, kind by kind."""
    parts = (
        (rejected_cases,) if of_rejected else (shares, means, leans, triples, changes, accuracies, taus, doses, others)
    )
    return [case for part in parts for case in part()]


def case_row(number: int, draws: int, of_rejected: bool) -> tuple[str | float, ...]:
    """The row of the case with this number; a process of its own can be asked for it."""
    return coverage(cases(of_rejected=of_rejected)[number], draws)


def main(words: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--only", default="", help="part of the name of a kind of estimate, or of the data")
    parser.add_argument("--jobs", type=int, default=1, help="processes; the table does not depend on their number")
    parser.add_argument("--rejected", action="store_true", help="methods that are not used")
    given = parser.parse_args(words)
    every = cases(of_rejected=given.rejected)
    chosen = [number for number, case in enumerate(every) if given.only in f"{case.kind} {case.data}"]
    rows = []
    with ProcessPoolExecutor(given.jobs) as processes:
        for row in processes.map(partial(case_row, draws=given.draws, of_rejected=given.rejected), chosen):
            rows.append(row)
            print(*row, sep="\t", file=sys.stderr, flush=True)
    print(markdown(Table("", COLUMNS, tuple(rows), digits=1)))


if __name__ == "__main__":
    main()
