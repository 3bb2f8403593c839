"""The few ways in which measures ask, and in which sentence scores are made of token log-probabilities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unmask.core.types import Encoded, Floats, Probe, Reading, SentenceScore


def each_masked_probe(sentence: Encoded, places: Sequence[int]) -> Probe:
    """Each of `places` hidden alone; read the token that stood there."""
    return Probe(
        sentence.ids, _own(sentence, places), tuple(places), one_at_a_time=True, split=sentence.split
    )


def unmasked_probe(sentence: Encoded, *, attention: bool = False) -> Probe:
    """Nothing hidden; read every content token where it stands."""
    return Probe(sentence.ids, _own(sentence, sentence.content), attention=attention)


def all_masked_probe(sentence: Encoded) -> Probe:
    """All content hidden at once; read every content token."""
    return Probe(sentence.ids, _own(sentence, sentence.content), sentence.content)


def next_tokens_probe(sentence: Encoded, places: Sequence[int]) -> Probe:
    """Causal: the token at each place, read where only what precedes it is known; the first has nothing."""
    return Probe(sentence.ids, tuple((place - 1, sentence.ids[place]) for place in places if place > 0))


def weighted_score(places: Sequence[int], logprobs: Floats, weights: Floats) -> SentenceScore:
    """A score that is the sum of weight × log-probability."""
    return SentenceScore(float(np.dot(weights, logprobs)), tuple(places), logprobs, weights)


def sum_score(probes: Sequence[Probe], readings: Sequence[Reading]) -> SentenceScore:
    """The sum of log-probabilities."""
    logprobs = readings[0].logprobs
    return weighted_score(_places(probes[0]), logprobs, np.ones(len(logprobs)))


def mean_score(probes: Sequence[Probe], readings: Sequence[Reading]) -> SentenceScore:
    """The mean of log-probabilities."""
    logprobs = readings[0].logprobs
    return weighted_score(_places(probes[0]), logprobs, np.full(len(logprobs), 1 / len(logprobs)))


def next_tokens_score(probes: Sequence[Probe], readings: Sequence[Reading]) -> SentenceScore:
    """Causal: the sum of log-probabilities; a read at a place speaks of the token after it."""
    logprobs = readings[0].logprobs
    return weighted_score([place + 1 for place in _places(probes[0])], logprobs, np.ones(len(logprobs)))


def _own(sentence: Encoded, places: Sequence[int]) -> tuple[tuple[int, int], ...]:
    return tuple(zip(places, map(sentence.ids.__getitem__, places), strict=True))


def _places(probe: Probe) -> tuple[int, ...]:
    return tuple(place for place, _ in probe.reads)
