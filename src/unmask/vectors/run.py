"""Vector measures by name, on a file of word vectors or an opened model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from unmask.core.errors import DataError, ModelError, StatsError, UnknownName
from unmask.data.formats import decode
from unmask.models import Lm
from unmask.vectors.association import Association, cseat, seat, weat
from unmask.vectors.ceat import DRAWS, CeatResult, Variance, ceat
from unmask.vectors.contexts import PER_WORD, ContextVectors, corpus_vectors
from unmask.vectors.contextual import Pooling, text_vectors
from unmask.vectors.directions import (
    NeighbourBias,
    Pairs,
    RipaResult,
    WordMean,
    direct_bias,
    direction,
    direction_cosines,
    knn_bias,
    ripa,
)
from unmask.vectors.intervals import Spread
from unmask.vectors.questions import Question
from unmask.vectors.static import WordVectors, read_vectors

Source = Path | Lm


@dataclass(frozen=True, slots=True)
class VectorMeasure:
    """What a measure on vectors is, what it asks about, and which vectors it can take."""

    name: str
    title: str
    reads: str  # one plain sentence: what a value above the null means
    asks: Literal["questions", "words"]
    models_only: bool
    citation: str  # BibTeX key in docs/references.bib


_TOWARDS = "above 0: the targets X lie nearer to the attributes A, and Y to B"
_ALL = (
    VectorMeasure("weat", "Word association", _TOWARDS, "questions", False, "caliskan-etal-2017-semantics"),
    VectorMeasure("seat", "Sentence association", _TOWARDS, "questions", True, "may-etal-2019-measuring"),
    VectorMeasure(
        "cseat", "Association of words in sentences", _TOWARDS, "questions", True, "tan-celis-2019-assessing"
    ),
    VectorMeasure(
        "ceat",
        "Association over contexts of a corpus",
        _TOWARDS,
        "questions",
        True,
        "guo-caliskan-2021-detecting",
    ),
    VectorMeasure(
        "direct-bias",
        "Direct bias",
        "how far words that should be neutral lie along the gender direction, 0 to 1",
        "words",
        False,
        "bolukbasi-etal-2016-man",
    ),
    VectorMeasure(
        "ripa",
        "Relational inner product association",
        "above 0: the words point towards the first words of the pairs (men), in units of vector length",
        "words",
        False,
        "ethayarajh-etal-2019-understanding",
    ),
    VectorMeasure(
        "knn-bias",
        "Company of nearest neighbours",
        "above 0: words that lean towards men also have neighbours that do",
        "words",
        False,
        "gonen-goldberg-2019-lipstick",
    ),
)
VECTOR_MEASURES = {one.name: one for one in _ALL}


@dataclass(frozen=True, slots=True)
class VectorSettings:
    """Everything about the asking that is neither the measure, the vectors nor the questions."""

    layer: int = -1
    pooling: Pooling | None = None
    spread: Spread = "sample"
    lower: bool = False  # look words up in small letters
    seed: int = 0
    corpus: Path | None = None  # sentences for ceat, one a line
    each: int = PER_WORD
    draws: int = DRAWS
    variance: Variance = "published"
    k: int = 100
    limit: int | None = 50_000  # words of a file that may be neighbours


@dataclass(frozen=True, slots=True)
class WordSets:
    """What the measures of a direction ask about: words that should be neutral, and pairs that differ."""

    words: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    others: tuple[str, ...] = ()  # further words that may be neighbours, where there is no vocabulary

    def lower(self) -> WordSets:
        """The same in small letters, each word once."""
        low = (tuple(dict.fromkeys(map(str.lower, words))) for words in (self.words, self.others))
        words, others = low
        return WordSets(words, tuple((a.lower(), b.lower()) for a, b in self.pairs), others)


@dataclass(frozen=True, slots=True)
class VectorResult:
    """What one measure found: for each question, or over words; and what had no vector."""

    measure: VectorMeasure
    associations: tuple[Association, ...] = ()
    combined: tuple[CeatResult, ...] = ()
    over_words: tuple[tuple[str, WordMean], ...] = ()  # by what the number is
    company: NeighbourBias | None = None
    left_out: tuple[tuple[str, tuple[str, ...]], ...] = ()  # by question, or by what was asked
    unanswered: tuple[tuple[str, str], ...] = ()  # question, reason


def find(name: str) -> VectorMeasure:
    """The measure of that name."""
    if name not in VECTOR_MEASURES:
        raise UnknownName("vector measure", name, VECTOR_MEASURES)
    return VECTOR_MEASURES[name]


def run_measure(
    measure: VectorMeasure,
    source: Source,
    questions: Sequence[Question],
    sets: WordSets,
    settings: VectorSettings,
) -> VectorResult:
    """Ask one measure; a question that cannot be answered keeps its reason and stops no other."""
    if measure.models_only and isinstance(source, Path):
        raise ModelError(
            f"{measure.name} needs a model: {source.name} holds vectors of words without context"
        )
    if measure.asks == "words":
        return _of_words(measure, source, sets.lower() if settings.lower else sets, settings)
    asked = [question.lower() if settings.lower else question for question in questions]
    if measure.name == "ceat":
        return _of_contexts(measure, source, asked, settings)
    found: list[Association] = []
    unanswered: list[tuple[str, str]] = []
    words = [text for one in asked for text in one.texts()]
    vectors = _looked_up(source, words, settings) if measure.name == "weat" else None
    for question in asked:
        try:
            found.append(_associated(measure.name, question, source, vectors, settings))
        except (StatsError, DataError, ModelError) as error:
            unanswered.append((question.name, str(error)))
    if not found:
        raise StatsError(f"{measure.name}: no question could be answered; {unanswered[0][1]}")
    left = tuple((one.question, one.left_out) for one in found if one.left_out)
    return VectorResult(measure, associations=tuple(found), left_out=left, unanswered=tuple(unanswered))


def _associated(
    name: str, question: Question, source: Source, vectors: WordVectors | None, settings: VectorSettings
) -> Association:
    if name == "weat":
        assert vectors is not None
        return weat(question, vectors, unknown="leave-out", spread=settings.spread, seed=settings.seed)
    assert isinstance(source, Lm)
    if name == "seat":
        return seat(
            question,
            source,
            layer=settings.layer,
            pooling=settings.pooling,
            spread=settings.spread,
            seed=settings.seed,
        )
    return cseat(question, source, layer=settings.layer, spread=settings.spread, seed=settings.seed)


def _looked_up(source: Source, words: Sequence[str], settings: VectorSettings) -> WordVectors:
    """Vectors of words by themselves."""
    if isinstance(source, Path):
        return read_vectors(source, words)
    return isolated_word_vectors(source, list(dict.fromkeys(words)), settings)


def isolated_word_vectors(lm: Lm, words: Sequence[str], settings: VectorSettings) -> WordVectors:
    """A model's vector of each word fed to it alone: the mean over its tokens unless told otherwise."""
    made = text_vectors(lm, words, layer=settings.layer, pooling=settings.pooling or "mean")
    return WordVectors(tuple(words), made, lm.facts.id)


def _of_contexts(
    measure: VectorMeasure, source: Source, questions: Sequence[Question], settings: VectorSettings
) -> VectorResult:
    if settings.corpus is None:
        raise DataError(
            "ceat draws words in sentences: name a text file of one sentence a line with --corpus"
        )
    assert isinstance(source, Lm)
    words = list(dict.fromkeys(text for question in questions for text in question.texts()))
    contexts = _contexts(source, settings.corpus, words, settings)
    found: list[CeatResult] = []
    left: list[tuple[str, tuple[str, ...]]] = []
    unanswered: list[tuple[str, str]] = []
    for question in questions:
        lacking = tuple(text for text in question.texts() if text in contexts.missing)
        kept = question.without(lacking)
        try:
            if any(not group.texts for group in kept.groups()):
                raise StatsError(f"{question.name}: of some set no word stands in the corpus")
            made = ceat(
                kept,
                contexts.vectors,
                draws=settings.draws,
                variance=settings.variance,
                spread=settings.spread,
                seed=settings.seed,
            )
        except StatsError as error:
            unanswered.append((question.name, str(error)))
            continue
        found.append(made)
        left.extend([(question.name, lacking)] if lacking else [])
    if not found:
        raise StatsError(f"ceat: no question could be answered; {unanswered[0][1]}")
    return VectorResult(measure, combined=tuple(found), left_out=tuple(left), unanswered=tuple(unanswered))


def _contexts(lm: Lm, corpus: Path, words: Sequence[str], settings: VectorSettings) -> ContextVectors:
    try:
        text = decode(corpus.read_bytes(), corpus.name)
    except OSError as error:
        raise DataError(f"{corpus} cannot be read ({error.strerror}); expected one sentence a line") from None
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return corpus_vectors(lm, lines, words, each=settings.each, layer=settings.layer, seed=settings.seed)


def _of_words(
    measure: VectorMeasure, source: Source, sets: WordSets, settings: VectorSettings
) -> VectorResult:
    vectors = _vocabulary(measure.name, source, sets, settings)
    words = tuple(word for word in sets.words if word in vectors)
    pairs: Pairs = [pair for pair in sets.pairs if all(word in vectors for word in pair)]
    left = (
        ("words", vectors.missing(sets.words)),
        ("pairs", vectors.missing([w for pair in sets.pairs for w in pair])),
    )
    if not words or not pairs:
        raise StatsError(
            f"{vectors.source} has vectors of {len(words)} words and {len(pairs)} pairs; "
            "expected some of each"
        )
    said = tuple(one for one in left if one[1])
    if measure.name == "direct-bias":
        return VectorResult(
            measure,
            over_words=(("direct bias", direct_bias(vectors, words, pairs, seed=settings.seed)),),
            left_out=said,
        )
    if measure.name == "ripa":
        made: RipaResult = ripa(vectors, words, pairs, seed=settings.seed)
        return VectorResult(measure, over_words=(("lean", made.lean), ("size", made.size)), left_out=said)
    marks = direction_cosines(vectors, direction(vectors, pairs))
    company = knn_bias(vectors, words, marks, k=min(settings.k, len(vectors.words) - 1))
    return VectorResult(measure, company=company, left_out=said)


def _vocabulary(name: str, source: Source, sets: WordSets, settings: VectorSettings) -> WordVectors:
    """The words asked about; for neighbours, all there are."""
    asked = dict.fromkeys([*sets.words, *(word for pair in sets.pairs for word in pair)])
    if isinstance(source, Lm):
        return isolated_word_vectors(
            source, list(asked | (dict.fromkeys(sets.others) if name == "knn-bias" else {})), settings
        )
    if name != "knn-bias":
        return read_vectors(source, asked)
    return read_vectors(source, None, limit=settings.limit)
