"""Mitigate a file of word vectors: change it by an eraser, write it, and measure association, neighbours and cost.

The probe is that of Gonen and Goldberg (2019): the words that leaned most to either side before the mitigation; can a
linear classifier still tell the two sides apart? Words that have a gender are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from scipy.stats import rankdata
from sklearn.neighbors import NearestNeighbors

from unmask.core.errors import DataError, ModelError, StatsError, UnmaskError, quote
from unmask.core.estimate import NAN, Estimate
from unmask.core.files import file_name, plain, writing
from unmask.core.options import Options
from unmask.core.progress import silent
from unmask.core.seeds import generator
from unmask.core.types import Floats, Ints
from unmask.data.files import sha256_of
from unmask.data.formats import check_words, read_cells, read_words
from unmask.findings import Finding, Section, Table
from unmask.findings.envelope import Result, build, estimate_json
from unmask.findings.folder import result_folder
from unmask.findings.sentences import quantity
from unmask.mitigate import METHODS
from unmask.mitigate.comparison import probe_answer
from unmask.mitigate.erase import CHANCE, most_biased, occupations, pairs_with_vectors, probe_accuracy, split_by_word
from unmask.mitigate.spec import EraserOptions, Method, MethodOptions, VectorPlan
from unmask.mitigate.swap import package_words, read_word_pairs
from unmask.stats.intervals import mean_interval
from unmask.vectors import VECTOR_MEASURES
from unmask.vectors.association import unit
from unmask.vectors.directions import GENDER, correlation
from unmask.vectors.evaluation import run_measure
from unmask.vectors.findings import estimates_of
from unmask.vectors.questions import load_questions
from unmask.vectors.spec import VectorSettings, WordSets
from unmask.vectors.static import WordVectors, format_of, read_vectors, write_vectors, written_name

FILES = ("vectors.txt", "vectors.bin")
LEAD = "Changes of association and of neighbours, whether the former lean can still be read, and what it cost."
GENDER_QUESTIONS = ("weat-6", "weat-7", "weat-8")
CONTROLS = ("weat-1", "weat-2")  # flowers and insects, instruments and weapons: these should stay
EXTREME = 500  # words at either end that the probe tells apart
SAMPLED = 5_000  # pairs of words whose cosines are compared, and words
NEIGHBOURS, NEIGHBOURS_OF = 10, 500
PROBE, COST = "probe", "utility"
COST_NOTE = (
    "weat-1 and weat-2 are not about people and should stay. Random pairs: Spearman's correlation of their cosines "
    "with those before; nearest neighbours: percent of ten that are the same as before. A file: with its similarities."
)
NOTES = (
    "Intervals resample words; they are those of one file each, not of the change.",
    "A value near 0 means that this measure finds nothing, not that there is nothing to find.",
)


def mitigate_vectors(method: Method, path: Path, out: Path, options: MethodOptions, run: Options) -> Result:
    """Change the vectors of a file; the changed file, in the same format, is in the result folder."""
    if method.change_vectors is None:
        fit = ", ".join(name for name, other in METHODS.items() if other.change_vectors is not None)
        raise ModelError(f"{method.name} changes models, and {path.name} is a file of word vectors: use one of {fit}")
    assert isinstance(options, EraserOptions)
    report, form = run.progress or silent, format_of(path)
    with result_folder(out, "mitigation", also=FILES) as opened:
        report("read", 0.0, 4)
        plan = make_plan(read_vectors(path, None, limit=run.limit), options)
        report(method.name, 0.25, 4)
        changed, facts = method.change_vectors(plan)
        report("measure", 0.5, 4)
        problems: list[str] = []
        before, after = (evaluate_vectors(vectors, plan, problems) for vectors in (plan.vectors, changed))
        report("write", 0.75, 4)
        name = written_name(form)
        with writing(out / name):
            write_vectors(changed, opened.stage(name), form)
        report("write", 1.0, 4)
        outcome = {
            **facts,
            "words": len(changed.words),
            "changed words": int((changed.matrix != plan.vectors.matrix).any(1).sum()),
            "kept words": len(plan.keep),
            "pairs": len(plan.pairs),
        }
        return opened.finish(
            build(
                "mitigation",
                title=f"Mitigation by {method.name}",
                lead=f"{method.title}, of word vectors. The changed vectors are in {name}.",
                models=[{"id": file_name(path), "kind": "file", "format": form, "sha256": sha256_of(path)}],
                options={"method": method.name, **asdict(options), "limit": run.limit},
                estimates=after,
                findings=[Section(method.name, "Before and after", LEAD, compare_vectors(before, after, problems))],
                details=plain(
                    {
                        "citation": method.citation,
                        "outcome": outcome,
                        "before": [estimate_json(estimate) for estimate in before],
                    }
                ),
            )
        )


def make_plan(vectors: WordVectors, options: EraserOptions) -> VectorPlan:
    """The words of the options that have a vector; those that have a gender in every letter case."""
    pairs = GENDER if options.pairs is None else read_word_pairs(options.pairs)
    direction = pairs_with_vectors(vectors, pairs, lower=options.lower)
    if not direction:
        raise DataError(f"{vectors.source} has vectors of no pair of words: check its language and letter case (lower)")
    words = occupations() if options.neutral is None else read_words(options.neutral)
    neutral = dict.fromkeys(word.lower() if options.lower else word for word in words)
    kept = gendered_words() if options.keep is None else read_words(options.keep)
    forms = {form for word in kept for form in (word, word.lower(), word.capitalize(), word.upper())}
    return VectorPlan(
        vectors,
        direction,
        frozenset(word for word in forms if word in vectors),
        tuple(word for word in neutral if word in vectors),
        options,
    )


def gendered_words() -> tuple[str, ...]:
    """The package's words that have a gender: those of its pairs, and those said of one gender only."""
    tables = package_words()
    both = (word for pair in tables.pairs for word in (pair.masculine, pair.feminine))
    return tuple(dict.fromkeys((*both, *(proper.word for proper in tables.proper))))


def evaluate_vectors(vectors: WordVectors, plan: VectorPlan, problems: list[str]) -> list[Estimate]:
    """Measure vectors before or after a mitigation; the reason of what cannot be measured is added to the problems."""
    estimates: list[Estimate] = []
    for measure in (_bias, _probe, _cost, _similarity):
        try:
            estimates += measure(vectors, plan)
        except StatsError as error:
            problems.append(str(error))
    return estimates


def _bias(vectors: WordVectors, plan: VectorPlan) -> Iterator[Estimate]:
    """WEAT on gender and on controls, direct bias, and neighbours whose leans are those before."""
    settings = VectorSettings(lower=plan.options.lower, seed=plan.options.seed)
    sets = WordSets(plan.neutral, plan.pairs)
    for name, questions in (("weat", (*GENDER_QUESTIONS, *CONTROLS)), ("direct-bias", ()), ("knn-bias", ())):
        asked = load_questions(questions)
        try:
            result = run_measure(VECTOR_MEASURES.find(name), vectors, asked, sets, settings, plan.vectors)
        except UnmaskError as error:
            yield Estimate(NAN, measure=name, data="words", statistic="none", method=f"none: {error}")
        else:
            yield from estimates_of(result)


def _probe(vectors: WordVectors, plan: VectorPlan) -> Iterator[Estimate]:
    """Accuracy of a linear probe of the side to which words leaned before."""
    before, seed = most_biased(plan, EXTREME), plan.options.seed
    first, second = (vectors.lookup([pair[side] for pair in before.pairs]) for side in (0, 1))
    fit, test = split_by_word(type(before)(first, second, before.pairs), seed=seed)
    accuracy = probe_accuracy(fit, test, np.asarray, seed=seed)
    data = f"{len(before.pairs)} words that leaned most each way"
    yield Estimate.of(accuracy, measure=PROBE, data=data, statistic="accuracy", n=len(test.pairs), null=CHANCE)


def _cost(vectors: WordVectors, plan: VectorPlan) -> Iterator[Estimate]:
    """How much of the geometry before is left: cosines of random pairs of words, and nearest neighbours."""
    rng = generator(plan.options.seed, "utility")
    before, after = (each.first(VectorSettings().vocabulary).matrix for each in (plan.vectors, vectors))
    pairs = rng.integers(len(after), size=(SAMPLED, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    ranks = [rankdata(_cosines(matrix, pairs)) for matrix in (before, after)]
    same, _ = correlation(np.stack(ranks, axis=1))
    about = {"measure": COST, "null": None}
    yield Estimate.of(same, **about, data="random pairs of words", statistic="rank-correlation", n=len(pairs))
    rows = rng.permutation(len(after))[:NEIGHBOURS_OF]
    near = [_neighbours(matrix, rows) for matrix in (before, after)]
    kept = np.array([100 * len({*a} & {*b}) / len(a) for a, b in zip(*near, strict=True)])
    share = mean_interval(kept, rng=rng, unit="words").clip(0.0, 100.0)
    yield Estimate.of(share, **about, data="nearest neighbours", statistic="kept-percent", n=len(rows))


def _similarity(vectors: WordVectors, plan: VectorPlan) -> Iterator[Estimate]:
    """Spearman's correlation of cosines with the similarities that people gave, from the user's file."""
    path: Path | None = plan.options.similarity
    if path is None:
        return
    cased = str.lower if plan.options.lower else str
    judged = [((cased(first), cased(second)), score) for first, second, score in read_similarities(path)]
    known = [(pair, score) for pair, score in judged if not vectors.missing(pair)]
    if not known:
        raise StatsError(f"{file_name(path)}: no pair of its words has vectors in {vectors.source}")
    first, second = (unit(vectors.lookup([pair[side] for pair, _ in known])) for side in (0, 1))
    scores = [score for _, score in known]
    value, p = correlation(np.stack([rankdata((first * second).sum(1)), rankdata(scores)], axis=1))
    yield Estimate.of(value, measure=COST, data=file_name(path), statistic="spearman", n=len(known), p=p)


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


def _cosines(rows: Floats, pairs: Ints) -> Floats:
    cosines: Floats = (unit(rows[pairs[:, 0]]) * unit(rows[pairs[:, 1]])).sum(1)
    return cosines


def _neighbours(matrix: Floats, rows: Ints) -> list[list[int]]:
    """The nearest neighbours of some rows, themselves left out."""
    count = min(NEIGHBOURS, len(matrix) - 1)
    near = NearestNeighbors(n_neighbors=count + 1, metric="cosine", algorithm="brute").fit(matrix)
    neighbours = near.kneighbors(matrix[rows], return_distance=False).tolist()
    return [
        [other for other in others if other != row][:count]
        for row, others in zip(rows.tolist(), neighbours, strict=True)
    ]


def compare_vectors(before: Sequence[Estimate], after: Sequence[Estimate], problems: Sequence[str]) -> Finding:
    """Tables and sentences of what changed."""
    earlier = {estimate.key: estimate for estimate in before}
    both = [(earlier[later.key], later) for later in after if later.key in earlier]
    roles = [PROBE if later.measure == PROBE else COST if _is_cost(later) else "bias" for _, later in both]
    titles = {
        "bias": ("Bias, before and after", "0: none found. knn-bias: words lean as they did before the mitigation."),
        PROBE: ("Can the former lean still be read?", "Percent of unseen words; a probe fitted anew; chance is 50."),
        COST: ("What it cost", COST_NOTE),
    }
    columns = ("measure", "data", "statistic", "n", "before", "after")
    tables = [
        Table(
            title,
            columns,
            tuple(
                (later.measure, later.data, later.statistic, later.n, earlier, later)
                for (earlier, later), of in zip(both, roles, strict=True)
                if of == role
            ),
            note,
            digits=3,
        )
        for role, (title, note) in titles.items()
    ]
    answers = [
        f"{later.measure}: {quantity(earlier, digits=3)} before, {quantity(later, digits=3)} after."
        for earlier, later in both
        if later.measure in ("knn-bias", "direct-bias")
    ]
    answers += [probe_answer(*pair, CHANCE) for pair, role in zip(both, roles, strict=True) if role == PROBE]
    notes = (*dict.fromkeys(problems), *NOTES)
    return Finding(tuple(answers), tuple(table for table in tables if table.rows), (), notes)


def _is_cost(estimate: Estimate) -> bool:
    return estimate.measure == COST or estimate.data in CONTROLS
