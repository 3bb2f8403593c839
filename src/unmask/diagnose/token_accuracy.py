"""What a model guesses where a measure reads it: right if the token that stands there is its first guess."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unmask.core.errors import Unscorable
from unmask.core.types import Encoded, Pair, Probe, Probes, Reader
from unmask.findings import Value
from unmask.measures import find
from unmask.measures.spans import align_pair
from unmask.models import Lm
from unmask.models.engine import Readings
from unmask.stats.bootstrap import generator
from unmask.stats.mcnemar import ContingencyTable, cross_tabulate
from unmask.stats.pooled import HitCounts, difference_interval, share_interval

Hits = dict[tuple[str, int], bool]  # of one pair, by side and place


@dataclass(frozen=True, slots=True)
class CountingRule:
    """A measure, which of its predictions are counted, and how the model is asked for them."""

    measure: str
    counted: str
    probes: Callable[[Pair, Reader], Probes]
    whole: bool = False  # a pair is one try: was the whole span of either sentence guessed?


@dataclass(frozen=True, slots=True)
class PairedCounts:
    """The tokens two ways both read: right or wrong by either, pair by pair and in all."""

    first: HitCounts
    second: HitCounts
    table: ContingencyTable


@dataclass(frozen=True, slots=True)
class SubtokenCounts:
    """How a tokenizer splits the words in which the sentences of a pair differ."""

    pairs: int
    equal: int  # as many sub-tokens on either side
    shared: int  # and one and the same input when they are hidden
    empty: int  # one side has nothing that the other lacks


def every_token_probe(sentence: Encoded) -> Probe:
    """Nothing hidden; every token read where it stands, the special ones too."""
    return Probe(sentence.ids, tuple(enumerate(sentence.ids)))


def _all_probes(pair: Pair, lm: Reader) -> Probes:
    return {
        "more": (every_token_probe(lm.encode(pair.more)),),
        "less": (every_token_probe(lm.encode(pair.less)),),
    }


CPS = CountingRule("cps", "shared tokens, each hidden alone", find("cps").probes)
PLL = CountingRule("pll", "content tokens, each hidden alone", find("pll").probes)
AUL = CountingRule("aul", "content tokens, nothing hidden", find("aul").probes)
AUL_ALL = CountingRule("aul", "all tokens, special ones too", _all_probes)
SSS = CountingRule("sss", "pairs, a whole candidate guessed", find("sss-diagonal").probes, whole=True)
SSS_TOKENS = CountingRule("sss", "changed tokens, hidden together", find("sss-diagonal").probes)
COUNTING_RULES = (CPS, PLL, AUL, AUL_ALL, SSS, SSS_TOKENS)


def plan_probes(rule: CountingRule, items: Iterable[Pair], lm: Lm) -> dict[str, Probes]:
    """What to ask about every pair; a pair this way cannot read is not in it."""
    plan = {}
    for item in items:
        try:
            plan[item.id] = rule.probes(item, lm)
        except Unscorable:
            continue
    return plan


def hits_by_pair(rule: CountingRule, plan: Mapping[str, Probes], readings: Readings) -> dict[str, Hits]:
    """By pair: which predictions were right.

    Two candidates that leave one masked input are compared with one and the same guess: equal inputs are
    guessed alike, whichever sentence they were made from.
    """
    by_pair = {}
    for item, sides in plan.items():
        right = {side: _right(probe, readings) for side, (probe,) in sides.items()}
        if rule.whole:
            by_pair[item] = {("either", 0): any(all(hits.values()) for hits in right.values())}
        else:
            by_pair[item] = {
                (side, place): hit for side, hits in right.items() for place, hit in hits.items()
            }
    return by_pair


def count_hits(pairs: Iterable[Hits]) -> HitCounts:
    """Hits among tries, pair by pair."""
    return HitCounts.of((sum(hits.values()), len(hits)) for hits in pairs)


def paired_counts(first: Mapping[str, Hits], second: Mapping[str, Hits]) -> PairedCounts:
    """Two ways on the tokens both read."""
    both = {item: [key for key in hits if key in second.get(item, {})] for item, hits in first.items()}
    one, other = (
        [{key: hits_of[item][key] for key in keys} for item, keys in both.items() if keys]
        for hits_of in (first, second)
    )
    return PairedCounts(count_hits(one), count_hits(other), cross_tabulate(_flat(one), _flat(other)))


def count_subtokens(items: Iterable[Pair], lm: Lm) -> SubtokenCounts:
    """How often both sentences of a pair have equally many sub-tokens in the place where they differ."""
    pairs = equal = shared = empty = 0
    for item in items:
        try:
            more, less, spans = align_pair(item, lm)
        except Unscorable:
            continue
        pairs += 1
        equal += len(spans.changed[0]) == len(spans.changed[1])
        shared += _hidden(more, spans.changed[0]) == _hidden(less, spans.changed[1])
        empty += not all(spans.changed)
    return SubtokenCounts(pairs, equal, shared, empty)


def pooled_share(counts: HitCounts, seed: int, label: str) -> Value:
    """The pooled share with its interval over pairs."""
    interval = share_interval(counts, rng=generator(seed, label))
    return Value(counts.share, interval.low, interval.high, interval.method)


def share_difference(first: HitCounts, second: HitCounts, seed: int, label: str) -> Value:
    """First less second, in points, with its interval over the same pairs."""
    interval = difference_interval(first, second, rng=generator(seed, label))
    return Value(first.share - second.share, interval.low, interval.high, interval.method)


def format_value(number: Value, unit: str) -> str:
    """A number and its interval in a sentence, or why it has none."""
    ends = f"{number.low:.1f} to {number.high:.1f}"
    if math.isnan(number.low):
        ends = f"no interval, {number.method}"
    return f"{number.value:.1f}{unit} ({ends})"


def _right(probe: Probe, readings: Readings) -> dict[int, bool]:
    return {
        position: bool(rank == 0)
        for (position, _), rank in zip(probe.reads, readings[probe].ranks, strict=True)
    }


def _hidden(sentence: Encoded, positions: Sequence[int]) -> tuple[int, ...]:
    """The sentence as the model sees it with these places hidden; -1 stands for the mask."""
    return tuple(-1 if position in positions else token for position, token in enumerate(sentence.ids))


def _flat(pairs: Sequence[Hits]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.array([hit for hits in pairs for hit in hits.values()], dtype=np.bool_)
