"""CLL: log-likelihood of the shared tokens under a causal model, the autoregressive form of CPS."""

from __future__ import annotations

from unmask.core.errors import Unscorable
from unmask.core.types import Measure, Pair, Probes, Reader
from unmask.measures.probes import next_tokens_probe, next_tokens_score
from unmask.measures.spans import align_pair


def probes(pair: Pair, lm: Reader) -> Probes:
    """Each token the sentences share, conditioned on everything before it in its own sentence."""
    more, less, spans = align_pair(pair, lm)
    by_side: Probes = {
        "more": (next_tokens_probe(more, spans.shared[0]),),
        "less": (next_tokens_probe(less, spans.shared[1]),),
    }
    if not all(probe.reads for (probe,) in by_side.values()):
        raise Unscorable("nothing shared: the sentences have no token in common")
    return by_side


MEASURES = (
    Measure(
        name="cll",
        title="Conditional log-likelihood",
        reads="share of pairs whose shared words are likelier beside the stereotyped group, left to right",
        kinds=("causal",),
        probes=probes,
        score=next_tokens_score,
        in_nats=True,
        reads_spans=True,
        citation="nangia-etal-2020-crows",
    ),
)
