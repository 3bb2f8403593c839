"""Vectors of words in sentences of a corpus, from which CEAT samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from unmask.core.errors import DataError, Unscorable
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.data.occurrences import word_pattern, word_spans
from unmask.models import Lm
from unmask.vectors.contextual import WordInText, word_vectors

PER_WORD = 100  # sentences used per word


@dataclass(frozen=True, slots=True)
class ContextVectors:
    """Vectors of each word, one row per sentence, with counts of sentences found and unusable."""

    vectors: Mapping[str, Floats]
    found: Mapping[str, int]  # number of sentences with the word, used or not
    missing: tuple[str, ...]  # words that occur in no sentence
    unusable: int  # sentences the model cannot encode, such as those too long


def corpus_vectors(
    lm: Lm,
    sentences: Iterable[str],
    words: Sequence[str],
    *,
    each: int = PER_WORD,
    layer: int = -1,
    seed: int = 0,
) -> ContextVectors:
    """Vectors of words in corpus sentences; at most `each` sentences per word are sampled."""
    if each < 1:
        raise DataError(f"each is {each}, expected at least 1 sentence per word")
    by_word, unusable = occurrences(lm, sentences, words)
    sampled: dict[str, list[WordInText]] = {}
    for word, spans in by_word.items():
        if spans:
            rows = generator(seed, word).permutation(len(spans))[:each]
            sampled[word] = [spans[row] for row in sorted(rows.tolist())]
    if not sampled:
        raise DataError(f"none of the {len(words)} words occurs in the corpus; use a larger corpus")
    matrix = word_vectors(lm, [span for spans in sampled.values() for span in spans], layer=layer)
    vectors, begin = {}, 0
    for word, spans in sampled.items():
        vectors[word] = matrix[begin : begin + len(spans)]
        begin += len(spans)
    counts = {word: len(spans) for word, spans in by_word.items()}
    return ContextVectors(vectors, counts, tuple(word for word in by_word if word not in sampled), unusable)


def occurrences(
    lm: Lm, sentences: Iterable[str], words: Sequence[str]
) -> tuple[dict[str, list[WordInText]], int]:
    """By word: the sentences that contain it, with its first span; and the number of unusable sentences."""
    by_word: dict[str, list[WordInText]] = {word: [] for word in words}
    pattern, unusable = word_pattern(by_word), 0
    for sentence in dict.fromkeys(sentences):
        spans = word_spans(pattern, sentence)
        if not spans:
            continue
        try:
            lm.encode(sentence)
        except Unscorable:
            unusable += 1
            continue
        for word, (first, *_) in spans.items():
            by_word[word].append((sentence, first))
    return by_word, unusable
