"""Sentences put out of order, seeded item by item, and how well a model guesses the tokens in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from unmask.audit.session import Session
from unmask.core.errors import Unscorable
from unmask.core.types import Encoded, Ints, Pair
from unmask.diagnose.token_accuracy import every_token_probe
from unmask.models import Lm
from unmask.stats.bootstrap import generator
from unmask.stats.mcnemar import Bools, ContingencyTable, cross_tabulate
from unmask.stats.pooled import HitCounts

CONTENT, ALL = (
    "content tokens",
    "all tokens",
)  # the second with the special ones, as the published code counts
COUNTED = (CONTENT, ALL)
EncodedSentences = dict[str, list[Encoded]]  # the sentences of every pair
Orders = dict[str, list[Ints]]  # alongside: where the token now at each position stood before
Guesses = dict[str, list[Bools]]  # alongside: is the token at each position the model's first guess?
PairHits = dict[str, dict[str, tuple[int, int]]]  # by pair, then by tokens counted: hits and tries


@dataclass(frozen=True, slots=True)
class PerturbedAccuracy:
    """Pairs robbed of their sense in one way, beside the same pairs as written."""

    original: HitCounts
    draws: tuple[HitCounts, ...]
    tables: tuple[ContingencyTable, ...] = ()  # one a draw; none where tokens do not correspond

    @property
    def pooled_counts(self) -> HitCounts:
        """All draws together, pair by pair."""
        hits = np.sum([draw.hits for draw in self.draws], axis=0)
        return HitCounts(hits, np.sum([draw.trials for draw in self.draws], axis=0))

    @property
    def draw_sd(self) -> float | None:
        """Standard deviation of the accuracy from draw to draw; None with fewer than two."""
        return float(np.std([draw.share for draw in self.draws], ddof=1)) if len(self.draws) > 1 else None


def encode_sentences(items: Sequence[Pair], texts: Callable[[Pair], list[str]], lm: Lm) -> EncodedSentences:
    """Some sentences of every pair; a pair without any, or with one that cannot be read, is not in it."""
    wanted = {item.id: texts(item) for item in items}
    lm.prime([text for of in wanted.values() for text in of])
    version: EncodedSentences = {}
    for item, of in wanted.items():
        try:
            version |= {item: [lm.encode(text) for text in of]} if of else {}
        except Unscorable:
            continue
    return version


def random_orders(version: EncodedSentences, seed: int, draw: int) -> Orders:
    """A random order of the content tokens of every sentence; special tokens stay where they are."""
    return {
        item: [
            _order(one, generator(seed, f"tokens/{item}/{place}/{draw}"))
            for place, one in enumerate(sentences)
        ]
        for item, sentences in version.items()
    }


def reorder(version: EncodedSentences, order: Orders) -> EncodedSentences:
    """The sentences with their tokens in that order."""
    return {
        item: [
            Encoded(tuple(one.ids[before] for before in of), one.content, one.split)
            for one, of in zip(sentences, order[item], strict=True)
        ]
        for item, sentences in version.items()
    }


def shuffled_words(item: Pair, seed: int, draw: int) -> list[str]:
    """Both sentences of a pair with their words, split at white space, in a random order."""
    mixed = []
    for place, text in enumerate((item.more, item.less)):
        words = text.split()
        order = generator(seed, f"words/{item.id}/{place}/{draw}").permutation(len(words))
        mixed.append(" ".join(words[before] for before in order))
    return mixed


def first_guesses(session: Session, version: EncodedSentences, what: str) -> Guesses:
    """Nothing hidden: is each token the model's first guess where it stands?"""
    probes = {
        item: [every_token_probe(sentence) for sentence in sentences] for item, sentences in version.items()
    }
    readings = session.read((probe for of in probes.values() for probe in of), what)
    return {item: [readings[probe].ranks == 0 for probe in of] for item, of in probes.items()}


def pair_hits(version: EncodedSentences, guesses: Guesses) -> PairHits:
    """Hits and tries of every pair."""
    made: PairHits = {}
    for item, sentences in version.items():
        right = {
            counted: np.concatenate(
                [hits[_places(one, counted)] for one, hits in zip(sentences, guesses[item], strict=True)]
            )
            for counted in COUNTED
        }
        made[item] = {counted: (int(hits.sum()), hits.size) for counted, hits in right.items()}
    return made


def cross_tabulations(
    version: EncodedSentences, order: Orders, before: Guesses, after: Guesses
) -> dict[str, ContingencyTable]:
    """Every token in its old place against the same token in its new one."""
    empty: list[Bools] = [np.zeros(0, dtype=np.bool_)]
    found = {}
    for counted in COUNTED:
        old, new = list(empty), list(empty)
        for item, sentences in version.items():
            for one, of, was, now in zip(sentences, order[item], before[item], after[item], strict=True):
                places = _places(one, counted)
                old.append(was[of[places]])
                new.append(now[places])
        found[counted] = cross_tabulate(np.concatenate(old), np.concatenate(new))
    return found


def perturbed_accuracies(
    original: PairHits, draws: Sequence[PairHits], tables: Sequence[dict[str, ContingencyTable]] = ()
) -> dict[str, PerturbedAccuracy]:
    """Before and after on the pairs that could be read every time, by the tokens counted."""
    kept = [item for item in original if all(item in draw for draw in draws)]
    return {
        counted: PerturbedAccuracy(
            HitCounts.of(original[item][counted] for item in kept),
            tuple(HitCounts.of(draw[item][counted] for item in kept) for draw in draws),
            tuple(table[counted] for table in tables),
        )
        for counted in COUNTED
    }


def _order(sentence: Encoded, rng: np.random.Generator) -> Ints:
    order, content = np.arange(len(sentence.ids)), np.array(sentence.content)
    order[content] = rng.permutation(content)
    return order


def _places(sentence: Encoded, counted: str) -> Ints:
    return np.array(sentence.content) if counted == CONTENT else np.arange(len(sentence.ids))
