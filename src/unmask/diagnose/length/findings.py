"""Answers, tables and plots of the diagnosis `length`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unmask.diagnose.length.observe import CLASSES, ONCE, TWICE, LengthClasses
from unmask.diagnose.regression_tables import model_and_data
from unmask.diagnose.spec import DiagnosisObservation
from unmask.findings import Cell, Plot, Table, Value, charts

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


def answers(observations: Sequence[DiagnosisObservation]) -> Iterator[str]:
    """How many pairs differ in length, and the measure whose score depends most on which is longer."""
    for observation in observations:
        gaps, who = observation.result.gaps, " on ".join(model_and_data(observation))
        yield (
            f"{who}: the sentences of {sum(map(bool, gaps)):,} of {len(gaps):,} pairs differ in their number "
            f"of tokens; the stereotyping one is longer in {sum(gap > 0 for gap in gaps):,}"
        )
        known_gaps = {
            name: parts for name, parts in observation.result.classes.items() if parts.gap.p is not None
        }
        if known_gaps:
            most = max(known_gaps, key=lambda name: abs(known_gaps[name].gap.value))
            yield f"{who}: {_gap(most, known_gaps[most])}"


def aula_answers(observations: Sequence[DiagnosisObservation]) -> Iterator[str]:
    """The effect of normalising AULA once."""
    for observation in observations:
        if "all" in observation.result.aula:
            comparison = observation.result.aula["all"]
            between = (
                f" ({comparison.low:.1f} to {comparison.high:.1f})"
                if comparison.low == comparison.low
                else ""
            )
            yield (
                f"{' on '.join(model_and_data(observation))}: making AULA's weights sum to one changes the "
                "outcome of "
                f"{comparison.flips:,} of {comparison.n:,} pairs, and the bias score by "
                f"{comparison.change:+.1f} points{between}"
            )


def count_table(observations: Sequence[DiagnosisObservation]) -> Table:
    """Number of pairs that differ in length, and the largest difference."""
    rows: list[tuple[Cell, ...]] = []
    for observation in observations:
        gaps = observation.result.gaps
        classes = (sum(gap > 0 for gap in gaps), gaps.count(0), sum(gap < 0 for gap in gaps))
        left_out = len(observation.data.items) - len(gaps)
        rows.append(
            (*model_and_data(observation), len(gaps), *classes, max(map(abs, gaps), default=0), left_out)
        )
    columns = ("model", "data", "pairs", *CLASSES, "largest difference", "not counted")
    return Table("Pairs by length of the stereotyping sentence", columns, tuple(rows), COUNTS)


def class_table(observations: Sequence[DiagnosisObservation]) -> Table:
    """Bias scores by which sentence is longer."""
    rows: list[tuple[Cell, ...]] = []
    for observation in observations:
        for name, classes in observation.result.classes.items():
            gap = Value(classes.gap.value, classes.gap.low, classes.gap.high, classes.gap.method)
            change = Value(
                classes.unequal.change, classes.unequal.low, classes.unequal.high, classes.unequal.method
            )
            rows.append(
                (
                    *model_and_data(observation),
                    name,
                    *(classes.scores[part] for part in CLASSES),
                    gap,
                    classes.gap.p,
                    change,
                )
            )
    columns = ("model", "data", "measure", *CLASSES, "longer − shorter", "p", "change without unequal")
    return Table(
        "Bias score by length of the stereotyping sentence", columns, tuple(rows), BY_CLASS, digits=1
    )


def correlation_table(observations: Sequence[DiagnosisObservation]) -> Table:
    """Correlations of sentences' scores with their lengths."""
    rows: list[tuple[Cell, ...]] = [
        (*model_and_data(observation), name, n, correlation)
        for observation in observations
        for name, (n, correlation) in observation.result.correlations.items()
    ]
    columns = ("model", "data", "measure", "sentences", "ρ")
    return Table("Score and length of sentences", columns, tuple(rows), WITHIN)


def aula_table(observations: Sequence[DiagnosisObservation]) -> Table:
    """AULA as published beside the form that normalises once."""
    rows: list[tuple[Cell, ...]] = []
    for observation in observations:
        for part, comparison in observation.result.aula.items():
            change = Value(comparison.change, comparison.low, comparison.high, comparison.method)
            p = comparison.p if comparison.flips else None
            rows.append(
                (
                    *model_and_data(observation),
                    part,
                    comparison.n,
                    comparison.a_value,
                    comparison.b_value,
                    change,
                    comparison.flips,
                    p,
                )
            )
    columns = ("model", "data", "part", "pairs", TWICE, ONCE, "change", "outcomes that differ", "p")
    return Table("AULA, normalised twice and once", columns, tuple(rows), AULA, digits=1)


def plot(observations: Sequence[DiagnosisObservation]) -> tuple[Plot, ...]:
    """Bias scores by which sentence is longer; empty if there are none."""
    rows = [
        {
            "label": " · ".join((measure, *model_and_data(observation))),
            "series": part,
            "value": score.value,
            "low": score.low,
            "high": score.high,
        }
        for observation in observations
        for measure, classes in observation.result.classes.items()
        for part, score in classes.scores.items()
        if score.n
    ]
    alt = "Bias score by measure where the stereotyping sentence is longer, equal or shorter, with intervals."
    if not rows:
        return ()
    chart = charts.intervals(rows, axis="bias score, %", null=50.0)
    return (Plot("length-scores", "Bias score by length of the stereotyping sentence", alt, chart),)


def _gap(measure: str, classes: LengthClasses) -> str:
    longer, shorter = classes.scores["longer"], classes.scores["shorter"]
    return (
        f"{measure} depends most on which sentence is longer: its bias score is {longer.value:.1f} "
        f"({longer.low:.1f} to {longer.high:.1f}) over {longer.n:,} pairs whose stereotyping sentence is "
        f"longer, {shorter.value:.1f} ({shorter.low:.1f} to {shorter.high:.1f}) over {shorter.n:,} where it "
        "is shorter"
    )
