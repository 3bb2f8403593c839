"""Hidden states of gendered words, each next to its counterpart in the same sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from unmask import data
from unmask.core.errors import ModelError, Unscorable
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.data.occurrences import word_pattern, word_spans
from unmask.models import Lm
from unmask.models.states import TokenIds, mean_states
from unmask.vectors.contextual import word_token_positions

T = TypeVar("T")
GenderPair = tuple[str, str]  # a masculine word and its counterpart
CARRIERS = (
    "This is {}.",
    "There was {} again.",
    "They spoke about {} for a while.",
    "It had to do with {} after all.",
    "We thought of {} yesterday.",
)
MAX_SENTENCES = 3000  # sentences of a corpus
MIN_PAIRS = 10  # word pairs with states, needed to fit on
_AMBIGUOUS = {"him", "his", "her", "hers"}  # whose counterpart depends on grammar


@dataclass(frozen=True, slots=True)
class PairContexts:
    """Sentences with a slot for a word, and the word pair for each slot."""

    sentences: tuple[str, ...]  # with {} as the slot
    pairs: tuple[GenderPair, ...]
    source: str


@dataclass(frozen=True, slots=True)
class GenderedStates:
    """States of masculine and feminine words; row i of both comes from the same sentence."""

    masculine: Floats
    feminine: Floats
    pairs: tuple[GenderPair, ...]  # of each row

    def take(self, rows: Sequence[int]) -> GenderedStates:
        """Select rows."""
        index = np.asarray(rows, dtype=np.int64)
        return GenderedStates(
            self.masculine[index], self.feminine[index], tuple(self.pairs[row] for row in rows)
        )

    def both(self) -> tuple[Floats, np.ndarray[tuple[int], np.dtype[np.int64]]]:
        """All states with labels: 0 masculine, 1 feminine."""
        states = np.concatenate([self.masculine, self.feminine])
        return states, np.repeat([0, 1], [len(self.masculine), len(self.feminine)])


def word_pairs() -> tuple[GenderPair, ...]:
    """Single-word pairs whose counterpart does not depend on grammar, each masculine word once."""
    known: dict[str, str] = {}
    for pair in data.read("word-pairs").pairs:
        plain = pair.masculine.isalpha() and pair.feminine.isalpha()
        if pair.swap and plain and pair.pos != "title" and not {pair.masculine, pair.feminine} & _AMBIGUOUS:
            known.setdefault(pair.masculine, pair.feminine)
    return tuple(known.items())


def find_contexts(sentences: Sequence[str], *, seed: int = 0) -> PairContexts:
    """Corpus sentences with exactly one gendered word; carrier sentences for pairs that occur in none."""
    pairs = word_pairs()
    candidates = list(_in_corpus(sentences, pairs))
    sampled = generator(seed, "contexts").permutation(len(candidates))[:MAX_SENTENCES]
    chosen = [candidates[number] for number in sorted(sampled.tolist())]
    missing = set(pairs) - {pair for _, pair in chosen}
    all_contexts = chosen + [(carrier, pair) for pair in pairs if pair in missing for carrier in CARRIERS]
    source = f"{len(chosen)} sentences of the corpus; carrier sentences for {len(missing)} pairs of words"
    return PairContexts(
        tuple(sentence for sentence, _ in all_contexts), tuple(pair for _, pair in all_contexts), source
    )


def pair_states(lm: Lm, contexts: PairContexts, layer: int) -> GenderedStates:
    """States of both words in each sentence at a layer; sentences the model cannot encode are skipped."""
    filled = [
        (pair, [(sentence, word) for word in pair])
        for sentence, pair in zip(contexts.sentences, contexts.pairs, strict=True)
    ]
    kept, rows = _tokenize_all(lm, filled)
    if len(set(kept)) < MIN_PAIRS:
        raise ModelError(
            f"{lm.facts.id} can encode {len(set(kept))} pairs of gendered words, "
            f"fewer than the {MIN_PAIRS} needed to fit"
        )
    states = _states(lm, rows, layer)
    return GenderedStates(states[::2], states[1::2], tuple(kept))


def word_states(lm: Lm, words: Sequence[str], layer: int) -> tuple[Floats, tuple[str, ...]]:
    """Mean states of words over the carrier sentences, and the words that could be encoded."""
    kept, rows = _tokenize_all(lm, [(word, [(carrier, word) for carrier in CARRIERS]) for word in words])
    states = _states(lm, rows, layer)
    return states.reshape(len(kept), len(CARRIERS), -1).mean(1), tuple(kept)


def _in_corpus(sentences: Sequence[str], pairs: Sequence[GenderPair]) -> Iterator[tuple[str, GenderPair]]:
    pair_of = {word: pair for pair in pairs for word in pair}
    pattern = word_pattern({*pair_of, *_AMBIGUOUS}, ignore_case=True)
    for sentence in dict.fromkeys(sentences):
        found = [(word, span) for word, spans in word_spans(pattern, sentence).items() for span in spans]
        if len(found) == 1 and (pair := pair_of.get(found[0][0])) and "{" not in sentence:
            begin, end = found[0][1]
            yield f"{sentence[:begin]}{{}}{sentence[end:]}", pair


def _tokenize_all(
    lm: Lm, filled: Iterable[tuple[T, Sequence[tuple[str, str]]]]
) -> tuple[list[T], list[tuple[TokenIds, TokenIds]]]:
    """The things all of whose sentences (and words) the model can encode, and the rows of those."""
    kept: list[T] = []
    rows: list[tuple[TokenIds, TokenIds]] = []
    for thing, sentences in filled:
        try:
            rows += [_tokenize(lm, sentence, word) for sentence, word in sentences]
        except (Unscorable, ModelError):
            continue
        kept.append(thing)
    return kept, rows


def _tokenize(lm: Lm, sentence: str, word: str) -> tuple[TokenIds, TokenIds]:
    """Token ids of the filled sentence, and the positions of the word."""
    begin = sentence.index("{}")
    text = sentence.replace("{}", word, 1)
    return lm.encode(text).ids, word_token_positions(lm, text, (begin, begin + len(word)))


def _states(lm: Lm, rows: Sequence[tuple[TokenIds, TokenIds]], layer: int) -> Floats:
    ids, positions = [row for row, _ in rows], [at for _, at in rows]
    return mean_states(lm, ids, positions, layer=layer, for_eraser=True)
