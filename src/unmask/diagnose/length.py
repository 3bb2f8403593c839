"""`length`: how much of a score is sentence length?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from unmask.core.estimate import Estimate, Value
from unmask.core.types import Dataset, Row
from unmask.diagnose import regressions
from unmask.diagnose.scores import (
    Groups,
    encode_sentences,
    not_pairs_reason,
    results,
    score_table,
    unit_groups,
    without_category,
)
from unmask.diagnose.spec import Diagnosis, DiagnosisObservation, Observations, UnitOptions
from unmask.findings import Cell, Conclusion, Finding, Table
from unmask.measures import find

if TYPE_CHECKING:
    from unmask.audit.session import Session
    from unmask.models import TextModel
    from unmask.stats.paired import Comparison
    from unmask.stats.regression import PropertyRegression
    from unmask.stats.shares import Contrast, SubsetComparison

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


def observe(session: Session, data: Dataset, options: UnitOptions) -> LengthResult:
    """Count tokens, score every pair, and relate scores to lengths; with AULA, also its other variant."""
    name = data.card.name
    lengths = sentence_lengths(data, session.lm)
    measures = list(session.pair_measures(data, options.measures))
    names = [measure.name for measure in measures]
    if TWICE in names and ONCE not in names:
        measures.insert(names.index(TWICE) + 1, find(ONCE))
    scored = session.scores(data, measures)
    rows = {measure: [item.row for item in items] for measure, items in scored.items()}
    by = {item: float(more - less) for item, (more, less) in lengths.items()}
    shares = {measure: rows[measure] for measure in rows if by and find(measure).summary == "share"}
    return LengthResult(
        lengths=lengths,
        regressions=regressions.measure_regressions(rows, by, options, data=name),
        classes={measure: _length_classes(measure, scored, by, name, options) for measure, scored in shares.items()},
        correlations={
            measure: _correlation(own, lengths, unit_groups(data, independent=options.independent))
            for measure, own in shares.items()
        },
        aula=_aula(rows, by, name, options) if {TWICE, ONCE} <= rows.keys() else {},
    )


def sentence_lengths(data: Dataset, lm: TextModel) -> Lengths:
    """The lengths of the pairs that the model can encode."""
    encoded = encode_sentences(data.items, lambda item: [item.more, item.less], lm)
    return {item: (len(more.content), len(less.content)) for item, (more, less) in encoded.items()}


def _length_classes(
    measure: str, rows: Sequence[Row], by: Mapping[str, float], data: str, options: UnitOptions
) -> LengthClasses:
    import numpy as np

    from unmask.stats.shares import bias_score, compare_subset, share_gap

    table = score_table([row for row in rows if row.item in by], measure, data, options)
    signs = np.sign([by[item] for item in table.items.tolist()])
    classes = {name: table.take(signs == sign) for name, sign in CLASSES.items()}
    return LengthClasses(
        scores={name: bias_score(part, group=name) for name, part in classes.items()},
        gap=share_gap(classes["longer"], classes["shorter"]),
        unequal=compare_subset(table, signs != 0),
    )


def _correlation(rows: Sequence[Row], lengths: Lengths, groups: Groups) -> tuple[int, Value]:
    """Spearman's correlation over both sentences of every scored pair."""
    import numpy as np

    from unmask.stats.regression import correlation
    from unmask.stats.units import units_of_items

    kept = [row for row in rows if row.scores and row.item in lengths]
    tokens = [np.array([lengths[row.item][side] for row in kept], dtype=np.float64) for side in (0, 1)]
    more = np.array([row.scores["more"] for row in kept], dtype=np.float64)
    less = np.array([row.scores["less"] for row in kept], dtype=np.float64)
    return 2 * len(kept), correlation(
        tokens, [more, less], ranks=True, units=units_of_items([groups[row.item] for row in kept])
    )


def _aula(
    rows: Mapping[str, Sequence[Row]], by: Mapping[str, float], data: str, options: UnitOptions
) -> dict[str, Comparison]:
    """AULA as published against the variant whose weights sum to one, pair by pair."""
    from unmask.stats.paired import published_comparison

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
                *(find(TWICE), twice, once), data=data, rng_seed=options.seed, independent=options.independent
            )
    return compared


def conclude(observations: Observations, options: UnitOptions) -> Conclusion:
    """Regression on length, scores by which sentence is longer, and AULA's two normalisations."""
    from unmask.findings import charts

    title = "Bias score by length of the stereotyping sentence"
    alt = "Bias score by measure where the stereotyping sentence is longer, equal or shorter, with intervals."
    points = [
        (" · ".join((measure, *each.names)), score, part)
        for each, measure, classes in results(observations, "classes")
        for part, score in classes.scores.items()
        if score.n
    ]
    plots = charts.interval_plots("length-scores", title, alt, points, axis="bias score, %", null=50.0)
    fitted = regressions.estimates("length", observations)
    return Conclusion(
        Finding(
            (
                *(line for observation in observations for line in _answers(observation)),
                *regressions.answers(observations, what=WHAT),
            ),
            (
                Table.of("Pairs by length of the stereotyping sentence", map(_count_record, observations), COUNTS),
                *regressions.tables(observations, what=WHAT, step="token"),
                Table.of(
                    title,
                    (
                        {
                            **each.key,
                            "measure": name,
                            **classes.scores,
                            "longer − shorter": classes.gap,
                            "p": classes.gap.p,
                            "change without unequal": classes.unequal.change,
                        }
                        for each, name, classes in results(observations, "classes")
                    ),
                    BY_CLASS,
                    digits=1,
                ),
                Table.of(
                    "Score and length of sentences",
                    (
                        {**each.key, "measure": name, "sentences": n, "ρ": rho}
                        for each, name, (n, rho) in results(observations, "correlations")
                    ),
                    WITHIN,
                ),
                Table.of(
                    "AULA, normalised twice and once",
                    (
                        {
                            **each.key,
                            "part": part,
                            "pairs": comparison.n,
                            TWICE: comparison.a_value,
                            ONCE: comparison.b_value,
                            "change": comparison.difference,
                            "outcomes that differ": comparison.flips,
                            "p": comparison.p if comparison.flips else None,
                        }
                        for each, part, comparison in results(observations, "aula")
                    ),
                    AULA,
                    digits=1,
                ),
            ),
            (*regressions.slopes_plot(observations, id="length-slopes", what=WHAT), *plots),
        ),
        (*fitted, *(_gap(*each) for each in results(observations, "classes"))),
    )


def _count_record(observation: DiagnosisObservation) -> dict[str, Cell]:
    """Number of pairs that differ in length, and the largest difference."""
    gaps = observation.result.gaps
    return {
        **observation.key,
        "pairs": len(gaps),
        "longer": sum(gap > 0 for gap in gaps),
        "equal": gaps.count(0),
        "shorter": sum(gap < 0 for gap in gaps),
        "largest difference": max(map(abs, gaps), default=0),
        "not counted": len(observation.data.items) - len(gaps),
    }


def _gap(observation: DiagnosisObservation, name: str, classes: LengthClasses) -> Estimate:
    """The gap between longer and shorter stereotyping sentences."""
    gap, n = classes.gap, classes.scores["longer"].n + classes.scores["shorter"].n
    return observation.estimate(f"length/{name}", "longer-minus-shorter", gap, null=0.0, n=n, p=gap.p)


def _answers(observation: DiagnosisObservation) -> Iterator[str]:
    """How many pairs differ in length, the measure that depends most on which is longer, and AULA's two forms."""
    from unmask.findings import sentences

    gaps, where = observation.result.gaps, observation.where
    yield (
        f"{where}: the sentences of {sum(map(bool, gaps)):,} of {len(gaps):,} pairs differ in their number "
        f"of tokens; the stereotyping one is longer in {sum(gap > 0 for gap in gaps):,}"
    )
    gap_of = {name: classes.gap for name, classes in observation.result.classes.items() if classes.gap.p is not None}
    if gap_of:
        most = max(gap_of, key=lambda name: abs(gap_of[name].value))
        groups = "where the stereotyping sentence is longer", "where it is shorter"
        what = f"{where}, {most}: bias score"
        yield sentences.difference(what, *groups, gap_of[most], p=gap_of[most].p, of="bias-score")
    if "all" in observation.result.aula:
        both = observation.result.aula["all"]
        what = f"{where}: AULA with weights that sum to one, {both.flips:,} of {both.n:,} outcomes differ, bias score"
        yield sentences.effect(what, both.a_value, both.b_value, both.difference, p=both.p, of="bias-score")


LENGTH = Diagnosis(
    name="length",
    title="Sentence length",
    question="How much of a score is the length of the sentences?",
    observe=observe,
    conclude=conclude,
    unfit_reason=not_pairs_reason,
    citation="kaneko-bollegala-2022-unmasking",
    order=8,
)
