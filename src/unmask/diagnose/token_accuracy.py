"""Token prediction accuracy: a token is a hit if it is the top prediction where a measure reads it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from unmask.audit.scoring import special_token_in
from unmask.core.errors import Unscorable
from unmask.core.types import Encoded, Pair, Probe, Probes, Reader
from unmask.findings import Value
from unmask.measures import find
from unmask.measures.spans import align_pair
from unmask.models import TextModel
from unmask.models.batches import Readings
from unmask.stats.paired import ContingencyTable, cross_tabulate
from unmask.stats.shares import HitCounts

Groups = Mapping[str, Mapping[str, str]]  # by pair: the group columns that name its unit of resampling
Hits = dict[tuple[str, int], bool]  # of one pair, by side and position


@dataclass(frozen=True, slots=True)
class CountingRule:
    """A measure, which of its predictions are counted, and the probes that read them."""

    measure: str
    counted: str
    probes: Callable[[Pair, Reader], Probes]
    stream: str  # label of its random stream: a new one would change published intervals
    whole: bool = False  # one trial per pair: is the whole span of either sentence predicted?


@dataclass(frozen=True, slots=True)
class PairedCounts:
    """Hits of two counting rules on the tokens both read: by pair, and as a contingency table."""

    first: HitCounts
    second: HitCounts
    table: ContingencyTable


def every_token_probe(sentence: Encoded) -> Probe:
    """Mask nothing; read every token at its own position, including special tokens."""
    return Probe(sentence.ids, tuple(enumerate(sentence.ids)))


def _all_probes(pair: Pair, lm: Reader) -> Probes:
    return {side: (every_token_probe(lm.encode(getattr(pair, side))),) for side in ("more", "less")}


CPS = CountingRule("cps", "shared tokens, each masked alone", find("cps").probes, "shared tokens, each hidden alone")
PLL = CountingRule("pll", "content tokens, each masked alone", find("pll").probes, "content tokens, each hidden alone")
AUL = CountingRule("aul", "content tokens, nothing masked", find("aul").probes, "content tokens, nothing hidden")
AUL_ALL = CountingRule("aul", "all tokens, special ones too", _all_probes, "all tokens, special ones too")
SSS = CountingRule(
    *("sss", "pairs, a whole candidate predicted", find("sss-diagonal").probes, "pairs, a whole candidate guessed"),
    whole=True,
)
SSS_TOKENS = CountingRule(
    "sss", "changed tokens, masked together", find("sss-diagonal").probes, "changed tokens, hidden together"
)
COUNTING_RULES = (CPS, PLL, AUL, AUL_ALL, SSS, SSS_TOKENS)


def plan_probes(rule: CountingRule, items: Iterable[Pair], lm: TextModel) -> dict[str, Probes]:
    """Probes of every pair under a rule; without unscorable pairs and those with a special token written in them."""
    plan = {}
    for item in items:
        with suppress(Unscorable):
            if not special_token_in(item, lm):
                plan[item.id] = rule.probes(item, lm)
    return plan


def hits_by_pair(rule: CountingRule, plan: Mapping[str, Probes], readings: Readings) -> dict[str, Hits]:
    """By pair, which predictions are right.

    Two candidates with the same masked input are compared with the same prediction, as equal inputs have
    equal outputs.
    """
    by_pair: dict[str, Hits] = {}
    for item, sides in plan.items():
        hits: Hits = {
            (side, position): bool(rank == 0)
            for side, (probe,) in sides.items()
            for (position, _), rank in zip(probe.reads, readings[probe].ranks, strict=True)
        }
        whole = [all(hit for (own, _), hit in hits.items() if own == side) for side in sides]
        by_pair[item] = {("either", 0): any(whole)} if rule.whole else hits
    return by_pair


def count_hits(pairs: Mapping[str, Hits], groups: Groups) -> HitCounts:
    """Hits and trials of each pair, and the units of the pairs by their group columns."""
    counts = ((sum(hits.values()), len(hits)) for hits in pairs.values())
    return HitCounts.of(counts, [groups[item] for item in pairs])


def paired_counts(first: Mapping[str, Hits], second: Mapping[str, Hits], groups: Groups) -> PairedCounts:
    """Compare two rules on the tokens both read."""
    both = {item: [key for key in hits if key in second.get(item, {})] for item, hits in first.items()}
    first_hits, second_hits = (
        {item: {key: hits_of[item][key] for key in keys} for item, keys in both.items() if keys}
        for hits_of in (first, second)
    )
    flat = [
        np.array([hit for hits in pairs.values() for hit in hits.values()], dtype=np.bool_)
        for pairs in (first_hits, second_hits)
    ]
    return PairedCounts(count_hits(first_hits, groups), count_hits(second_hits, groups), cross_tabulate(*flat))


def count_subtokens(items: Iterable[Pair], lm: TextModel) -> tuple[int, int, int, int]:
    """Pairs: all, with equally many changed sub-tokens, alike when these are masked, with none on a side."""
    pairs = equal = shared = empty = 0
    for item in items:
        if special_token_in(item, lm):
            continue
        try:
            more, less, spans = align_pair(item, lm)
        except Unscorable:
            continue
        pairs += 1
        equal += len(spans.changed[0]) == len(spans.changed[1])
        sides = zip((more, less), spans.changed, strict=True)
        masked = [[-1 if at in changed else token for at, token in enumerate(s.ids)] for s, changed in sides]
        shared += masked[0] == masked[1]
        empty += not all(spans.changed)
    return pairs, equal, shared, empty


def format_value(number: Value, unit: str) -> str:
    """A value and its interval as text, or why it has none."""
    known = not math.isnan(number.low)
    ends = f"{number.low:.1f} to {number.high:.1f}" if known else f"no interval, {number.method}"
    return f"{number.value:.1f}{unit} ({ends})"
