"""`toxicity`: does a classifier find a sentence more toxic because of whom it names?

Shift of the score by identity term (perturbation), and the subgroup, BPSN and BNSP areas under the ROC curve
(Dixon et al. 2018; Borkan et al. 2019): within sentences that name the term; harmless ones that name it
against hateful ones that do not; hateful ones that name it against harmless ones that do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unmask.core.errors import DataError, ModelError
from unmask.core.types import Floats
from unmask.data.examples import Source
from unmask.findings import Cell, Finding, Plot, Table, Value
from unmask.models.classifier import Classifier
from unmask.stats.bootstrap import generator
from unmask.stats.means import mean, mean_interval
from unmask.stats.roc import roc_auc_difference
from unmask.stats.table import Flags
from unmask.tasks.comments import LabelledSentence, load_sentences
from unmask.tasks.spec import Headline, Task, TaskObservation, TaskSettings


@dataclass(frozen=True, slots=True)
class TermResult:
    """One identity term: how it moves scores, and how well toxic and harmless are told apart with it."""

    name: str
    shift: Value | None  # of the score, against the mean over terms in the same sentence
    subgroup: Value | None
    bpsn: Value | None
    bnsp: Value | None
    n: int


@dataclass(frozen=True, slots=True)
class ToxicityResult:
    """Every term, the area over all sentences, and how far apart terms are."""

    terms: tuple[TermResult, ...]
    area: Value
    sensitivity: Value  # mean over sentences of the standard deviation of its scores over terms
    n: int
    data: str


def observe(judge: Classifier, settings: TaskSettings) -> ToxicityResult:
    """Every sentence scored."""
    asked, where, _ = load_sentences(settings)
    values = toxicity_scores(
        judge.probabilities([(one.text, None) for one in asked]), judge.labels, settings.label
    )
    return summarize(asked, values, where, seed=settings.seed)


def toxicity_scores(said: Floats, labels: Sequence[str], wanted: str | None) -> Floats:
    """The probability of the toxic label: the one named, one called so, or the only one."""
    names = [name.lower() for name in labels]
    if wanted is not None:
        if wanted.lower() not in names:
            raise ModelError(f"no label {wanted!r}: the classifier has {', '.join(labels)}")
        return said[:, names.index(wanted.lower())]
    if len(names) == 1:
        return said[:, 0]
    toxic = [
        at for at, name in enumerate(names) if name in ("toxic", "toxicity", "hate", "hateful", "abusive")
    ]
    if len(toxic) == 1:
        return said[:, toxic[0]]
    raise ModelError(f"which label is the toxic one? Give --label, one of {', '.join(labels)}")


def summarize(asked: Sequence[LabelledSentence], values: Floats, where: str, *, seed: int) -> ToxicityResult:
    """The figures of given scores."""
    toxic = np.array([one.toxic for one in asked])
    named = np.array([one.term for one in asked])
    if not asked or toxic.all() or not toxic.any():
        raise DataError("toxic and harmless sentences are needed, both: the data has one kind only")
    shifts, spread = term_shifts(asked, values)
    found = []
    for name in sorted({one.term for one in asked} - {""}):
        mine = named == name
        by = shifts.get(name, np.array([]))
        interval = mean_interval(by, rng=generator(seed, name), unit="sentences") if by.size else None
        found.append(
            TermResult(
                name,
                Value(mean(by), interval.low, interval.high, interval.method) if interval else None,
                _area(toxic[mine], values[mine]),
                _area(toxic[(mine & ~toxic) | (~mine & toxic)], values[(mine & ~toxic) | (~mine & toxic)]),
                _area(toxic[(mine & toxic) | (~mine & ~toxic)], values[(mine & toxic) | (~mine & ~toxic)]),
                int(mine.sum()),
            )
        )
    whole = _area(toxic, values)
    assert whole is not None
    interval = mean_interval(spread, rng=generator(seed, "spread"), unit="sentences")
    sensitivity = Value(mean(spread), interval.low, interval.high, interval.method)
    return ToxicityResult(tuple(found), whole, sensitivity, len(asked), where)


def term_shifts(asked: Sequence[LabelledSentence], values: Floats) -> tuple[dict[str, Floats], Floats]:
    """By term its scores less the mean over terms in the same sentence; and each sentence's spread."""
    by: dict[str, dict[str, float]] = {}
    for one, value in zip(asked, values, strict=True):
        if one.term:
            by.setdefault(one.template, {})[one.term] = float(value)
    several = [scores for scores in by.values() if len(scores) > 1]
    shifts: dict[str, list[float]] = {}
    for scores in several:
        middle = float(np.mean(list(scores.values())))
        for term, value in scores.items():
            shifts.setdefault(term, []).append(value - middle)
    spread = np.array([float(np.std(list(scores.values()))) for scores in several])
    return {term: np.array(values) for term, values in shifts.items()}, spread


def conclude(seen: Sequence[TaskObservation], settings: TaskSettings) -> Finding:
    """By term: the shift and three areas; over all sentences: the area."""
    from unmask.findings import charts

    whole = Table(
        "Toxic told from harmless",
        ("model", "AUC", "lowest BPSN", "lowest BNSP", "sensitivity", "sentences"),
        tuple(_whole(one) for one in seen),
        "AUC: 0.5 is guessing, 1 perfect. Sensitivity: how much one sentence's score spreads over terms "
        "(mean "
        "standard deviation). Intervals of areas: DeLong.",
        digits=3,
    )
    by = Table(
        "By identity term",
        ("model", "term", "shift of score", "subgroup AUC", "BPSN AUC", "BNSP AUC", "n"),
        tuple(row for one in seen for row in _terms(one)),
        "Shift: score less the mean over terms in the same sentence. A low BPSN: harmless sentences "
        "that name "
        "the term score like hateful ones that do not. A low BNSP: hateful sentences that name it score low.",
        digits=3,
    )
    rows = [
        {
            "label": term.name,
            "series": str(one.model["id"]),
            "value": term.shift.value,
            "low": term.shift.low,
            "high": term.shift.high,
        }
        for one in seen
        for term in sorted(one.result.terms, key=lambda term: -_size(term))
        if term.shift is not None
    ][:60]
    told = "Shift of the toxicity score by identity term, with intervals."
    drawn = (
        [Plot("toxicity", "Shift of score", told, charts.intervals(rows, axis="shift of score", null=0.0))]
        if rows
        else []
    )
    return Finding(tuple(map(_answer, seen)), (whole, by), tuple(drawn), (f"data: {seen[0].result.data}",))


def headline(found: ToxicityResult) -> Headline:
    """How much a sentence's score spreads over terms."""
    return Headline("spread of the score over terms", found.sensitivity, found.n)


def sources(settings: TaskSettings) -> tuple[Source, ...]:
    """The file read, if any."""
    return load_sentences(settings)[2]


def _area(toxic: Flags, values: Floats) -> Value | None:
    """AUC with DeLong's interval: its difference from a score that is the same for all, and so 0.5."""
    if not toxic.any() or toxic.all():
        return None
    found = roc_auc_difference(toxic, values, np.zeros_like(values))
    low, high = np.clip([found.interval.low + 0.5, found.interval.high + 0.5], 0.0, 1.0).tolist()
    return Value(found.value + 0.5, low, high, found.interval.method)


def _size(term: TermResult) -> float:
    return abs(term.shift.value) if term.shift is not None else 0.0


def _terms(one: TaskObservation) -> list[tuple[Cell, ...]]:
    ranked = sorted(one.result.terms, key=lambda term: -(term.shift.value if term.shift else 0.0))
    return [
        (one.model["id"], term.name, term.shift, term.subgroup, term.bpsn, term.bnsp, term.n)
        for term in ranked
    ]


def _whole(one: TaskObservation) -> tuple[Cell, ...]:
    found: ToxicityResult = one.result
    return (
        *(one.model["id"], found.area, _lowest(found, "bpsn"), _lowest(found, "bnsp")),
        *(found.sensitivity, found.n),
    )


def _lowest(found: ToxicityResult, which: str) -> str:
    known: Mapping[str, Value] = {
        term.name: number for term in found.terms if (number := getattr(term, which)) is not None
    }
    if not known:
        return "–"
    name = min(known, key=lambda one: known[one].value)
    return f"{known[name].value:.3f} ({name})"


def _answer(one: TaskObservation) -> str:
    found: ToxicityResult = one.result
    moved = [term for term in found.terms if term.shift is not None]
    most = max(moved, key=_size, default=None)
    named = (
        f"; {most.name} moves it most ({most.shift.value:+.3f}, {most.shift.low:+.3f} to "
        f"{most.shift.high:+.3f})"
        if most is not None and most.shift is not None
        else ""
    )
    return (
        f"{one.model['id']}: AUC {found.area.value:.3f}; a sentence's score spreads by "
        f"{found.sensitivity.value:.3f} "
        f"over terms{named}; {found.n:,} sentences"
    )


TOXICITY = Task(
    name="toxicity",
    title="Toxicity by identity term",
    question="Does a classifier find a sentence more toxic because of whom it names?",
    needs="classifier",
    observe=observe,
    conclude=conclude,
    headline=headline,
    citation="dixon-etal-2018-measuring",
    sources=sources,
)
