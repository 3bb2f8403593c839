"""Words in sentences of a corpus, and their vectors there: what CEAT draws from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from unmask.core.errors import DataError, Unscorable
from unmask.core.types import Floats
from unmask.models import Lm
from unmask.stats.bootstrap import generator
from unmask.vectors.contextual import WordInText, word_vectors

PER_WORD = 100  # sentences taken for each word


@dataclass(frozen=True, slots=True)
class ContextVectors:
    """Vectors of each word, one row a sentence; what was found, and what could not be used."""

    vectors: Mapping[str, Floats]
    found: Mapping[str, int]  # sentences with the word, whether or not they were taken
    missing: tuple[str, ...]  # words in no sentence
    unusable: int  # sentences the model cannot be fed, such as those too long


def corpus_vectors(
    lm: Lm,
    sentences: Iterable[str],
    words: Sequence[str],
    *,
    each: int = PER_WORD,
    layer: int = -1,
    seed: int = 0,
) -> ContextVectors:
    """The vectors of words in sentences of a corpus; of more than `each` sentences so many are drawn."""
    if each < 1:
        raise DataError(f"{each} sentences for each word; expected at least 1")
    placed, unusable = occurrences(lm, sentences, words)
    taken: dict[str, list[WordInText]] = {}
    for word, found in placed.items():
        if found:
            rows = generator(seed, word).permutation(len(found))[:each]
            taken[word] = [found[row] for row in sorted(rows.tolist())]
    if not taken:
        raise DataError(f"none of the {len(words)} words stands in the corpus; use a larger one")
    made = word_vectors(lm, [one for found in taken.values() for one in found], layer=layer)
    vectors, begin = {}, 0
    for word, found in taken.items():
        vectors[word] = made[begin : begin + len(found)]
        begin += len(found)
    counts = {word: len(found) for word, found in placed.items()}
    return ContextVectors(vectors, counts, tuple(word for word in placed if word not in taken), unusable)


def occurrences(
    lm: Lm, sentences: Iterable[str], words: Sequence[str]
) -> tuple[dict[str, list[WordInText]], int]:
    """By word: the sentences it stands in, as written, at its first place; and how many are unusable."""
    placed: dict[str, list[WordInText]] = {word: [] for word in words}
    by_length = sorted(map(re.escape, placed), key=len, reverse=True)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(by_length)})(?!\w)")
    unusable = 0
    for sentence in dict.fromkeys(sentences):
        spans: dict[str, tuple[int, int]] = {}
        for match in pattern.finditer(sentence):
            spans.setdefault(match.group(), match.span())
        if not spans:
            continue
        try:
            lm.encode(sentence)
        except Unscorable:
            unusable += 1
            continue
        for word, span in spans.items():
            placed[word].append((sentence, span))
    return placed, unusable
