"""`frequency`: how much of a score is word frequency? (Kaneko & Bollegala 2022, Table 2, and beyond)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unmask.audit.plan import has_field
from unmask.audit.session import Session
from unmask.core.types import Dataset, Pair
from unmask.diagnose import regression_tables
from unmask.diagnose.frequency import group_tables
from unmask.diagnose.frequency.corpus import WordFrequencies, frequencies_for
from unmask.diagnose.frequency.words import WordGroups, changed_words, words_by_group
from unmask.diagnose.spec import Diagnosis, DiagnosisObservation, DiagnosisSettings
from unmask.findings import Finding
from unmask.stats.regression import PropertyRegression

WHAT = "word frequency"


@dataclass(frozen=True, slots=True)
class FrequencyResult:
    """The changed words of a dataset, and every measure regressed on their frequencies."""

    corpus: str
    language: str
    groups: Mapping[str, WordGroups]  # by bias type; empty where the pairs have no direction
    regressions: Mapping[str, PropertyRegression]
    pairs: int
    one_sided: int  # pairs in which one sentence has no changed word
    unknown: int  # changed words without a known frequency
    changed: int  # number of changed words


def observe(session: Session, data: Dataset, settings: DiagnosisSettings) -> FrequencyResult:
    """Group the words, score every pair, and regress score differences on frequency differences."""
    language = data.card.languages[0] if data.card.languages else "en"
    corpus = frequencies_for(settings.counts, language)
    by = dict(_differences(data, corpus))
    scores = regression_tables.score_pairs(session, data, settings)
    words = {word for item in data.items for side in changed_words(item.more, item.less) for word in side}
    return FrequencyResult(
        corpus=corpus.source,
        language=language,
        groups=_groups(data, corpus, language),
        regressions=regression_tables.measure_regressions(
            scores, by, data=data.card.name, seed=settings.seed
        ),
        pairs=len(data.items),
        one_sided=len(data.items) - len(by),
        unknown=sum(not corpus.knows(word) for word in words),
        changed=len(words),
    )


def conclude(observations: Sequence[DiagnosisObservation], settings: DiagnosisSettings) -> Finding:
    """The words of every dataset, then the regression of each measure on their frequency."""
    by_data = {
        observation.data.card.name: observation.result.groups
        for observation in observations
        if observation.result.groups
    }
    listed = regression_tables.regression_cases(
        observations, [observation.result.regressions for observation in observations]
    )
    return Finding(
        (*group_tables.answers(by_data), *regression_tables.answers(listed, what=WHAT)),
        (
            *(group_tables.word_tables(by_data) if by_data else ()),
            *regression_tables.tables(listed, what=WHAT, step="tenfold frequency"),
        ),
        regression_tables.slopes_plot(listed, id="frequency-slopes", what=WHAT),
        tuple(dict.fromkeys(note for observation in observations for note in _notes(observation))),
    )


def _differences(data: Dataset, corpus: WordFrequencies) -> Iterator[tuple[str, float]]:
    """By pair: mean log10 frequency of the words only in `more`, minus that of those only in `less`."""
    for item in data.items:
        more, less = changed_words(item.more, item.less)
        if more and less:
            means = [float(np.mean([corpus.log10(word) for word in side])) for side in (more, less)]
            yield item.id, means[0] - means[1]


def _groups(data: Dataset, corpus: WordFrequencies, language: str) -> dict[str, WordGroups]:
    """The words of every bias type, from pairs with a direction."""
    by_type: dict[str, list[Pair]] = {}
    for item in data.items:
        if item.groups.get("direction"):
            by_type.setdefault(item.groups.get("category", "all"), []).append(item)
    return {name: words_by_group(items, corpus.log10, language=language) for name, items in by_type.items()}


def _notes(observation: DiagnosisObservation) -> Iterator[str]:
    result, name = observation.result, observation.data.card.name
    yield f"{name}: frequencies from {result.corpus}"
    if result.unknown:
        yield (
            f"{name}: {result.unknown:,} of {result.changed:,} changed words are not in {result.corpus}; "
            "they get the frequency of the rarest word that is"
        )
    if result.one_sided:
        yield (
            f"{name}: {result.one_sided:,} of {result.pairs:,} pairs are left out of the regressions: "
            "only one of their sentences has changed words"
        )
    if not has_field(observation.data, "direction"):
        yield f"{name}: its pairs have no direction, so its words cannot be grouped"
    elif result.language != "en":
        yield f"{name}: ambiguous and function words are listed for English only and are kept here"
    if not result.regressions:
        yield f"{name}: no line can be fitted, no pair has changed words in both sentences"


FREQUENCY = Diagnosis(
    name="frequency",
    title="Word frequency",
    question="How much of a score is the frequency of the words that differ?",
    observe=observe,
    conclude=conclude,
    unfit_reason=regression_tables.not_pairs_reason,
    citation="kaneko-bollegala-2022-unmasking",
)
