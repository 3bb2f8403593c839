"""PLL: pseudo-log-likelihood of a sentence (Salazar et al., 2020)."""

from __future__ import annotations

from unmask.core.types import Measure, Pair, Probes, Reader
from unmask.measures.probes import each_masked_probe, pair_probes, sum_score


def probes(pair: Pair, lm: Reader) -> Probes:
    """Each content token masked one at a time."""
    return pair_probes(pair, lm, lambda sentence: each_masked_probe(sentence, sentence.content))


PLL = Measure(
    name="pll",
    title="Pseudo-log-likelihood",
    reads="share of pairs whose stereotyping sentence is likelier as a whole",
    kinds=("masked",),
    probes=probes,
    score=sum_score,
    in_nats=True,
    one_at_a_time=True,
    citation="salazar-etal-2020-masked",
)
