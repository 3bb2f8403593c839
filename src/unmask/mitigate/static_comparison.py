"""What a mitigation of word vectors changed: association, neighbours, a probe, and what it cost.

The probe is that of Gonen and Goldberg (2019): the words that leaned most to either side before the mitigation; can a
linear classifier still tell the two sides apart? Words that have a gender are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import rankdata
from sklearn.neighbors import NearestNeighbors

from unmask.core.errors import DataError, StatsError, UnmaskError, quote
from unmask.core.estimate import Estimate, Value
from unmask.core.files import file_name
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.data.formats import check_words, read_cells
from unmask.findings import Finding, Table
from unmask.findings.numbers import number
from unmask.mitigate.erase import CHANCE, probe_accuracy, split_by_word
from unmask.mitigate.inlp import most_biased
from unmask.mitigate.spec import StaticPlan
from unmask.stats.intervals import mean_interval
from unmask.vectors import VECTOR_MEASURES
from unmask.vectors.association import unit
from unmask.vectors.directions import correlation
from unmask.vectors.evaluation import run_measure
from unmask.vectors.findings import estimates_of
from unmask.vectors.questions import load_questions
from unmask.vectors.spec import VectorSettings, WordSets
from unmask.vectors.static import WordVectors

GENDER_QUESTIONS = ("weat-6", "weat-7", "weat-8")
CONTROLS = ("weat-1", "weat-2")  # flowers and insects, instruments and weapons: these should stay
EXTREME = 500  # words at either end that the probe tells apart
SAMPLED = 5_000  # pairs of words whose cosines are compared, and words
NEIGHBOURS, NEIGHBOURS_OF = 10, 500
PROBE, COST = "probe", "utility"


@dataclass(frozen=True, slots=True)
class VectorEvaluation:
    """The estimates of vectors, and why some are missing."""

    estimates: tuple[Estimate, ...]
    problems: tuple[str, ...]


def evaluate_vectors(vectors: WordVectors, plan: StaticPlan) -> VectorEvaluation:
    """Measure vectors before or after a mitigation; what cannot be measured is recorded with its reason."""
    found: list[Estimate] = []
    problems: list[str] = []
    for part in (_bias, _probe, _cost, _similarity):
        try:
            found += part(vectors, plan)
        except StatsError as error:
            problems.append(str(error))
    return VectorEvaluation(tuple(found), tuple(problems))


def _bias(vectors: WordVectors, plan: StaticPlan) -> Iterator[Estimate]:
    """WEAT on gender and on controls, direct bias, and neighbours whose leans are those before."""
    settings = VectorSettings(lower=plan.options.lower, seed=plan.seed)
    sets = WordSets(plan.neutral, plan.pairs)
    for name, questions in (("weat", (*GENDER_QUESTIONS, *CONTROLS)), ("direct-bias", ()), ("knn-bias", ())):
        asked = load_questions(questions)
        try:
            result = run_measure(VECTOR_MEASURES.find(name), vectors, asked, sets, settings, plan.vectors)
        except UnmaskError as error:
            yield Estimate(np.nan, measure=name, data="words", statistic="none", method=f"none: {error}")
        else:
            yield from estimates_of(result)


def _probe(vectors: WordVectors, plan: StaticPlan) -> Iterator[Estimate]:
    """Accuracy of a linear probe of the side to which words leaned before."""
    unchanged = {*plan.keep, *(word for pair in plan.pairs for word in pair)}
    before = most_biased(plan.vectors, plan.pairs, unchanged, EXTREME)
    first, second = (vectors.lookup([pair[side] for pair in before.pairs]) for side in (0, 1))
    now = type(before)(first, second, before.pairs)
    fit, test = split_by_word(now, seed=plan.seed)
    accuracy = probe_accuracy(fit, test, np.asarray, seed=plan.seed)
    data = f"{len(before.pairs)} words that leaned most each way"
    yield Estimate.of(accuracy, measure=PROBE, data=data, statistic="accuracy", n=len(test.pairs), null=CHANCE)


def _cost(vectors: WordVectors, plan: StaticPlan) -> Iterator[Estimate]:
    """How much of the geometry before is left: cosines of random pairs of words, and nearest neighbours."""
    rng = generator(plan.seed, "utility")
    frequent = vectors.first(VectorSettings().vocabulary)
    before = plan.vectors.first(VectorSettings().vocabulary)
    pairs = rng.integers(len(frequent.words), size=(SAMPLED, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    both = [_cosines(each.matrix, pairs) for each in (before, frequent)]
    same, _ = correlation(np.stack([rankdata(values) for values in both], axis=1))
    about = {"measure": COST, "null": None}
    yield Estimate.of(same, **about, data="random pairs of words", statistic="rank-correlation", n=len(pairs))
    rows = rng.permutation(len(frequent.words))[:NEIGHBOURS_OF]
    near = [_neighbours(each.matrix, rows) for each in (before, frequent)]
    kept = np.array([100 * len({*a} & {*b}) / len(a) for a, b in zip(*near, strict=True)])
    share = mean_interval(kept, rng=rng, unit="words").clip(0.0, 100.0)
    yield Estimate.of(share, **about, data="nearest neighbours", statistic="kept-percent", n=len(rows))


def _similarity(vectors: WordVectors, plan: StaticPlan) -> Iterator[Estimate]:
    """Spearman's correlation of cosines with the similarities that people gave, from the user's file."""
    if plan.options.similarity is None:
        return
    cased = str.lower if plan.options.lower else str
    numbers = {word: number for number, word in enumerate(vectors.words)}
    judged = read_similarities(plan.options.similarity)
    known = [
        (numbers[cased(first)], numbers[cased(second)], score)
        for first, second, score in judged
        if cased(first) in numbers and cased(second) in numbers
    ]
    name = file_name(plan.options.similarity)
    if not known:
        raise StatsError(f"{name}: no pair of its words has vectors in {vectors.source}")
    cosines = _cosines(vectors.matrix, np.array([row[:2] for row in known]))
    value, p = correlation(np.stack([rankdata(cosines), rankdata([row[2] for row in known])], axis=1))
    yield Estimate.of(value, measure=COST, data=name, statistic="spearman", n=len(known), p=p)


def read_similarities(path: Path) -> list[tuple[str, str, float]]:
    """Two words and their similarity per line of a CSV or TSV file; the first line may be a header."""
    rows = read_cells(path, "a CSV of two words and their similarity")
    judged = []
    for line, row in enumerate(rows):
        try:
            score = float(row[2])
        except (IndexError, ValueError):
            score = math.nan
        if math.isfinite(score):
            first, second = check_words(row[:2], rows.at(line))
            judged.append((first, second, score))
        elif line:
            raise DataError(f"{rows.at(line)}: found {quote(row)}, expected two words and their similarity")
    return judged


def _cosines(rows: Floats, pairs: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> Floats:
    cosines: Floats = (unit(rows[pairs[:, 0]]) * unit(rows[pairs[:, 1]])).sum(1)
    return cosines


def _neighbours(matrix: Floats, rows: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> list[list[int]]:
    """The nearest neighbours of some rows, themselves left out."""
    count = min(NEIGHBOURS, len(matrix) - 1)
    near = NearestNeighbors(n_neighbors=count + 1, metric="cosine", algorithm="brute").fit(matrix)
    found = near.kneighbors(matrix[rows], return_distance=False).tolist()
    return [
        [other for other in others if other != row][:count] for row, others in zip(rows.tolist(), found, strict=True)
    ]


def compare_vectors(before: VectorEvaluation, after: VectorEvaluation, plan: StaticPlan) -> Finding:
    """Tables and sentences of what changed."""
    earlier = {estimate.key: estimate for estimate in before.estimates}
    both = [(earlier[later.key], later) for later in after.estimates if later.key in earlier]
    bias = [pair for pair in both if pair[1].measure not in (PROBE, COST) and pair[1].data not in CONTROLS]
    probe = [pair for pair in both if pair[1].measure == PROBE]
    cost = [pair for pair in both if pair[1].measure == COST or pair[1].data in CONTROLS]
    columns = ("measure", "data", "statistic", "n", "before", "after")
    titles = (
        ("Bias, before and after", bias, "0: none found. knn-bias: words lean as they did before the mitigation."),
        ("Can the former lean still be read?", probe, "Percent of unseen words; a probe fitted anew; chance is 50."),
        ("What it cost", cost, _COST_NOTE),
    )
    tables = tuple(
        Table(title, columns, tuple(_row(*pair) for pair in rows), note, digits=3)
        for title, rows, note in titles
        if rows
    )
    notes = (*dict.fromkeys((*before.problems, *after.problems)), *_NOTES)
    return Finding(tuple(_answers(both)), tables, (), notes)


def _row(before: Estimate, after: Estimate) -> tuple[str | int | Value, ...]:
    return after.measure, after.data, after.statistic, after.n, before, after


def _answers(both: list[tuple[Estimate, Estimate]]) -> Iterator[str]:
    for before, after in both:
        if after.measure in ("knn-bias", "direct-bias"):
            yield f"{after.measure}: {number(before.value, 3)} before, {number(after.value, 3)} after."
        elif after.measure == PROBE:
            ends = f"{after.low:.0f} to {after.high:.0f}; " if after.has_interval else ""
            yield (
                f"A linear probe tells the words that leaned most each way apart in {before.value:.0f}% before and "
                f"{after.value:.0f}% after ({ends}chance is {CHANCE:.0f})."
            )


_COST_NOTE = (
    "weat-1 and weat-2 are not about people and should stay. Random pairs: Spearman's correlation of their cosines "
    "with those before; nearest neighbours: percent of ten that are the same as before. A file: with its similarities."
)
_NOTES = (
    "Intervals resample words; they are those of one file each, not of the change.",
    "A value near 0 means that this measure finds nothing, not that there is nothing to find.",
)
