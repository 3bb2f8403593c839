"""LL: log-likelihood of a sentence under a causal model."""

from __future__ import annotations

from unmask.core.errors import Unscorable
from unmask.core.types import Measure, Pair, Probes, Reader
from unmask.measures.pll import PLL
from unmask.measures.probes import next_tokens_probe, next_tokens_score, pair_probes


def probes(pair: Pair, lm: Reader) -> Probes:
    """Each token conditioned on those before it; the first only if the model has a begin-of-text token."""
    by_side = pair_probes(pair, lm, lambda sentence: next_tokens_probe(sentence, sentence.content))
    if not all(probe.reads for (probe,) in by_side.values()):
        raise Unscorable("one token only, and no begin-of-text token to read it after")
    return by_side


LL = Measure(
    name="ll",
    title="Log-likelihood",
    reads=PLL.reads,
    kinds=("causal",),
    probes=probes,
    score=next_tokens_score,
    in_nats=True,
    citation="gao-etal-lm-eval",
)
