"""Likelihood of whole sentences.

PLL: pseudo-log-likelihood of a masked model (Salazar et al., 2020). LL: log-likelihood of a causal model.
SLD: the size of a pair's likelihood difference; its mean is the ASLD of the GBEF thesis (2023).
"""

from __future__ import annotations

from collections.abc import Sequence

from unmask.core.errors import Unscorable
from unmask.core.types import Measure, Pair, Probe, Probes, Reader, Reading, SentenceScore
from unmask.measures.probes import (
    each_masked_probe,
    next_tokens_probe,
    next_tokens_score,
    pair_probes,
    sum_score,
)


def pll_probes(pair: Pair, lm: Reader) -> Probes:
    """Each content token masked one at a time."""
    return pair_probes(pair, lm, lambda sentence: each_masked_probe(sentence, sentence.content))


def ll_probes(pair: Pair, lm: Reader) -> Probes:
    """Each token conditioned on those before it; the first only if the model has a begin-of-text token."""
    by_side = pair_probes(pair, lm, lambda sentence: next_tokens_probe(sentence, sentence.content))
    if not all(probe.reads for (probe,) in by_side.values()):
        raise Unscorable("one token only, and no begin-of-text token to read it after")
    return by_side


def probes(pair: Pair, lm: Reader) -> Probes:
    """The probes of PLL, or of LL for a causal model."""
    return pll_probes(pair, lm) if lm.kind == "masked" else ll_probes(pair, lm)


def score(probes: Sequence[Probe], readings: Sequence[Reading]) -> SentenceScore:
    """The sentence's (pseudo-)log-likelihood; the table keeps the sign of the difference."""
    return sum_score(probes, readings) if probes[0].one_at_a_time else next_tokens_score(probes, readings)


PLL = Measure(
    name="pll",
    title="Pseudo-log-likelihood",
    reads="share of pairs whose stereotyping sentence is likelier as a whole",
    kinds=("masked",),
    probes=pll_probes,
    score=sum_score,
    in_nats=True,
    one_at_a_time=True,
    citation="salazar-etal-2020-masked",
)
LL = Measure(
    name="ll",
    title="Log-likelihood",
    reads=PLL.reads,
    kinds=("causal",),
    probes=ll_probes,
    score=next_tokens_score,
    in_nats=True,
    citation="gao-etal-lm-eval",
)
SLD = Measure(
    name="sld",
    title="Average sentence likelihood difference",
    reads="mean size of the difference in log-likelihood between the two sentences of a pair",
    kinds=("masked", "causal"),
    probes=probes,
    score=score,
    in_nats=True,
    one_at_a_time=True,
    citation="gbef-2023",
    summary="magnitude",
    null=0.0,
)
