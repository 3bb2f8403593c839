"""Which tokens two sentences share, and which differ: the alignment of Nangia et al. (2020)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress

from cydifflib import SequenceMatcher

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
    """Align token ids, special tokens included, by difflib at its default settings, as published (here compiled).

    The matcher is not symmetric: which tokens count as shared can depend on which sentence comes first.
    """
    shared = _shared_positions(more, less)
    return Spans(shared, (_without(more, shared[0]), _without(less, shared[1])))


def order_matters(more: Encoded, less: Encoded) -> bool:
    """Does the alignment change when the sentences are passed the other way round?"""
    return align(more, less).shared != _shared_positions(less, more)[::-1]


def _shared_positions(first: Encoded, second: Encoded) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The content positions of both sentences that the matcher finds equal."""
    blocks = SequenceMatcher(None, _without_context(first), _without_context(second)).get_matching_blocks()
    ours = [_position(first, at) for begin, _, size in blocks for at in range(begin, begin + size)]
    theirs = [_position(second, at) for _, begin, size in blocks for at in range(begin, begin + size)]
    mine, others = set(first.content), set(second.content)
    inside = [a in mine and b in others for a, b in zip(ours, theirs, strict=True)]
    return tuple(compress(ours, inside)), tuple(compress(theirs, inside))


def _without_context(sentence: Encoded) -> tuple[int, ...]:
    """The token ids of a sentence without those of its prefix."""
    begin, end = sentence.context
    return sentence.ids[:begin] + sentence.ids[end:] if end else sentence.ids


def _position(sentence: Encoded, at: int) -> int:
    """The position in the sentence of a token at a position without its prefix."""
    begin, end = sentence.context
    return at if at < begin else at + end - begin


def _without(sentence: Encoded, shared: tuple[int, ...]) -> tuple[int, ...]:
    excluded = set(shared)
    return tuple([position for position in sentence.content if position not in excluded])
