"""Log-likelihood of the sentences of a pair by StereoSet's first-token rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from unmask.core.types import Measure, Pair, Probe, Probes, Reader, Reading, SentenceScore
from unmask.measures.probes import weighted_score
from unmask.measures.stereoset import sentence_probes


def probes(pair: Pair, lm: Reader) -> Probes:
    """Probes of both sentences by StereoSet's rule."""
    return {"more": sentence_probes(pair.more, lm), "less": sentence_probes(pair.less, lm)}


def score(probes: Sequence[Probe], readings: Sequence[Reading]) -> SentenceScore:
    """Sum of log-probabilities."""
    import numpy as np

    logprobs = np.concatenate([reading.logprobs for reading in readings])
    tokens = tuple(token for probe in probes for _, token in probe.reads)
    return replace(weighted_score(range(len(tokens)), logprobs, np.ones(len(tokens))), tokens=tokens)


LL_STEREOSET = Measure(
    name="ll-stereoset",
    title="Log-likelihood by StereoSet's first-token rule",
    reads="share of pairs whose stereotyping sentence is likelier as a whole",
    kinds=("causal",),
    probes=probes,
    score=score,
    in_nats=True,
    citation="nadeem-etal-2021-stereoset",
)
