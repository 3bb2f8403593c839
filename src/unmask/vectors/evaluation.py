"""Compute one vector measure on a file of word vectors or an opened model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from unmask.core.errors import DataError, ModelError, StatsError
from unmask.data.formats import decode
from unmask.models import Lm
from unmask.vectors import directions
from unmask.vectors.association import Association, cseat, seat, weat
from unmask.vectors.ceat import CeatResult, ceat, corpus_vectors
from unmask.vectors.contextual import text_vectors
from unmask.vectors.questions import Question
from unmask.vectors.spec import VectorMeasure, VectorResult, VectorSettings, WordSets
from unmask.vectors.static import WordVectors, read_vectors

Source = Path | Lm


def run_measure(
    measure: VectorMeasure, source: Source, questions: Sequence[Question], sets: WordSets, settings: VectorSettings
) -> VectorResult:
    """Run one measure; a question that fails is recorded with its reason and does not stop the others."""
    if measure.models_only and isinstance(source, Path):
        raise ModelError(f"{measure.name} needs a model: {source.name} has static word vectors only")
    if measure.asks == "words":
        return _over_words(measure, source, sets.lower() if settings.lower else sets, settings)
    selected = [question.lower() if settings.lower else question for question in questions]
    test = _test_of(measure.name, source, selected, settings)
    tests: list[Association | CeatResult] = []
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
    name: str, source: Source, questions: Sequence[Question], settings: VectorSettings
) -> Callable[[Question], Association | CeatResult]:
    """The association test of one question; the vectors of all questions are computed beforehand."""
    words = list(dict.fromkeys(text for question in questions for text in question.texts()))
    if name == "weat":
        return partial(weat, vectors=_word_vectors(source, words, settings), settings=settings)
    assert isinstance(source, Lm)
    if name != "ceat":
        return partial(seat if name == "seat" else cseat, lm=source, settings=settings)
    if settings.corpus is None:
        raise DataError("ceat samples words in sentences: give a corpus, a text file with one sentence per line")
    contexts = corpus_vectors(source, read_lines(settings.corpus, "sentence"), words, settings)
    return partial(ceat, contexts=contexts, settings=settings)


def _word_vectors(source: Source, words: Sequence[str], settings: VectorSettings) -> WordVectors:
    """Vectors of words without context; a model's is by default the mean over a word's tokens."""
    if isinstance(source, Path):
        return read_vectors(source, words)
    matrix = text_vectors(source, words, settings.layer, settings.pooling or "mean")
    return WordVectors(tuple(words), matrix, source.facts.id)


def read_lines(path: Path, unit: str) -> list[str]:
    """The lines of a text file that are not empty; `unit` names what a line holds."""
    try:
        text = decode(path.read_bytes(), path.name)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); expected one {unit} per line") from None
    return [line.strip() for line in text.splitlines() if line.strip()]


def _over_words(measure: VectorMeasure, source: Source, sets: WordSets, settings: VectorSettings) -> VectorResult:
    """A measure along the direction of the pairs, over the words that have a vector."""
    both = [word for pair in sets.pairs for word in pair]
    if measure.name == "knn-bias" and isinstance(source, Path):
        vectors = read_vectors(source, None, limit=settings.vocabulary)
    else:
        others = sets.others if measure.name == "knn-bias" else ()
        vectors = _word_vectors(source, list(dict.fromkeys([*sets.words, *both, *others])), settings)
    words = tuple(word for word in sets.words if word in vectors)
    pairs = [pair for pair in sets.pairs if all(word in vectors for word in pair)]
    if not words or not pairs:
        raise StatsError(
            f"{vectors.source} has vectors of {len(words)} words and {len(pairs)} pairs; expected at least one of each"
        )
    by_kind = {"words": vectors.missing(sets.words), "pairs": vectors.missing(both)}
    left_out = tuple((kind, missing) for kind, missing in by_kind.items() if missing)
    if measure.name == "knn-bias":
        marks = directions.direction_cosines(vectors, directions.direction(vectors, pairs))
        bias = directions.knn_bias(vectors, words, marks, k=min(settings.k, len(vectors.words) - 1))
        return VectorResult(measure, neighbour_bias=bias, left_out=left_out)
    if measure.name == "ripa":
        means = dict(zip(("lean", "size"), directions.ripa(vectors, words, pairs, seed=settings.seed), strict=True))
    else:
        means = {"direct bias": directions.direct_bias(vectors, words, pairs, seed=settings.seed)}
    return VectorResult(measure, word_means=tuple(means.items()), left_out=left_out)
