"""CLL: log-likelihood of the shared tokens under a causal model, the autoregressive form of CPS."""

from __future__ import annotations

from unmask.core.errors import Unscorable
from unmask.core.types import Measure, Pair, Probes, Reader
from unmask.measures.probes import next_tokens_probe, next_tokens_score
from unmask.measures.spans import align_pair


def probes(pair: Pair, lm: Reader) -> Probes:
    """The tokens both sentences share, each given all that precedes it in its own sentence."""
    more, less, found = align_pair(pair, lm)
    asked: Probes = {
        "more": (next_tokens_probe(more, found.shared[0]),),
        "less": (next_tokens_probe(less, found.shared[1]),),
    }
    if not all(probe.reads for (probe,) in asked.values()):
        raise Unscorable("nothing shared: the sentences have no token in common")
    return asked


MEASURES = (
    Measure(
        name="cll",
        title="Conditional log-likelihood",
        reads="share of pairs whose shared words are likelier beside the stereotyped group, left to right",
        kinds=("causal",),
        probes=probes,
        score=next_tokens_score,
        in_nats=True,
        citation="nangia-etal-2020-crows",
    ),
)
