"""All-Masked: what is left of a preference when the model sees only masks (Kaneko & Bollegala, 2022)."""

from __future__ import annotations

from unmask.core.types import Measure, Pair, Probes, Reader
from unmask.measures.probes import all_masked_probe, mean_score, pair_probes


def probes(pair: Pair, lm: Reader) -> Probes:
    """Every content token masked at once."""
    return pair_probes(pair, lm, all_masked_probe)


ALL_MASKED = Measure(
    name="all-masked",
    title="All tokens masked",
    reads="share of pairs whose stereotyping sentence is likelier with every word masked: a baseline, not a bias",
    kinds=("masked",),
    probes=probes,
    score=mean_score,
    citation="kaneko-bollegala-2022-unmasking",
    baseline=True,
)
