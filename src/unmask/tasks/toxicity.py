"""`toxicity`: does a classifier rate a sentence as more toxic because of the group it names?

Shift of the score by identity term (perturbation), and the subgroup, BPSN and BNSP areas under the ROC curve
(Dixon et al. 2018; Borkan et al. 2019): within sentences that name the term; harmless ones that name it
against hateful ones that do not; hateful ones that name it against harmless ones that do not. The sentences
are those of the user's file, of the published templates, or of built-in ones. Names are exchanged in built-in
sentences (`name_sensitivity`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmask.core.errors import DataError, ModelError
from unmask.core.estimate import Estimate
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.findings import Finding
from unmask.findings.numbers import signed_value
from unmask.models.classifier import Classifier
from unmask.stats.intervals import mean_interval
from unmask.stats.roc import roc_auc
from unmask.stats.table import Flags
from unmask.stats.units import Units, units_of
from unmask.tasks.added_data import added_tables
from unmask.tasks.name_sensitivity import NameSensitivity, measure_names, name_tables
from unmask.tasks.sentiment import label_index
from unmask.tasks.spec import TaskObservation, TaskSettings
from unmask.tasks.tables import table_by_model
from unmask.tasks.toxicity_sentences import LabelledSentence, load_sentences

TOXIC_LABELS = ("toxic", "toxicity", "hate", "hateful", "abusive")


@dataclass(frozen=True, slots=True)
class TermResult:
    """One identity term: its score shift and its subgroup, BPSN and BNSP AUC."""

    name: str
    shift: Estimate | None  # score less the mean over terms in the same sentence
    subgroup: Estimate | None
    bpsn: Estimate | None
    bnsp: Estimate | None
    n: int


@dataclass(frozen=True, slots=True)
class ScoredSentences:
    """Label, identity term, template and score of every sentence."""

    toxic: Flags
    terms: NDArray[np.str_]
    templates: NDArray[np.str_]
    values: Floats

    def units(self, of: Flags | slice = slice(None)) -> Units:
        """Some of the sentences as units: those that differ in the term alone are one."""
        return units_of({"cluster": self.templates[of]})

    def areas(self, term: str) -> dict[str, Flags]:
        """Which sentences the subgroup, BPSN and BNSP AUC of a term are about."""
        with_term = self.terms == term
        return {
            "subgroup": with_term,
            "BPSN": np.where(self.toxic, ~with_term, with_term),
            "BNSP": np.where(self.toxic, with_term, ~with_term),
        }


@dataclass(frozen=True, slots=True)
class ToxicityResult:
    """Every term, the AUC over all sentences, and the spread over terms."""

    terms: tuple[TermResult, ...]
    area: Estimate
    sensitivity: Estimate  # mean over sentences of the standard deviation of its scores over terms
    data: str
    names: NameSensitivity | None = None
    scored: ScoredSentences | None = None  # to compare classifiers on the same sentences


def observe(classifier: Classifier, settings: TaskSettings) -> ToxicityResult:
    """Score every sentence."""
    sentences, source_name = load_sentences(settings)

    def score(texts: Sequence[str]) -> Floats:
        probabilities = classifier.probabilities([(text, None) for text in texts])
        return toxicity_scores(probabilities, classifier.labels, settings.label)

    result = summarize(sentences, score([sentence.text for sentence in sentences]), source_name, seed=settings.seed)
    return replace(result, names=measure_names(score, seed=settings.seed))


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


def summarize(sentences: Sequence[LabelledSentence], values: Floats, source_name: str, *, seed: int) -> ToxicityResult:
    """The result from given scores."""
    toxic = np.array([sentence.toxic for sentence in sentences])
    named, templates = (np.array([getattr(each, name) for each in sentences]) for name in ("term", "template"))
    if not sentences or toxic.all() or not toxic.any():
        raise DataError("the data has only toxic or only harmless sentences: both are needed")
    shifts, spreads = term_shifts(sentences, values)
    scored = ScoredSentences(toxic, named, templates, values)
    terms = []
    for name in sorted({sentence.term for sentence in sentences} - {""}):
        chosen = scored.areas(name)
        n = int(chosen["subgroup"].sum())
        fields: dict[str, Any] = {"group": f"term={name}", "n": n}
        subgroup, bpsn, bnsp = (_area(scored, of, statistic=f"{area} AUC", **fields) for area, of in chosen.items())
        shift = None
        if name in shifts:
            mean = mean_interval(shifts[name], rng=generator(seed, name), unit="sentences")
            shift = Estimate.of(mean, statistic="shift of score", null=0.0, **fields)
        terms.append(TermResult(name, shift, subgroup, bpsn, bnsp, n))
    whole = _area(scored, np.ones_like(toxic), statistic="AUC", n=len(sentences))
    assert whole is not None
    spread = mean_interval(spreads, rng=generator(seed, "spread"), unit="sentences")
    sensitivity = Estimate.of(spread, statistic="spread of the score over terms", n=len(sentences))
    return ToxicityResult(tuple(terms), whole, sensitivity, source_name, scored=scored)


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

    whole = table_by_model(
        observations,
        "Toxic against harmless sentences",
        ("AUC", "lowest BPSN", "lowest BNSP", "sensitivity", "sentences"),
        lambda result: [(result.area, *_lowest(result), result.sensitivity, result.area.n)],
        "AUC: 0.5 is guessing, 1 perfect. Sensitivity: how much one sentence's score spreads over terms "
        "(mean standard deviation). Intervals of areas: DeLong, over sentences; those that differ in the term alone "
        "count as one.",
    )
    by_term = table_by_model(
        observations,
        "By identity term",
        ("term", "shift of score", "subgroup AUC", "BPSN AUC", "BNSP AUC", "n"),
        lambda result: [
            (term.name, term.shift, term.subgroup, term.bpsn, term.bnsp, term.n)
            for term in sorted(result.terms, key=lambda term: -(term.shift.value if term.shift else 0.0))
        ],
        "Shift: score less the mean over terms in the same sentence. A low BPSN: harmless sentences "
        "that name the term score like hateful ones that do not. A low BNSP: hateful sentences that name it "
        "score low.",
    )
    plots = charts.interval_plots(
        "toxicity",
        "Shift of score",
        "Shift of the toxicity score by identity term, with intervals.",
        [(term, shift, each.name) for each in observations for term, shift in _by_shift(each.result)][:60],
        axis="shift of score",
        null=0.0,
    )
    notes = (f"data: {observations[0].result.data}",)
    answers = []
    for name, result in ((each.name, each.result) for each in observations):
        largest = [f"; {term} shifts it most, by {signed_value(by, 3)}" for term, by in _by_shift(result)[:1]]
        answers.append(
            f"{name}: AUC {result.area.value:.3f}; a sentence's score spreads by "
            f"{result.sensitivity.value:.3f} over terms{''.join(largest)}; {result.area.n:,} sentences"
        )
    by_name = name_tables(observations) if all(each.result.names for each in observations) else ()
    added = added_tables(observations, settings.seed) if settings.added is not None else ()
    return Finding(tuple(answers), (whole, *added, by_term, *by_name), plots, notes)


def estimates(result: ToxicityResult) -> list[Estimate]:
    """The spread of a sentence's score over terms, the AUC, the shift and AUCs of each term, and those of names."""
    by_term = [each for term in result.terms for each in (term.shift, term.subgroup, term.bpsn, term.bnsp)]
    of_names = result.names.estimates() if result.names is not None else []
    return [result.sensitivity, result.area, *(each for each in by_term if each is not None), *of_names]


def _area(scored: ScoredSentences, of: Flags, **fields: Any) -> Estimate | None:
    """The AUC over some of the sentences; None if they have one label only."""
    toxic = scored.toxic[of]
    if not toxic.any() or toxic.all():
        return None
    found = roc_auc(toxic, scored.values[of], scored.units(of))
    return Estimate.of(found, null=0.5, p=found.p, **fields)


def _by_shift(result: ToxicityResult) -> list[tuple[str, Estimate]]:
    """The terms with their shifts, the largest in size first."""
    shifts = [(term.name, term.shift) for term in result.terms if term.shift is not None]
    return sorted(shifts, key=lambda shift: -abs(shift[1].value))


def _lowest(result: ToxicityResult) -> list[str]:
    """The lowest BPSN and BNSP AUC, each with its term."""
    texts = []
    for name in ("bpsn", "bnsp"):
        known = [(area.value, term.name) for term in result.terms if (area := getattr(term, name)) is not None]
        texts.append("{:.3f} ({})".format(*min(known)) if known else "–")
    return texts
