"""Compute one vector measure on a file of word vectors or an opened model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from unmask.core.errors import DataError, ModelError, StatsError
from unmask.data.formats import decode
from unmask.models import Lm
from unmask.vectors.association import Association, cseat, seat, weat
from unmask.vectors.ceat import CeatResult, ceat
from unmask.vectors.contexts import ContextVectors, corpus_vectors
from unmask.vectors.contextual import text_vectors
from unmask.vectors.directions import (
    Pairs,
    RipaResult,
    direct_bias,
    direction,
    direction_cosines,
    knn_bias,
    ripa,
)
from unmask.vectors.questions import Question
from unmask.vectors.spec import VectorMeasure, VectorResult, VectorSettings, WordSets
from unmask.vectors.static import WordVectors, read_vectors

Source = Path | Lm


def run_measure(
    measure: VectorMeasure,
    source: Source,
    questions: Sequence[Question],
    sets: WordSets,
    settings: VectorSettings,
) -> VectorResult:
    """Run one measure; a question that fails is recorded with its reason and does not stop the others."""
    if measure.models_only and isinstance(source, Path):
        raise ModelError(f"{measure.name} needs a model: {source.name} has static word vectors only")
    if measure.asks == "words":
        return _of_words(measure, source, sets.lower() if settings.lower else sets, settings)
    selected = [question.lower() if settings.lower else question for question in questions]
    if measure.name == "ceat":
        return _of_contexts(measure, source, selected, settings)
    associations: list[Association] = []
    unanswered: list[tuple[str, str]] = []
    words = [text for question in selected for text in question.texts()]
    vectors = _word_vectors(source, words, settings) if measure.name == "weat" else None
    for question in selected:
        try:
            associations.append(_associate(measure.name, question, source, vectors, settings))
        except (StatsError, DataError, ModelError) as error:
            unanswered.append((question.name, str(error)))
    if not associations:
        raise StatsError(f"{measure.name}: no question could be answered; {unanswered[0][1]}")
    left_out = tuple((result.question, result.left_out) for result in associations if result.left_out)
    return VectorResult(
        measure, associations=tuple(associations), left_out=left_out, unanswered=tuple(unanswered)
    )


def _associate(
    name: str, question: Question, source: Source, vectors: WordVectors | None, settings: VectorSettings
) -> Association:
    if name == "weat":
        assert vectors is not None
        return weat(question, vectors, unknown="leave-out", spread=settings.deviation, seed=settings.seed)
    assert isinstance(source, Lm)
    if name == "seat":
        return seat(
            question,
            source,
            layer=settings.layer,
            pooling=settings.pooling,
            spread=settings.deviation,
            seed=settings.seed,
        )
    return cseat(question, source, layer=settings.layer, spread=settings.deviation, seed=settings.seed)


def _word_vectors(source: Source, words: Sequence[str], settings: VectorSettings) -> WordVectors:
    """Vectors of words without context."""
    if isinstance(source, Path):
        return read_vectors(source, words)
    return isolated_word_vectors(source, list(dict.fromkeys(words)), settings)


def isolated_word_vectors(lm: Lm, words: Sequence[str], settings: VectorSettings) -> WordVectors:
    """A model's vector of each word without context; by default the mean over its tokens."""
    matrix = text_vectors(lm, words, layer=settings.layer, pooling=settings.pooling or "mean")
    return WordVectors(tuple(words), matrix, lm.facts.id)


def _of_contexts(
    measure: VectorMeasure, source: Source, questions: Sequence[Question], settings: VectorSettings
) -> VectorResult:
    if settings.corpus is None:
        raise DataError(
            "ceat samples words in sentences: give a corpus, a text file with one sentence per line"
        )
    assert isinstance(source, Lm)
    words = list(dict.fromkeys(text for question in questions for text in question.texts()))
    contexts = _contexts(source, settings.corpus, words, settings)
    combined: list[CeatResult] = []
    left_out: list[tuple[str, tuple[str, ...]]] = []
    unanswered: list[tuple[str, str]] = []
    for question in questions:
        missing = tuple(text for text in question.texts() if text in contexts.missing)
        kept = question.without(missing)
        try:
            if any(not group.texts for group in kept.groups()):
                raise StatsError(f"{question.name}: no word of some set occurs in the corpus")
            result = ceat(
                kept,
                contexts.vectors,
                draws=settings.draws,
                variance=settings.variance,
                spread=settings.deviation,
                seed=settings.seed,
            )
        except StatsError as error:
            unanswered.append((question.name, str(error)))
            continue
        combined.append(result)
        left_out.extend([(question.name, missing)] if missing else [])
    if not combined:
        raise StatsError(f"ceat: no question could be answered; {unanswered[0][1]}")
    return VectorResult(
        measure, ceat_results=tuple(combined), left_out=tuple(left_out), unanswered=tuple(unanswered)
    )


def _contexts(lm: Lm, corpus: Path, words: Sequence[str], settings: VectorSettings) -> ContextVectors:
    try:
        text = decode(corpus.read_bytes(), corpus.name)
    except OSError as error:
        raise DataError(
            f"{corpus} cannot be read ({error.strerror}); expected one sentence per line"
        ) from None
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return corpus_vectors(lm, lines, words, each=settings.each, layer=settings.layer, seed=settings.seed)


def _of_words(
    measure: VectorMeasure, source: Source, sets: WordSets, settings: VectorSettings
) -> VectorResult:
    vectors = _vocabulary(measure.name, source, sets, settings)
    words = tuple(word for word in sets.words if word in vectors)
    pairs: Pairs = [pair for pair in sets.pairs if all(word in vectors for word in pair)]
    by_kind = (
        ("words", vectors.missing(sets.words)),
        ("pairs", vectors.missing([w for pair in sets.pairs for w in pair])),
    )
    if not words or not pairs:
        raise StatsError(
            f"{vectors.source} has vectors of {len(words)} words and {len(pairs)} pairs; "
            "expected at least one of each"
        )
    left_out = tuple((kind, missing) for kind, missing in by_kind if missing)
    if measure.name == "direct-bias":
        return VectorResult(
            measure,
            word_means=(("direct bias", direct_bias(vectors, words, pairs, seed=settings.seed)),),
            left_out=left_out,
        )
    if measure.name == "ripa":
        result: RipaResult = ripa(vectors, words, pairs, seed=settings.seed)
        return VectorResult(
            measure, word_means=(("lean", result.lean), ("size", result.size)), left_out=left_out
        )
    marks = direction_cosines(vectors, direction(vectors, pairs))
    neighbour_bias = knn_bias(vectors, words, marks, k=min(settings.k, len(vectors.words) - 1))
    return VectorResult(measure, neighbour_bias=neighbour_bias, left_out=left_out)


def _vocabulary(name: str, source: Source, sets: WordSets, settings: VectorSettings) -> WordVectors:
    """Vectors of the input words; for knn-bias, of the whole vocabulary."""
    requested = dict.fromkeys([*sets.words, *(word for pair in sets.pairs for word in pair)])
    if isinstance(source, Lm):
        return isolated_word_vectors(
            source, list(requested | (dict.fromkeys(sets.others) if name == "knn-bias" else {})), settings
        )
    if name != "knn-bias":
        return read_vectors(source, requested)
    return read_vectors(source, None, limit=settings.vocabulary)
