"""LL by StereoSet's first-token rule (Nadeem et al., 2021)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unmask.core.errors import Unscorable
from unmask.core.types import Measure, Pair, Probe, Probes, Reader, Reading, SentenceScore
from unmask.measures.probes import weighted_score


def sentence_probes(text: str, lm: Reader) -> tuple[Probe, ...]:
    """The first token given only the start token; the others given their sentence without the start token."""
    ids, start = lm.pieces(text), lm.start
    lm.encode(text)  # raises Unscorable if the sentence is empty or too long
    if start is None:
        raise Unscorable("the tokenizer has neither a begin- nor an end-of-text token to start from")
    first = Probe((start,), ((0, ids[0]),))
    return (first, Probe(ids, tuple(enumerate(ids[1:])))) if len(ids) > 1 else (first,)


def probes(pair: Pair, lm: Reader) -> Probes:
    """Probes of both sentences by StereoSet's rule."""
    return {"more": sentence_probes(pair.more, lm), "less": sentence_probes(pair.less, lm)}


def score(probes: Sequence[Probe], readings: Sequence[Reading]) -> SentenceScore:
    """Sum of log-probabilities."""
    logprobs = np.concatenate([reading.logprobs for reading in readings])
    tokens = tuple(token for probe in probes for _, token in probe.reads)
    return replace(weighted_score(range(len(tokens)), logprobs, np.ones(len(tokens))), tokens=tokens)


MEASURES = (
    Measure(
        name="ll-stereoset",
        title="Log-likelihood by StereoSet's first-token rule",
        reads="share of pairs whose stereotyping sentence is likelier as a whole",
        kinds=("causal",),
        probes=probes,
        score=score,
        in_nats=True,
        citation="nadeem-etal-2021-stereoset",
    ),
)
