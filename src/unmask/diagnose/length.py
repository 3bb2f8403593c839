"""`length`: how much of a score is sentence length?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unmask.audit.session import Session
from unmask.core.estimate import Estimate, Value
from unmask.core.types import Dataset, Row
from unmask.diagnose import regressions
from unmask.diagnose.common import results, unit_groups, without_category
from unmask.diagnose.shuffle import encode_sentences
from unmask.diagnose.spec import DiagnosisObservation, DiagnosisSettings, Observations
from unmask.diagnose.token_accuracy import Groups
from unmask.findings import Cell, Finding, Table, charts
from unmask.findings.numbers import number, signed_number
from unmask.measures import find
from unmask.models import TextModel
from unmask.stats.paired import Comparison, published_comparison
from unmask.stats.regression import PropertyRegression, correlation
from unmask.stats.shares import Contrast, SubsetComparison, bias_score, compare_subset, share_gap
from unmask.stats.table import ScoreTable
from unmask.stats.units import units_of_items

WHAT = "sentence length"
CLASSES = {"longer": 1, "equal": 0, "shorter": -1}  # sign of the stereotyping sentence's length − the other's
TWICE, ONCE = "aula", "aula-normalised"
Lengths = Mapping[str, tuple[int, int]]  # by item: content tokens of `more` and of `less`
COUNTS = (
    "Pairs by whether the stereotyping sentence has more tokens than the other, as many, or fewer. "
    "Not counted: the model cannot encode one of the sentences."
)
BY_CLASS = (
    "Bias score where the stereotyping sentence is longer, equal or shorter in tokens, Wilson intervals; "
    "longer − shorter in points, Newcombe's interval, p by Fisher's exact test: 0 if length has no "
    "effect. Change without unequal: the score of pairs of equal length minus that of all pairs."
)
WITHIN = (
    "Spearman's correlation of a sentence's score with its number of tokens, over both sentences of every "
    "scored pair; pairs are resampled whole. Sums of log-probabilities must decrease with length; for a mean "
    "0 is expected. AULA divides by length twice, which raises the scores of long sentences towards 0."
)
AULA = (
    "AULA as published divides attention-weighted log-probabilities by length, although attention that sums "
    "to one has done so already; the weights of aula-normalised sum to one and nothing is divided. Change "
    "with its paired interval; p by McNemar's exact test, where any outcome differs."
)


@dataclass(frozen=True, slots=True)
class LengthClasses:
    """A measure's bias score by which sentence is longer."""

    scores: Mapping[str, Estimate]  # by class
    gap: Contrast  # longer minus shorter
    unequal: SubsetComparison  # pairs of unequal length against the others


@dataclass(frozen=True, slots=True)
class LengthResult:
    """Sentence lengths under one model's tokenizer, and every measure by length."""

    lengths: Lengths
    regressions: Mapping[str, PropertyRegression]
    classes: Mapping[str, LengthClasses]
    correlations: Mapping[str, tuple[int, Value]]  # sentences, and their score's correlation with length
    aula: Mapping[str, Comparison]  # by part of the pairs: as published, then normalised once

    @property
    def gaps(self) -> list[int]:
        """Tokens of the stereotyping sentence minus tokens of the other, by pair."""
        return [more - less for more, less in self.lengths.values()]


def observe(session: Session, data: Dataset, settings: DiagnosisSettings) -> LengthResult:
    """Count tokens, score every pair, and relate scores to lengths; with AULA, also its other variant."""
    name = data.card.name
    lengths = sentence_lengths(data, session.lm)
    measures = list(session.pair_measures(data, settings.measures))
    names = [measure.name for measure in measures]
    if TWICE in names and ONCE not in names:
        measures.insert(names.index(TWICE) + 1, find(ONCE))
    scored = session.scores(data, measures)
    rows = {measure: [item.row for item in items] for measure, items in scored.items()}
    by = {item: float(more - less) for item, (more, less) in lengths.items()}
    shares = {measure: rows[measure] for measure in rows if by and find(measure).summary == "share"}
    return LengthResult(
        lengths=lengths,
        regressions=regressions.measure_regressions(rows, by, settings, data=name),
        classes={measure: _length_classes(measure, own, by, name, settings) for measure, own in shares.items()},
        correlations={
            measure: _correlation(own, lengths, unit_groups(data, settings)) for measure, own in shares.items()
        },
        aula=_aula(rows, by, name, settings) if {TWICE, ONCE} <= rows.keys() else {},
    )


def sentence_lengths(data: Dataset, lm: TextModel) -> Lengths:
    """The lengths of the pairs that the model can encode."""
    encoded = encode_sentences(data.items, lambda item: [item.more, item.less], lm)
    return {item: (len(more.content), len(less.content)) for item, (more, less) in encoded.items()}


def conclude(observations: Observations, settings: DiagnosisSettings) -> Finding:
    """Regression on length, scores by which sentence is longer, and AULA's two normalisations."""
    rest = (_class_table(observations), _correlation_table(observations), _aula_table(observations))
    title = "Bias score by length of the stereotyping sentence"
    alt = "Bias score by measure where the stereotyping sentence is longer, equal or shorter, with intervals."
    points = [
        (" · ".join((measure, *each.names)), score, part)
        for each, measure, classes in results(observations, "classes")
        for part, score in classes.scores.items()
        if score.n
    ]
    plots = charts.interval_plots("length-scores", title, alt, points, axis="bias score, %", null=50.0)
    return Finding(
        (
            *(line for observation in observations for line in _answers(observation)),
            *regressions.answers(observations, what=WHAT),
            *(_aula_answer(each) for each in observations if "all" in each.result.aula),
        ),
        (
            _count_table(observations),
            *regressions.tables(observations, what=WHAT, step="token"),
            *(table for table in rest if table.rows),
        ),
        (*regressions.slopes_plot(observations, id="length-slopes", what=WHAT), *plots),
    )


def estimates(observations: Observations, settings: DiagnosisSettings) -> list[Estimate]:
    """Standardised slopes on length, and the gap between longer and shorter stereotyping sentences."""
    every = regressions.estimates("length", observations)
    for observation, name, classes in results(observations, "classes"):
        gap, n = classes.gap, classes.scores["longer"].n + classes.scores["shorter"].n
        numbers = {"null": 0.0, "n": n, "p": gap.p}
        every.append(observation.estimate(f"length/{name}", "longer-minus-shorter", gap, **numbers))
    return every


def _length_classes(
    measure: str, rows: Sequence[Row], by: Mapping[str, float], data: str, settings: DiagnosisSettings
) -> LengthClasses:
    own = [row for row in rows if row.item in by]
    table = ScoreTable.of(find(measure), own, data=data, independent=settings.independent)
    signs = np.sign([by[item] for item in table.items.tolist()])
    classes = {name: table.take(signs == sign) for name, sign in CLASSES.items()}
    return LengthClasses(
        scores={name: bias_score(part, group=name) for name, part in classes.items()},
        gap=share_gap(classes["longer"], classes["shorter"]),
        unequal=compare_subset(table, signs != 0),
    )


def _correlation(rows: Sequence[Row], lengths: Lengths, groups: Groups) -> tuple[int, Value]:
    """Spearman's correlation over both sentences of every scored pair."""
    kept = [row for row in rows if row.scores and row.item in lengths]
    tokens = [np.array([lengths[row.item][side] for row in kept], dtype=np.float64) for side in (0, 1)]
    more = np.array([row.scores["more"] for row in kept], dtype=np.float64)
    less = np.array([row.scores["less"] for row in kept], dtype=np.float64)
    return 2 * len(kept), correlation(
        tokens, [more, less], ranks=True, units=units_of_items([groups[row.item] for row in kept])
    )


def _aula(
    rows: Mapping[str, Sequence[Row]], by: Mapping[str, float], data: str, settings: DiagnosisSettings
) -> dict[str, Comparison]:
    """AULA as published against the variant whose weights sum to one, pair by pair."""
    parts = {"all": set(by), "equal length": {item for item in by if not by[item]}}
    parts["unequal length"] = parts["all"] - parts["equal length"]
    compared = {}
    for name, items in parts.items():
        twice, once = (
            [replace(without_category(row), measure=TWICE) for row in rows[measure] if row.item in items]
            for measure in (TWICE, ONCE)
        )
        if any(row.scores for row in twice):
            compared[name] = published_comparison(
                *(find(TWICE), twice, once), data=data, rng_seed=settings.seed, independent=settings.independent
            )
    return compared


def _answers(observation: DiagnosisObservation) -> Iterator[str]:
    """How many pairs differ in length, and the measure whose score depends most on which is longer."""
    gaps, who = observation.result.gaps, observation.where
    yield (
        f"{who}: the sentences of {sum(map(bool, gaps)):,} of {len(gaps):,} pairs differ in their number "
        f"of tokens; the stereotyping one is longer in {sum(gap > 0 for gap in gaps):,}"
    )
    known = {name: parts for name, parts in observation.result.classes.items() if parts.gap.p is not None}
    if known:
        most = max(known, key=lambda name: abs(known[name].gap.value))
        longer, shorter = known[most].scores["longer"], known[most].scores["shorter"]
        yield (
            f"{who}: {most} depends most on which sentence is longer: its bias score is {longer.value:.1f} "
            f"({longer.low:.1f} to {longer.high:.1f}) over {longer.n:,} pairs whose stereotyping sentence is "
            f"longer, {shorter.value:.1f} ({shorter.low:.1f} to {shorter.high:.1f}) over {shorter.n:,} where "
            "it is shorter"
        )


def _aula_answer(observation: DiagnosisObservation) -> str:
    """The effect of normalising AULA once."""
    comparison, change = observation.result.aula["all"], observation.result.aula["all"].difference
    between = f" ({number(change.low, 1)} to {number(change.high, 1)})" if change.has_interval else ""
    return (
        f"{observation.where}: making AULA's weights sum to one changes the outcome of "
        f"{comparison.flips:,} of {comparison.n:,} pairs, and the bias score by {signed_number(change.value, 1)} points"
        f"{between}"
    )


def _count_table(observations: Observations) -> Table:
    """Number of pairs that differ in length, and the largest difference."""
    rows: list[tuple[Cell, ...]] = []
    for observation in observations:
        gaps = observation.result.gaps
        classes = (sum(gap > 0 for gap in gaps), gaps.count(0), sum(gap < 0 for gap in gaps))
        left_out = len(observation.data.items) - len(gaps)
        rows.append((*observation.names, len(gaps), *classes, max(map(abs, gaps), default=0), left_out))
    columns = ("model", "data", "pairs", *CLASSES, "largest difference", "not counted")
    return Table("Pairs by length of the stereotyping sentence", columns, tuple(rows), COUNTS)


def _class_table(observations: Observations) -> Table:
    """Bias scores by which sentence is longer."""
    rows: list[tuple[Cell, ...]] = []
    for observation, name, classes in results(observations, "classes"):
        scores = (classes.scores[part] for part in CLASSES)
        gap = (classes.gap, classes.gap.p, classes.unequal.change)
        rows.append((*observation.names, name, *scores, *gap))
    columns = ("model", "data", "measure", *CLASSES, "longer − shorter", "p", "change without unequal")
    title = "Bias score by length of the stereotyping sentence"
    return Table(title, columns, tuple(rows), BY_CLASS, digits=1)


def _correlation_table(observations: Observations) -> Table:
    """Correlations of sentences' scores with their lengths."""
    rows = ((*each.names, name, *numbers) for each, name, numbers in results(observations, "correlations"))
    columns = ("model", "data", "measure", "sentences", "ρ")
    return Table("Score and length of sentences", columns, tuple(rows), WITHIN)


def _aula_table(observations: Observations) -> Table:
    """AULA as published beside the form that normalises once."""
    rows: list[tuple[Cell, ...]] = []
    for observation, part, comparison in results(observations, "aula"):
        scores = (comparison.n, comparison.a_value, comparison.b_value, comparison.difference)
        p = comparison.p if comparison.flips else None
        rows.append((*observation.names, part, *scores, comparison.flips, p))
    columns = ("model", "data", "part", "pairs", TWICE, ONCE, "change", "outcomes that differ", "p")
    return Table("AULA, normalised twice and once", columns, tuple(rows), AULA, digits=1)
