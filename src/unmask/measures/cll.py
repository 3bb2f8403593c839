"""CLL: the tokens two sentences share, given their prefix; CPS for causal models."""

from __future__ import annotations

from unmask.core.types import Measure, Pair, Probes, Reader
from unmask.measures.probes import next_tokens_probe, next_tokens_score
from unmask.measures.spans import shared_probes


def probes(pair: Pair, lm: Reader) -> Probes:
    """Each token the sentences share, conditioned on everything before it in its own sentence.

    If they differ only after the last of these, both are scored by one input: two inputs would differ in the
    last digits by the batches they are in, where the scores are equal.
    """
    asked = shared_probes(pair, lm, next_tokens_probe)
    (more,), (less,) = asked["more"], asked["less"]
    end = more.reads[-1][0] + 1
    is_tie = (more.reads, more.ids[:end]) == (less.reads, less.ids[:end])
    return {"more": (more,), "less": (more,)} if is_tie else asked


CLL = Measure(
    name="cll",
    title="Conditional log-likelihood",
    reads="share of pairs whose shared words are likelier beside the stereotyped group, left to right",
    kinds=("causal",),
    probes=probes,
    score=next_tokens_score,
    in_nats=True,
    reads_spans=True,
    citation="nangia-etal-2020-crows",
)
