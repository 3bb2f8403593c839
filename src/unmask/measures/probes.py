"""Probes shared by several measures, and sentence scores computed from token log-probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from unmask.core.types import Encoded, Floats, Pair, Probe, Probes, Reader, Reading, SentenceScore


def pair_probes(pair: Pair, lm: Reader, probe: Callable[[Encoded], Probe]) -> Probes:
    """One probe for each sentence of a pair."""
    return {"more": (probe(lm.encode(pair.more)),), "less": (probe(lm.encode(pair.less)),)}


def each_masked_probe(sentence: Encoded, positions: Sequence[int]) -> Probe:
    """Mask each of `positions` one at a time and read its original token."""
    reads = _own_reads(sentence, positions)
    return Probe(sentence.ids, reads, tuple(positions), one_at_a_time=True, split=sentence.split)


def unmasked_probe(sentence: Encoded, *, attention: bool = False) -> Probe:
    """Mask nothing; read every content token at its own position."""
    return Probe(sentence.ids, _own_reads(sentence, sentence.content), attention=attention)


def all_masked_probe(sentence: Encoded) -> Probe:
    """Mask all content tokens at once and read each of them."""
    return Probe(sentence.ids, _own_reads(sentence, sentence.content), sentence.content)


def next_tokens_probe(sentence: Encoded, positions: Sequence[int]) -> Probe:
    """Causal: read the token at each position given its prefix; position 0 has none and is skipped."""
    reads = tuple((position - 1, sentence.ids[position]) for position in positions if position > 0)
    return Probe(sentence.ids, reads)


def weighted_score(positions: Sequence[int], logprobs: Floats, weights: Floats) -> SentenceScore:
    """Sum of weight × log-probability."""
    return SentenceScore(float(np.dot(weights, logprobs)), tuple(positions), logprobs, weights)


def sum_score(probes: Sequence[Probe], readings: Sequence[Reading]) -> SentenceScore:
    """Sum of log-probabilities."""
    logprobs = readings[0].logprobs
    return weighted_score(_read_positions(probes[0]), logprobs, np.ones(len(logprobs)))


def mean_score(probes: Sequence[Probe], readings: Sequence[Reading]) -> SentenceScore:
    """Mean of log-probabilities."""
    logprobs = readings[0].logprobs
    return weighted_score(_read_positions(probes[0]), logprobs, np.full(len(logprobs), 1 / len(logprobs)))


def next_tokens_score(probes: Sequence[Probe], readings: Sequence[Reading]) -> SentenceScore:
    """Causal: sum of log-probabilities; a read at position i scores token i + 1."""
    logprobs = readings[0].logprobs
    positions = [position + 1 for position, _ in probes[0].reads]
    return weighted_score(positions, logprobs, np.ones(len(logprobs)))


def _own_reads(sentence: Encoded, positions: Sequence[int]) -> tuple[tuple[int, int], ...]:
    return tuple(zip(positions, map(sentence.ids.__getitem__, positions), strict=True))


def _read_positions(probe: Probe) -> tuple[int, ...]:
    return tuple(position for position, _ in probe.reads)
