"""Which tokens two sentences share, and which differ: the alignment of Nangia et al. (2020)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from unmask.core.errors import Unscorable
from unmask.core.types import Encoded, Pair, Probe, Probes, Reader

SpanProbe = Callable[[Encoded, tuple[int, ...]], Probe]  # of a sentence and positions in it


@dataclass(frozen=True, slots=True)
class Spans:
    """Content positions of both sentences, split into shared and changed; `shared` run in parallel."""

    shared: tuple[tuple[int, ...], tuple[int, ...]]  # (more, less)
    changed: tuple[tuple[int, ...], tuple[int, ...]]


def align_pair(pair: Pair, lm: Reader) -> tuple[Encoded, Encoded, Spans]:
    """Both sentences encoded, and their alignment with `more` first."""
    more, less = lm.encode(pair.more), lm.encode(pair.less)
    return more, less, align(more, less)


def shared_probes(pair: Pair, lm: Reader, probe: SpanProbe) -> Probes:
    """One probe of the tokens that the sentences share, for each sentence; Unscorable if it reads none."""
    more, less, spans = align_pair(pair, lm)
    both = probe(more, spans.shared[0]), probe(less, spans.shared[1])
    if not all(each.reads for each in both):
        raise Unscorable("nothing shared: the sentences have no token in common")
    return {"more": (both[0],), "less": (both[1],)}


def changed_probes(pair: Pair, lm: Reader, probe: SpanProbe) -> Probes:
    """One probe of the changed tokens of each sentence; Unscorable if one has none."""
    more, less, spans = align_changed(pair, lm)
    return {"more": (probe(more, spans.changed[0]),), "less": (probe(less, spans.changed[1]),)}


def align_changed(pair: Pair, lm: Reader) -> tuple[Encoded, Encoded, Spans]:
    """Like `align_pair`, but Unscorable unless both sentences have changed tokens."""
    more, less, spans = align_pair(pair, lm)
    for side, positions in zip(("more", "less"), spans.changed, strict=True):
        if not positions:
            raise Unscorable(f"empty span: every token of the {side} sentence is also in the other one")
    return more, less, spans


@lru_cache(maxsize=4096)
def align(more: Encoded, less: Encoded) -> Spans:
    """Align token ids, special tokens included, by difflib at its default settings, as published.

    The matcher is not symmetric: which tokens count as shared can depend on which sentence comes first.
    """
    shared: tuple[list[int], list[int]] = ([], [])
    content = set(more.content), set(less.content)
    for block in SequenceMatcher(None, more.ids, less.ids).get_matching_blocks():
        for step in range(block.size):
            a, b = block.a + step, block.b + step
            if a in content[0] and b in content[1]:
                shared[0].append(a)
                shared[1].append(b)
    changed = (_without(more, shared[0]), _without(less, shared[1]))
    return Spans((tuple(shared[0]), tuple(shared[1])), changed)


def order_matters(more: Encoded, less: Encoded) -> bool:
    """Does the alignment change when the sentences are passed the other way round?"""
    there, back = align(more, less), align(less, more)
    return there.shared != (back.shared[1], back.shared[0])


def _without(sentence: Encoded, shared: list[int]) -> tuple[int, ...]:
    excluded = set(shared)
    return tuple(position for position in sentence.content if position not in excluded)
