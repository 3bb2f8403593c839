"""States of gendered words in sentences, each word beside its counterpart in the same sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from unmask import data
from unmask.core.errors import ModelError, Unscorable
from unmask.core.types import Floats
from unmask.models import Lm
from unmask.models.eraser import record_states
from unmask.models.states import batches_by_length
from unmask.stats.bootstrap import generator
from unmask.vectors.contextual import word_token_positions

GenderPair = tuple[str, str]  # a masculine word and its counterpart
CARRIERS = (
    "This is {}.",
    "There was {} again.",
    "They spoke about {} for a while.",
    "It had to do with {} after all.",
    "We thought of {} yesterday.",
)
MAX_SENTENCES = 3000  # sentences of a corpus
MIN_PAIRS = 10  # pairs of words that can be told apart in sentences
_AMBIGUOUS = {"him", "his", "her", "hers"}  # one's counterpart depends on the grammar


@dataclass(frozen=True, slots=True)
class PairContexts:
    """Sentences with a place for a word, and the pair that belongs there."""

    sentences: tuple[str, ...]  # with {} where the word stands
    pairs: tuple[GenderPair, ...]
    source: str


@dataclass(frozen=True, slots=True)
class GenderedStates:
    """States of masculine and feminine words, row by row in the same sentence."""

    masculine: Floats
    feminine: Floats
    pairs: tuple[GenderPair, ...]  # of each row

    def take(self, rows: Sequence[int]) -> GenderedStates:
        """Some of the rows."""
        at = np.asarray(rows, dtype=np.int64)
        return GenderedStates(self.masculine[at], self.feminine[at], tuple(self.pairs[row] for row in rows))

    def both(self) -> tuple[Floats, np.ndarray[tuple[int], np.dtype[np.int64]]]:
        """All states, and 1 for those of feminine words."""
        states = np.concatenate([self.masculine, self.feminine])
        return states, np.repeat([0, 1], [len(self.masculine), len(self.feminine)])


def word_pairs() -> tuple[GenderPair, ...]:
    """Single words whose counterpart does not depend on the grammar, each masculine word once."""
    known: dict[str, str] = {}
    for one in data.read("word-pairs").pairs:
        plain = one.masculine.isalpha() and one.feminine.isalpha()
        if one.swap and plain and one.pos != "title" and not {one.masculine, one.feminine} & _AMBIGUOUS:
            known.setdefault(one.masculine, one.feminine)
    return tuple(known.items())


def find_contexts(sentences: Sequence[str], *, seed: int = 0) -> PairContexts:
    """Sentences of a corpus with exactly one gendered word; our own for pairs that are in none of them."""
    pairs = word_pairs()
    found = list(_in_corpus(sentences, pairs))
    kept = generator(seed, "contexts").permutation(len(found))[:MAX_SENTENCES]
    chosen = [found[at] for at in sorted(kept.tolist())]
    lacking = set(pairs) - {pair for _, pair in chosen}
    whole = chosen + [(carrier, pair) for pair in pairs if pair in lacking for carrier in CARRIERS]
    source = f"{len(chosen)} sentences of the corpus; carrier sentences for {len(lacking)} pairs of words"
    return PairContexts(tuple(one for one, _ in whole), tuple(pair for _, pair in whole), source)


def pair_states(lm: Lm, found: PairContexts, layer: int) -> GenderedStates:
    """States of both words in each sentence at a layer; sentences the model cannot be fed are left out."""
    rows: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    kept: list[GenderPair] = []
    for sentence, pair in zip(found.sentences, found.pairs, strict=True):
        try:
            rows += [_placed(lm, sentence, word) for word in pair]
        except (Unscorable, ModelError):
            rows = rows[: 2 * len(kept)]
            continue
        kept.append(pair)
    if len(set(kept)) < MIN_PAIRS:
        raise ModelError(
            f"{lm.facts.id} can be fed {len(set(kept))} pairs of gendered words: too few to fit on"
        )
    made = _states(lm, rows, layer)
    return GenderedStates(made[::2], made[1::2], tuple(kept))


def word_states(lm: Lm, words: Sequence[str], layer: int) -> tuple[Floats, tuple[str, ...]]:
    """Mean states of words over the package's sentences, and the words that have one."""
    rows, kept = list[tuple[tuple[int, ...], tuple[int, ...]]](), list[str]()
    for word in words:
        try:
            rows += [_placed(lm, carrier, word) for carrier in CARRIERS]
        except (Unscorable, ModelError):
            rows = rows[: len(CARRIERS) * len(kept)]
            continue
        kept.append(word)
    made = _states(lm, rows, layer)
    return made.reshape(len(kept), len(CARRIERS), -1).mean(1), tuple(kept)


def _in_corpus(sentences: Sequence[str], pairs: Sequence[GenderPair]) -> Iterator[tuple[str, GenderPair]]:
    of = {word: pair for pair in pairs for word in pair}
    pattern = re.compile(rf"\b(?:{'|'.join(sorted({*of, *_AMBIGUOUS}, key=len, reverse=True))})\b", re.I)
    for sentence in dict.fromkeys(sentences):
        matches = list(pattern.finditer(sentence))
        if len(matches) == 1 and (pair := of.get(matches[0].group())) and "{" not in sentence:
            begin, end = matches[0].span()
            yield f"{sentence[:begin]}{{}}{sentence[end:]}", pair


def _placed(lm: Lm, sentence: str, word: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A sentence as tokens, and where the word's are."""
    begin = sentence.index("{}")
    text = sentence.replace("{}", word, 1)
    return lm.encode(text).ids, word_token_positions(lm, text, (begin, begin + len(word)))


@torch.inference_mode()
def _states(lm: Lm, rows: Sequence[tuple[tuple[int, ...], tuple[int, ...]]], layer: int) -> Floats:
    model = lm.network.model
    made: dict[int, Floats] = {}
    for some, ids in batches_by_length(lm, [row for row, _ in rows]):
        with record_states(model, layer) as seen:
            model.base_model(input_ids=ids)
        for number, state in zip(some, seen[-1], strict=True):
            made[number] = state[list(rows[number][1])].double().mean(0).cpu().numpy()
    return np.stack([made[number] for number in range(len(rows))])
