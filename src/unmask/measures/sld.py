"""SLD: the size of a pair's likelihood difference; its mean is the ASLD of the GBEF thesis (2023)."""

from __future__ import annotations

from collections.abc import Sequence

from unmask.core.types import Measure, Pair, Probe, Probes, Reader, Reading, SentenceScore
from unmask.measures import ll, pll
from unmask.measures.probes import next_tokens_score, sum_score


def probes(pair: Pair, lm: Reader) -> Probes:
    """The probes of PLL, or of LL for a causal model."""
    return pll.probes(pair, lm) if lm.kind == "masked" else ll.probes(pair, lm)


def score(probes: Sequence[Probe], readings: Sequence[Reading]) -> SentenceScore:
    """The sentence's (pseudo-)log-likelihood; the table keeps the sign of the difference."""
    return sum_score(probes, readings) if probes[0].one_at_a_time else next_tokens_score(probes, readings)


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
