"""LL: log-likelihood of a sentence under a causal model."""

from __future__ import annotations

from unmask.core.errors import Unscorable
from unmask.core.types import Measure, Pair, Probes, Reader, Side
from unmask.measures.probes import next_tokens_probe, next_tokens_score


def probes(pair: Pair, lm: Reader) -> Probes:
    """Each token conditioned on those before it; the first only if the model has a begin-of-text token."""
    sides: dict[Side, str] = {"more": pair.more, "less": pair.less}
    by_side = {
        side: (next_tokens_probe(lm.encode(text), lm.encode(text).content),) for side, text in sides.items()
    }
    if not all(probe.reads for (probe,) in by_side.values()):
        raise Unscorable("one token only, and no begin-of-text token to read it after")
    return by_side


MEASURES = (
    Measure(
        name="ll",
        title="Log-likelihood",
        reads="share of pairs whose stereotyping sentence is likelier as a whole",
        kinds=("causal",),
        probes=probes,
        score=next_tokens_score,
        in_nats=True,
        citation="gao-etal-lm-eval",
    ),
)
