"""What bias-bench publishes under the name CrowS-Pairs (Meade et al., 2022); not CPS."""

from __future__ import annotations

from unmask.core.types import Measure, Pair, Probes, Reader
from unmask.measures.probes import each_masked_probe, mean_score
from unmask.measures.spans import changed_probes


def probes(pair: Pair, lm: Reader) -> Probes:
    """Each changed token masked one at a time; the other changed tokens stay visible."""
    return changed_probes(pair, lm, each_masked_probe)


CROWS_BIAS_BENCH = Measure(
    name="crows-bias-bench",
    title="bias-bench's CrowS-Pairs",
    reads="share of pairs whose stereotyped words are likelier in their sentence",
    kinds=("masked",),
    probes=probes,
    score=mean_score,
    one_at_a_time=True,
    reads_spans=True,
    citation="meade-etal-2022-empirical",
    decimals=3,
)
