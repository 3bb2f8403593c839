"""Probes shared by several measures, and sentence scores computed from token log-probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unmask.core.types import Columns, Encoded, Pair, Probe, Probes, Reader, Reading, SentenceScore

if TYPE_CHECKING:
    from unmask.core.types import Floats


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
    import numpy as np

    return SentenceScore(float(np.dot(weights, logprobs)), tuple(positions), logprobs, weights)


def read_positions(probe: Probe) -> tuple[int, ...]:
    """The positions of the tokens that a probe reads at their own place."""
    return probe.masked if probe.one_at_a_time else next(zip(*probe.reads, strict=True), ())


def next_positions(probe: Probe) -> tuple[int, ...]:
    """Causal: the positions of the tokens that a probe reads; a read at position i scores token i + 1."""
    return tuple(position + 1 for position, _ in probe.reads)


@dataclass(frozen=True, slots=True)
class TokenSum:
    """A sentence score: the sum of weight × log-probability over the reads of its first probe.

    As every `Measure.score` it can be called for one sentence; `values` gives the scores of many at once.
    """

    weights: Callable[[Columns], Floats]
    positions: Callable[[Probe], tuple[int, ...]] = read_positions

    def values(self, read: Columns) -> Floats:
        """The score of each sentence."""
        return read.total(self.weights(read) * read.logprobs)

    def variances(self, read: Columns) -> Floats:
        """The variance of each score if every logit had an independent error of variance one."""
        import numpy as np

        return read.total((self.weights(read) * (1 - np.exp(read.logprobs))) ** 2)

    def __call__(self, probes: Sequence[Probe], readings: Sequence[Reading]) -> SentenceScore:
        """The score of one sentence and the tokens it is made of."""
        import numpy as np

        probe, reading = probes[0], readings[0]
        logprobs, received = reading.logprobs, reading.attention_received
        if received is not None:
            received = received[[position for position, _ in probe.reads]]
        read = Columns(logprobs, reading.ranks, np.array([len(logprobs)]), received)
        return SentenceScore(float(self.values(read)[0]), self.positions(probe), logprobs, self.weights(read))


def ones(read: Columns) -> Floats:
    """The weights of a sum."""
    import numpy as np

    return np.ones(len(read.logprobs))


def shares(read: Columns) -> Floats:
    """The weights of a mean."""
    return read.repeat(1 / read.counts)


sum_score = TokenSum(ones)
mean_score = TokenSum(shares)
next_tokens_score = TokenSum(ones, next_positions)


def _own_reads(sentence: Encoded, positions: Sequence[int]) -> tuple[tuple[int, int], ...]:
    if positions is sentence.content:
        return sentence.own_reads
    return tuple(zip(positions, map(sentence.ids.__getitem__, positions), strict=True))
