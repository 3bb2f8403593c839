"""Compute one vector measure on a file of word vectors or an opened model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from unmask.core.errors import DataError, ModelError, StatsError
from unmask.data.formats import read_lines
from unmask.models import Lm
from unmask.vectors import directions
from unmask.vectors.association import MAHALANOBIS, Association, cseat, seat, similarity_by, weat
from unmask.vectors.ceat import CeatResult, ceat, corpus_vectors
from unmask.vectors.contextual import text_vectors
from unmask.vectors.questions import Question
from unmask.vectors.sentiment import SentimentBias, rnsb
from unmask.vectors.spec import VectorMeasure, VectorResult, VectorSettings, WordSets
from unmask.vectors.static import WordVectors, read_vectors

Source = Path | Lm | WordVectors
Test = Association | CeatResult | SentimentBias


def run_measure(
    measure: VectorMeasure,
    source: Source,
    questions: Sequence[Question],
    sets: WordSets,
    settings: VectorSettings,
    before: Source | None = None,
) -> VectorResult:
    """Run one measure; a question that fails is recorded with its reason and does not stop the others.

    `before` are the vectors before mitigation, from which `knn-bias` takes how words lean.
    """
    if measure.models_only and not isinstance(source, Lm):
        name = source.name if isinstance(source, Path) else source.source
        raise ModelError(f"{measure.name} needs a model: {name} has static word vectors only")
    if measure.asks == "words":
        return _over_words(measure, source, sets.lower() if settings.lower else sets, settings, before)
    selected = [question.lower() if settings.lower else question for question in questions]
    test = _test_of(measure.name, source, selected, sets, settings)
    tests: list[Test] = []
    unanswered: list[tuple[str, str]] = []
    for question in selected:
        try:
            tests.append(test(question))
        except (StatsError, DataError, ModelError) as error:
            unanswered.append((question.name, str(error)))
    if not tests:
        raise StatsError(f"{measure.name}: no question could be answered; {unanswered[0][1]}")
    left_out = tuple((result.question, result.left_out) for result in tests if result.left_out)
    return VectorResult(measure, tuple(tests), left_out=left_out, unanswered=tuple(unanswered))


def _test_of(
    name: str, source: Source, questions: Sequence[Question], sets: WordSets, settings: VectorSettings
) -> Callable[[Question], Test]:
    """The association test of one question; the vectors of all questions are computed beforehand."""
    words = list(dict.fromkeys(text for question in questions for text in question.texts()))
    if name == "rnsb":
        return partial(rnsb, vectors=_word_vectors(source, words, settings), settings=settings)
    if name.startswith("weat"):
        vocabulary = _vocabulary(source, [*words, *sets.words, *sets.others], settings) if name == MAHALANOBIS else None
        similarity = similarity_by(name, None if vocabulary is None else vocabulary.matrix)
        vectors = _word_vectors(source, words, settings)
        return partial(weat, vectors=vectors, settings=settings, similarity=similarity)
    assert isinstance(source, Lm)
    if name != "ceat":
        return partial(seat if name == "seat" else cseat, lm=source, settings=settings)
    if settings.corpus is None:
        raise DataError("ceat samples words in sentences: give a corpus, a text file with one sentence per line")
    contexts = corpus_vectors(source, read_lines(settings.corpus, "one sentence per line"), words, settings)
    return partial(ceat, contexts=contexts, settings=settings)


def _word_vectors(source: Source, words: Sequence[str], settings: VectorSettings) -> WordVectors:
    """Vectors of words without context; a model's is by default the mean over a word's tokens."""
    if isinstance(source, WordVectors):
        return source
    if isinstance(source, Path):
        return read_vectors(source, words)
    matrix = text_vectors(source, words, settings.layer, settings.pooling or "mean")
    return WordVectors(tuple(words), matrix, source.facts.id)


def _vocabulary(source: Source, words: Sequence[str], settings: VectorSettings) -> WordVectors:
    """Vectors of the first words of a file; a model has no vocabulary of words, so those of `words`."""
    if isinstance(source, WordVectors):
        return source.first(settings.vocabulary)
    if isinstance(source, Path):
        return read_vectors(source, None, limit=settings.vocabulary)
    return _word_vectors(source, list(dict.fromkeys(words)), settings)


def _over_words(
    measure: VectorMeasure, source: Source, sets: WordSets, settings: VectorSettings, before: Source | None
) -> VectorResult:
    """A measure of two groups of words, over the words that have a vector."""
    both = [word for pair in sets.pairs for word in pair]
    if measure.name == "knn-bias":
        vectors = _vocabulary(source, [*sets.words, *both, *sets.others], settings)
    else:
        vectors = _word_vectors(source, list(dict.fromkeys([*sets.words, *both])), settings)
    words = tuple(word for word in sets.words if word in vectors)
    pairs = _known_pairs(vectors, sets)
    if not words or not pairs:
        raise StatsError(
            f"{vectors.source} has vectors of {len(words)} words and {len(pairs)} pairs; expected at least one of each"
        )
    by_kind = {"words": vectors.missing(sets.words), "pairs": vectors.missing(both)}
    left_out = tuple((kind, missing) for kind, missing in by_kind.items() if missing)
    if measure.name == "knn-bias":
        original = vectors if before is None else _vocabulary(before, [*sets.words, *both, *sets.others], settings)
        marks = _leans(original, sets)
        bias = directions.knn_bias(vectors, words, marks, k=min(settings.k, len(vectors.words) - 1))
        return VectorResult(measure, neighbour_bias=bias, left_out=left_out, leans_of=original.source)
    if measure.name == "ripa":
        means = dict(zip(("lean", "size"), directions.ripa(vectors, words, pairs, seed=settings.seed), strict=True))
    elif measure.name == "rnd":
        means = {"relative norm distance": directions.relative_norm_distance(vectors, words, pairs, seed=settings.seed)}
    else:
        means = {"direct bias": directions.direct_bias(vectors, words, pairs, seed=settings.seed)}
    return VectorResult(measure, word_means=tuple(means.items()), left_out=left_out)


def _known_pairs(vectors: WordVectors, sets: WordSets) -> list[tuple[str, str]]:
    return [pair for pair in sets.pairs if all(word in vectors for word in pair)]


def _leans(vectors: WordVectors, sets: WordSets) -> dict[str, float]:
    """The cosine of every word with the direction of the pairs."""
    pairs = _known_pairs(vectors, sets)
    if not pairs:
        raise StatsError(f"{vectors.source} has vectors of no pair of words: there is no direction to lean along")
    return directions.direction_cosines(vectors, directions.direction(vectors, pairs))
