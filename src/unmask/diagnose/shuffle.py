"""Sentences shuffled with a seed per item, and how well a model predicts their tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from unmask.audit.scoring import special_token_in
from unmask.audit.session import Session
from unmask.core.errors import Unscorable
from unmask.core.estimate import Value
from unmask.core.seeds import generator
from unmask.core.types import Encoded, Ints, Pair
from unmask.diagnose.token_accuracy import Groups, every_token_probe
from unmask.measures.spans import align
from unmask.models import TextModel
from unmask.stats.shares import HitCounts, difference_interval, difference_test, share_interval
from unmask.stats.table import Flags

CONTENT, ALL = "content tokens", "all tokens"  # all: including special ones, as in the published code
COUNTED = (CONTENT, ALL)
CANDIDATE = "candidate's tokens"  # those of the word in which the three sentences of a triple differ
EncodedSentences = dict[str, list[Encoded]]  # the sentences of every pair
Orders = dict[str, list[Ints]]  # parallel: previous position of the token now at each position
Guesses = dict[str, list[Flags]]  # parallel: is the token at each position the top prediction?
PairHits = dict[str, dict[str, tuple[int, int]]]  # by pair, then by tokens counted: hits and trials


@dataclass(frozen=True, slots=True)
class PerturbedAccuracy:
    """Accuracy on pairs perturbed in one way, and on the same pairs as written."""

    original: HitCounts
    draws: tuple[HitCounts, ...]
    accuracy: Value  # of all draws together
    drop: Value  # of the accuracy, in points
    p: float | None  # of no drop

    @property
    def draw_sd(self) -> float | None:
        """Standard deviation of the accuracy over draws; None for fewer than two."""
        return float(np.std([draw.share for draw in self.draws], ddof=1)) if len(self.draws) > 1 else None


def encode_sentences(items: Sequence[Pair], texts: Callable[[Pair], list[str]], lm: TextModel) -> EncodedSentences:
    """Encode the given sentences of every pair, leaving out pairs with none, an unscorable one or a special token."""
    wanted = {item.id: texts(item) for item in items if not special_token_in(item, lm)}
    lm.prime([text for sentences in wanted.values() for text in sentences])
    version: EncodedSentences = {}
    for item, sentences in wanted.items():
        try:
            version |= {item: [lm.encode(text) for text in sentences]} if sentences else {}
        except Unscorable:
            continue
    return version


def random_orders(sentences_by_pair: EncodedSentences, seed: int, draw: int) -> Orders:
    """A random order of the content tokens of every sentence; special tokens keep their positions."""
    orders: Orders = {}
    for item, sentences in sentences_by_pair.items():
        orders[item] = [np.arange(len(sentence.ids)) for sentence in sentences]
        for index, (sentence, order) in enumerate(zip(sentences, orders[item], strict=True)):
            rng = generator(seed, f"tokens/{item}/{index}/{draw}")
            order[np.array(sentence.content)] = rng.permutation(np.array(sentence.content))
    return orders


def reorder(sentences_by_pair: EncodedSentences, order: Orders) -> EncodedSentences:
    """The sentences with their tokens in the given order."""
    return {
        item: [
            Encoded(tuple(sentence.ids[before] for before in positions), sentence.content, sentence.split)
            for sentence, positions in zip(sentences, order[item], strict=True)
        ]
        for item, sentences in sentences_by_pair.items()
    }


def shuffled_words(item: Pair, seed: int, draw: int) -> list[str]:
    """Both sentences of a pair with their words, split at white space, in a random order."""
    shuffled = []
    for index, text in enumerate((item.more, item.less)):
        words = text.split()
        order = generator(seed, f"words/{item.id}/{index}/{draw}").permutation(len(words))
        shuffled.append(" ".join(words[before] for before in order))
    return shuffled


def first_guesses(session: Session, sentences_by_pair: EncodedSentences, what: str) -> Guesses:
    """With nothing masked, is each token the model's top prediction at its own position?"""
    probes = {item: [*map(every_token_probe, sentences)] for item, sentences in sentences_by_pair.items()}
    readings = session.read((probe for pair_probes in probes.values() for probe in pair_probes), what)
    return {item: [readings[probe].ranks == 0 for probe in own] for item, own in probes.items()}


def pair_hits(sentences_by_pair: EncodedSentences, guesses: Guesses) -> PairHits:
    """Hits and trials of every pair, by the tokens counted."""
    by_pair: PairHits = {}
    for item, sentences in sentences_by_pair.items():
        by_pair[item] = {}
        for counted in COUNTED:
            pairs = zip(sentences, guesses[item], strict=True)
            right = np.concatenate([hits[_positions(sentence, counted)] for sentence, hits in pairs])
            by_pair[item][counted] = (int(right.sum()), right.size)
    return by_pair


def candidate_hits(
    items: Iterable[Pair], lm: TextModel, written: Guesses, unrelated: Guesses
) -> tuple[PairHits, PairHits]:
    """Hits and trials over the candidates' own tokens: of the two candidates as written, and of the unrelated one.

    A candidate's tokens are those of its sentence that one of the other two sentences does not share.
    """
    before, after = PairHits(), PairHits()
    for item in items:
        if item.unrelated is None or item.id not in written or item.id not in unrelated:
            continue
        sentences = [lm.encode(text) for text in (item.more, item.less, item.unrelated)]
        own: list[set[int]] = [set(), set(), set()]
        for first, second in combinations(range(3), 2):
            changed = align(sentences[first], sentences[second]).changed
            own[first].update(changed[0])
            own[second].update(changed[1])
        hits = [
            guesses[sorted(places)]
            for places, guesses in zip(own, (*written[item.id], *unrelated[item.id]), strict=True)
        ]
        before[item.id] = {CANDIDATE: (int(hits[0].sum() + hits[1].sum()), hits[0].size + hits[1].size)}
        after[item.id] = {CANDIDATE: (int(hits[2].sum()), hits[2].size)}
    return before, after


def perturbed_accuracies(
    original: PairHits,
    draws: Sequence[PairHits],
    groups: Groups,
    *,
    how: str,
    seed: int,
    counts: Sequence[str] = COUNTED,
) -> dict[str, PerturbedAccuracy]:
    """Accuracy before and after, on the pairs present in all draws, by the tokens counted; `groups` by pair."""
    kept = [item for item in original if all(item in draw for draw in draws)]
    own, by_count = [groups[item] for item in kept], {}
    for counted in counts:
        before = HitCounts.of((original[item][counted] for item in kept), own)
        after = tuple(HitCounts.of((draw[item][counted] for item in kept), own) for draw in draws)
        hits, trials = (np.sum([getattr(n, part) for n in after], axis=0) for part in ("hits", "trials"))
        pooled = HitCounts(hits, trials, after[0].units if after else before.units)
        accuracy = share_interval(pooled, rng=generator(seed, f"{how}/{counted}"))
        drop = difference_interval(before, pooled, rng=generator(seed, f"{how}/{counted}"))
        by_count[counted] = PerturbedAccuracy(before, after, accuracy, drop, difference_test(before, pooled))
    return by_count


def _positions(sentence: Encoded, counted: str) -> Ints:
    return np.array(sentence.content) if counted == CONTENT else np.arange(len(sentence.ids))
