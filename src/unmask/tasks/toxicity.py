"""`toxicity`: does a classifier rate a sentence as more toxic because of the group it names?

Shift of the score by identity term (perturbation), and the subgroup, BPSN and BNSP areas under the ROC curve
(Dixon et al. 2018; Borkan et al. 2019): within sentences that name the term; harmless ones that name it
against hateful ones that do not; hateful ones that name it against harmless ones that do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unmask.core.errors import DataError, ModelError
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.data.examples import Source
from unmask.findings import Cell, Finding, Plot, Table, Value
from unmask.models.classifier import Classifier
from unmask.stats.means import mean_interval
from unmask.stats.roc import roc_auc_difference
from unmask.stats.table import Flags
from unmask.tasks.comments import LabelledSentence, load_sentences
from unmask.tasks.spec import Headline, Task, TaskObservation, TaskSettings


@dataclass(frozen=True, slots=True)
class TermResult:
    """One identity term: its score shift and its subgroup, BPSN and BNSP AUC."""

    name: str
    shift: Value | None  # score less the mean over terms in the same sentence
    subgroup: Value | None
    bpsn: Value | None
    bnsp: Value | None
    n: int


@dataclass(frozen=True, slots=True)
class ToxicityResult:
    """Every term, the AUC over all sentences, and the spread over terms."""

    terms: tuple[TermResult, ...]
    area: Value
    sensitivity: Value  # mean over sentences of the standard deviation of its scores over terms
    n: int
    data: str


def observe(classifier: Classifier, settings: TaskSettings) -> ToxicityResult:
    """Score every sentence."""
    sentences, source_name, _ = load_sentences(settings)
    values = toxicity_scores(
        classifier.probabilities([(sentence.text, None) for sentence in sentences]),
        classifier.labels,
        settings.label,
    )
    return summarize(sentences, values, source_name, seed=settings.seed)


def toxicity_scores(probabilities: Floats, labels: Sequence[str], label: str | None) -> Floats:
    """The probability of the toxic label: `label`, the one named so, or the only one."""
    names = [name.lower() for name in labels]
    if label is not None:
        if label.lower() not in names:
            raise ModelError(f"no label {label!r}: the classifier has {', '.join(labels)}")
        return probabilities[:, names.index(label.lower())]
    if len(names) == 1:
        return probabilities[:, 0]
    toxic = [
        at for at, name in enumerate(names) if name in ("toxic", "toxicity", "hate", "hateful", "abusive")
    ]
    if len(toxic) == 1:
        return probabilities[:, toxic[0]]
    raise ModelError(f"no label is clearly the toxic one: give `label`, one of {', '.join(labels)}")


def summarize(
    sentences: Sequence[LabelledSentence], values: Floats, source_name: str, *, seed: int
) -> ToxicityResult:
    """The result from given scores."""
    toxic = np.array([sentence.toxic for sentence in sentences])
    named = np.array([sentence.term for sentence in sentences])
    if not sentences or toxic.all() or not toxic.any():
        raise DataError("the data has only toxic or only harmless sentences: both are needed")
    shifts, spread = term_shifts(sentences, values)
    terms = []
    for name in sorted({sentence.term for sentence in sentences} - {""}):
        with_term = named == name
        term_values = shifts.get(name, np.array([]))
        shift = mean_interval(term_values, rng=generator(seed, name), unit="sentences")
        terms.append(
            TermResult(
                name,
                shift if term_values.size else None,
                _area(toxic[with_term], values[with_term]),
                _area(
                    toxic[(with_term & ~toxic) | (~with_term & toxic)],
                    values[(with_term & ~toxic) | (~with_term & toxic)],
                ),
                _area(
                    toxic[(with_term & toxic) | (~with_term & ~toxic)],
                    values[(with_term & toxic) | (~with_term & ~toxic)],
                ),
                int(with_term.sum()),
            )
        )
    whole = _area(toxic, values)
    assert whole is not None
    sensitivity = mean_interval(spread, rng=generator(seed, "spread"), unit="sentences")
    return ToxicityResult(tuple(terms), whole, sensitivity, len(sentences), source_name)


def term_shifts(sentences: Sequence[LabelledSentence], values: Floats) -> tuple[dict[str, Floats], Floats]:
    """By term: scores less the mean over terms in the same template; and the spread of each template."""
    scores_by_template: dict[str, dict[str, float]] = {}
    for sentence, value in zip(sentences, values, strict=True):
        if sentence.term:
            scores_by_template.setdefault(sentence.template, {})[sentence.term] = float(value)
    perturbed = [scores for scores in scores_by_template.values() if len(scores) > 1]
    shifts: dict[str, list[float]] = {}
    for scores in perturbed:
        mean = float(np.mean(list(scores.values())))
        for term, value in scores.items():
            shifts.setdefault(term, []).append(value - mean)
    spread = np.array([float(np.std(list(scores.values()))) for scores in perturbed])
    return {term: np.array(values) for term, values in shifts.items()}, spread


def conclude(observations: Sequence[TaskObservation], settings: TaskSettings) -> Finding:
    """By term: the shift and three AUCs; over all sentences: the AUC."""
    from unmask.findings import charts

    whole = Table(
        "Toxic against harmless sentences",
        ("model", "AUC", "lowest BPSN", "lowest BNSP", "sensitivity", "sentences"),
        tuple(_whole(observation) for observation in observations),
        "AUC: 0.5 is guessing, 1 perfect. Sensitivity: how much one sentence's score spreads over terms "
        "(mean standard deviation). Intervals of areas: DeLong.",
        digits=3,
    )
    by = Table(
        "By identity term",
        ("model", "term", "shift of score", "subgroup AUC", "BPSN AUC", "BNSP AUC", "n"),
        tuple(row for observation in observations for row in _terms(observation)),
        "Shift: score less the mean over terms in the same sentence. A low BPSN: harmless sentences "
        "that name the term score like hateful ones that do not. A low BNSP: hateful sentences that name it "
        "score low.",
        digits=3,
    )
    rows = [
        {
            "label": term.name,
            "series": str(observation.model["id"]),
            "value": term.shift.value,
            "low": term.shift.low,
            "high": term.shift.high,
        }
        for observation in observations
        for term in sorted(observation.result.terms, key=lambda term: -_size(term))
        if term.shift is not None
    ][:60]
    description = "Shift of the toxicity score by identity term, with intervals."
    plots = (
        [
            Plot(
                "toxicity",
                "Shift of score",
                description,
                charts.intervals(rows, axis="shift of score", null=0.0),
            )
        ]
        if rows
        else []
    )
    return Finding(
        tuple(map(_answer, observations)),
        (whole, by),
        tuple(plots),
        (f"data: {observations[0].result.data}",),
    )


def headline(result: ToxicityResult) -> Headline:
    """The spread of a sentence's score over terms."""
    return Headline("spread of the score over terms", result.sensitivity, result.n)


def sources(settings: TaskSettings) -> tuple[Source, ...]:
    """The file that was read, if any."""
    return load_sentences(settings)[2]


def _area(toxic: Flags, values: Floats) -> Value | None:
    """AUC with DeLong's interval, as its difference from a constant score, whose AUC is 0.5."""
    if not toxic.any() or toxic.all():
        return None
    difference = roc_auc_difference(toxic, values, np.zeros_like(values))
    low, high = difference.low + 0.5, difference.high + 0.5
    return Value(difference.value + 0.5, low, high, difference.method).clip(0.0, 1.0)


def _size(term: TermResult) -> float:
    return abs(term.shift.value) if term.shift is not None else 0.0


def _terms(observation: TaskObservation) -> list[tuple[Cell, ...]]:
    ranked = sorted(observation.result.terms, key=lambda term: -(term.shift.value if term.shift else 0.0))
    return [
        (observation.model["id"], term.name, term.shift, term.subgroup, term.bpsn, term.bnsp, term.n)
        for term in ranked
    ]


def _whole(observation: TaskObservation) -> tuple[Cell, ...]:
    result: ToxicityResult = observation.result
    return (
        *(observation.model["id"], result.area, _lowest(result, "bpsn"), _lowest(result, "bnsp")),
        *(result.sensitivity, result.n),
    )


def _lowest(result: ToxicityResult, which: str) -> str:
    known: Mapping[str, Value] = {
        term.name: number for term in result.terms if (number := getattr(term, which)) is not None
    }
    if not known:
        return "–"
    name = min(known, key=lambda term_name: known[term_name].value)
    return f"{known[name].value:.3f} ({name})"


def _answer(observation: TaskObservation) -> str:
    result: ToxicityResult = observation.result
    moved = [term for term in result.terms if term.shift is not None]
    most = max(moved, key=_size, default=None)
    named = (
        f"; {most.name} moves it most ({most.shift.value:+.3f}, {most.shift.low:+.3f} to "
        f"{most.shift.high:+.3f})"
        if most is not None and most.shift is not None
        else ""
    )
    return (
        f"{observation.model['id']}: AUC {result.area.value:.3f}; a sentence's score spreads by "
        f"{result.sensitivity.value:.3f} "
        f"over terms{named}; {result.n:,} sentences"
    )


TOXICITY = Task(
    name="toxicity",
    title="Toxicity by identity term",
    question="Does a classifier rate a sentence as more toxic because of the group it names?",
    needs="classifier",
    observe=observe,
    conclude=conclude,
    headline=headline,
    citation="dixon-etal-2018-measuring",
    sources=sources,
)
