"""Token prediction accuracy: a token is a hit if it is the top prediction where a measure reads it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unmask.core.errors import Unscorable
from unmask.core.seeds import generator
from unmask.core.types import Encoded, Pair, Probe, Probes, Reader
from unmask.findings import Value
from unmask.measures import find
from unmask.measures.spans import align_pair
from unmask.models import Lm
from unmask.models.engine import Readings
from unmask.stats.mcnemar import ContingencyTable, cross_tabulate
from unmask.stats.pooled import HitCounts, difference_interval, share_interval

Hits = dict[tuple[str, int], bool]  # of one pair, by side and position


@dataclass(frozen=True, slots=True)
class CountingRule:
    """A measure, which of its predictions are counted, and the probes that read them."""

    measure: str
    counted: str
    probes: Callable[[Pair, Reader], Probes]
    whole: bool = False  # one trial per pair: is the whole span of either sentence predicted?


@dataclass(frozen=True, slots=True)
class PairedCounts:
    """Hits of two counting rules on the tokens both read: by pair, and as a contingency table."""

    first: HitCounts
    second: HitCounts
    table: ContingencyTable


@dataclass(frozen=True, slots=True)
class SubtokenCounts:
    """How a tokenizer splits the words in which the sentences of a pair differ."""

    pairs: int
    equal: int  # pairs with equally many sub-tokens on both sides
    shared: int  # pairs whose sentences are identical after masking
    empty: int  # pairs in which one side has no changed token


def every_token_probe(sentence: Encoded) -> Probe:
    """Mask nothing; read every token at its own position, including special tokens."""
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
    """Probes of every pair under a rule; unscorable pairs are left out."""
    plan = {}
    for item in items:
        try:
            plan[item.id] = rule.probes(item, lm)
        except Unscorable:
            continue
    return plan


def hits_by_pair(rule: CountingRule, plan: Mapping[str, Probes], readings: Readings) -> dict[str, Hits]:
    """By pair, which predictions are right.

    Two candidates with the same masked input are compared with the same prediction, as equal inputs have
    equal outputs.
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
    """Hits and trials of each pair."""
    return HitCounts.of((sum(hits.values()), len(hits)) for hits in pairs)


def paired_counts(first: Mapping[str, Hits], second: Mapping[str, Hits]) -> PairedCounts:
    """Compare two rules on the tokens both read."""
    both = {item: [key for key in hits if key in second.get(item, {})] for item, hits in first.items()}
    first_hits, second_hits = (
        [{key: hits_of[item][key] for key in keys} for item, keys in both.items() if keys]
        for hits_of in (first, second)
    )
    return PairedCounts(
        count_hits(first_hits),
        count_hits(second_hits),
        cross_tabulate(_flat(first_hits), _flat(second_hits)),
    )


def count_subtokens(items: Iterable[Pair], lm: Lm) -> SubtokenCounts:
    """Count the sub-tokens in which the sentences of pairs differ."""
    pairs = equal = shared = empty = 0
    for item in items:
        try:
            more, less, spans = align_pair(item, lm)
        except Unscorable:
            continue
        pairs += 1
        equal += len(spans.changed[0]) == len(spans.changed[1])
        shared += _masked_ids(more, spans.changed[0]) == _masked_ids(less, spans.changed[1])
        empty += not all(spans.changed)
    return SubtokenCounts(pairs, equal, shared, empty)


def pooled_share(counts: HitCounts, seed: int, label: str) -> Value:
    """The pooled share with its interval over pairs."""
    return share_interval(counts, rng=generator(seed, label))


def share_difference(first: HitCounts, second: HitCounts, seed: int, label: str) -> Value:
    """First minus second, in points, with its interval over the same pairs."""
    return difference_interval(first, second, rng=generator(seed, label))


def format_value(number: Value, unit: str) -> str:
    """A value and its interval as text, or why it has none."""
    ends = f"{number.low:.1f} to {number.high:.1f}"
    if math.isnan(number.low):
        ends = f"no interval, {number.method}"
    return f"{number.value:.1f}{unit} ({ends})"


def _right(probe: Probe, readings: Readings) -> dict[int, bool]:
    return {
        position: bool(rank == 0)
        for (position, _), rank in zip(probe.reads, readings[probe].ranks, strict=True)
    }


def _masked_ids(sentence: Encoded, positions: Sequence[int]) -> tuple[int, ...]:
    """Token ids with the positions masked; -1 stands for the mask."""
    return tuple(-1 if position in positions else token for position, token in enumerate(sentence.ids))


def _flat(pairs: Sequence[Hits]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.array([hit for hits in pairs for hit in hits.values()], dtype=np.bool_)
