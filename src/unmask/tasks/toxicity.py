"""`toxicity`: does a classifier rate a sentence as more toxic because of the group it names?

Shift of the score by identity term (perturbation), and the subgroup, BPSN and BNSP areas under the ROC curve
(Dixon et al. 2018; Borkan et al. 2019): within sentences that name the term; harmless ones that name it
against hateful ones that do not; hateful ones that name it against harmless ones that do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask.core.errors import DataError, ModelError
from unmask.core.estimate import Estimate, Value
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.data.examples import Source
from unmask.findings import Finding, Plot, Table
from unmask.findings.numbers import signed_value
from unmask.models.classifier import Classifier
from unmask.stats.means import mean_interval
from unmask.stats.roc import roc_auc_difference
from unmask.stats.table import Flags
from unmask.tasks.comments import LabelledSentence, load_sentences, sentence_file
from unmask.tasks.sentiment import label_index
from unmask.tasks.spec import Task, TaskObservation, TaskSettings

TOXIC_LABELS = ("toxic", "toxicity", "hate", "hateful", "abusive")


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
    sentences, source_name = load_sentences(settings)
    values = toxicity_scores(
        classifier.probabilities([(sentence.text, None) for sentence in sentences]),
        classifier.labels,
        settings.label,
    )
    return summarize(sentences, values, source_name, seed=settings.seed)


def toxicity_scores(probabilities: Floats, labels: Sequence[str], label: str | None) -> Floats:
    """The probability of the toxic label: `label`, the one named so, or the only one."""
    if label is not None:
        return probabilities[:, label_index(labels, label)]
    if len(labels) == 1:
        return probabilities[:, 0]
    toxic = [at for at, name in enumerate(labels) if name.lower() in TOXIC_LABELS]
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
        chosen = {
            "subgroup": with_term,
            "bpsn": np.where(toxic, ~with_term, with_term),
            "bnsp": np.where(toxic, with_term, ~with_term),
        }
        areas = {area: _area(toxic[part], values[part]) for area, part in chosen.items()}
        shift = (
            mean_interval(shifts[name], rng=generator(seed, name), unit="sentences")
            if name in shifts
            else None
        )
        terms.append(TermResult(name, shift, **areas, n=int(with_term.sum())))
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

    results: dict[str, ToxicityResult] = {each.name: each.result for each in observations}
    whole = Table(
        "Toxic against harmless sentences",
        ("model", "AUC", "lowest BPSN", "lowest BNSP", "sensitivity", "sentences"),
        tuple(
            (name, each.area, _lowest(each, "bpsn"), _lowest(each, "bnsp"), each.sensitivity, each.n)
            for name, each in results.items()
        ),
        "AUC: 0.5 is guessing, 1 perfect. Sensitivity: how much one sentence's score spreads over terms "
        "(mean standard deviation). Intervals of areas: DeLong.",
        digits=3,
    )
    by = Table(
        "By identity term",
        ("model", "term", "shift of score", "subgroup AUC", "BPSN AUC", "BNSP AUC", "n"),
        tuple(
            (name, term.name, term.shift, term.subgroup, term.bpsn, term.bnsp, term.n)
            for name, each in results.items()
            for term in sorted(each.terms, key=lambda term: -(term.shift.value if term.shift else 0.0))
        ),
        "Shift: score less the mean over terms in the same sentence. A low BPSN: harmless sentences "
        "that name the term score like hateful ones that do not. A low BNSP: hateful sentences that name it "
        "score low.",
        digits=3,
    )
    rows = [
        charts.interval_row(term, shift, name)
        for name, each in results.items()
        for term, shift in _by_shift(each)
    ][:60]
    plot = (
        Plot(
            "toxicity",
            "Shift of score",
            "Shift of the toxicity score by identity term, with intervals.",
            charts.intervals(rows, axis="shift of score", null=0.0),
        )
        if rows
        else None
    )
    data = f"data: {observations[0].result.data}"
    return Finding(tuple(map(_answer, observations)), (whole, by), (plot,) if plot else (), (data,))


def estimates(result: ToxicityResult) -> list[Estimate]:
    """The spread of a sentence's score over terms, the AUC, and the shift and AUCs of each term."""
    statistics = {"shift": ("shift of score", 0.0), "subgroup": ("subgroup AUC", 0.5)}
    statistics |= {"bpsn": ("BPSN AUC", 0.5), "bnsp": ("BNSP AUC", 0.5)}
    return [
        Estimate.of(result.sensitivity, statistic="spread of the score over terms", n=result.n),
        Estimate.of(result.area, statistic="AUC", null=0.5, n=result.n),
        *(
            Estimate.of(value, statistic=statistic, group=f"term={term.name}", null=null, n=term.n)
            for term in result.terms
            for name, (statistic, null) in statistics.items()
            if (value := getattr(term, name)) is not None
        ),
    ]


def sources(settings: TaskSettings) -> tuple[Source, ...]:
    """The file that was read, if any."""
    source = sentence_file(settings)
    return (source,) if source else ()


def _area(toxic: Flags, values: Floats) -> Value | None:
    """AUC with DeLong's interval, as its difference from a constant score, whose AUC is 0.5."""
    if not toxic.any() or toxic.all():
        return None
    difference = roc_auc_difference(toxic, values, np.zeros_like(values))
    low, high = difference.low + 0.5, difference.high + 0.5
    return Value(difference.value + 0.5, low, high, difference.method).clip(0.0, 1.0)


def _by_shift(result: ToxicityResult) -> list[tuple[str, Value]]:
    """The terms with their shifts, the largest in size first."""
    shifts = [(term.name, term.shift) for term in result.terms if term.shift is not None]
    return sorted(shifts, key=lambda shift: -abs(shift[1].value))


def _lowest(result: ToxicityResult, which: str) -> str:
    """The lowest AUC of a kind, and its term."""
    known = [(area.value, term.name) for term in result.terms if (area := getattr(term, which)) is not None]
    return "{:.3f} ({})".format(*min(known)) if known else "–"


def _answer(observation: TaskObservation) -> str:
    """The answer in one sentence."""
    result: ToxicityResult = observation.result
    largest = [
        f"; {name} shifts it most, by {signed_value(shift, 3)}" for name, shift in _by_shift(result)[:1]
    ]
    return (
        f"{observation.name}: AUC {result.area.value:.3f}; a sentence's score spreads by "
        f"{result.sensitivity.value:.3f} over terms{''.join(largest)}; {result.n:,} sentences"
    )


TOXICITY = Task(
    name="toxicity",
    title="Toxicity by identity term",
    question="Does a classifier rate a sentence as more toxic because of the group it names?",
    needs="classifier",
    observe=observe,
    conclude=conclude,
    estimates=estimates,
    citation="dixon-etal-2018-measuring",
    sources=sources,
)
