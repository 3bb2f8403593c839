"""SLD: the size of a pair's likelihood difference; its mean is the ASLD of the GBEF thesis (2023)."""

from __future__ import annotations

from dataclasses import replace

from unmask.core.types import Measure, Pair, Probe, Probes, Reader
from unmask.measures import ll, pll
from unmask.measures.probes import next_positions, read_positions, sum_score


def probes(pair: Pair, lm: Reader) -> Probes:
    """The probes of PLL, or of LL for a causal model."""
    return pll.probes(pair, lm) if lm.kind == "masked" else ll.probes(pair, lm)


def positions(probe: Probe) -> tuple[int, ...]:
    """The positions of the tokens read, of either kind of model."""
    return read_positions(probe) if probe.one_at_a_time else next_positions(probe)


SLD = Measure(
    name="sld",
    title="Average sentence likelihood difference",
    reads="mean size of the difference in log-likelihood between the two sentences of a pair",
    kinds=("masked", "causal"),
    probes=probes,
    score=replace(sum_score, positions=positions),  # the table keeps the sign of the difference
    in_nats=True,
    one_at_a_time=True,
    citation="gbef-2023",
    summary="magnitude",
    null=0.0,
)
