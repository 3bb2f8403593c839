"""CPS: the CrowS-Pairs score (Nangia et al., 2020)."""

from __future__ import annotations

from dataclasses import replace

from unmask.core.types import Measure, Pair, Probes, Published, Reader
from unmask.measures.probes import each_masked_probe, sum_score
from unmask.measures.spans import shared_probes


def probes(pair: Pair, lm: Reader) -> Probes:
    """Each token the two sentences share, masked one at a time; changed tokens stay visible."""
    return shared_probes(pair, lm, each_masked_probe)


_NANGIA, _KANEKO = "Nangia et al. 2020", "Kaneko & Bollegala 2022, Table 5"
_PROMPTS = "Exploring Social Bias Through Prompt Learning 2023, Table III"
CPS = Measure(
    name="cps",
    title="CrowS-Pairs score",
    reads="share of pairs whose shared words are likelier beside the stereotyped group",
    kinds=("masked",),
    probes=probes,
    score=sum_score,
    in_nats=True,
    one_at_a_time=True,
    reads_spans=True,
    citation="nangia-etal-2020-crows",
    decimals=3,
    published=(
        Published(60.5, "bert-base-uncased", "crows-pairs", _NANGIA),
        Published(64.1, "roberta-large", "crows-pairs", _NANGIA),
        Published(67.0, "albert-xxlarge-v2", "crows-pairs", _NANGIA),
        Published(60.48, "bert-base-uncased", "crows-pairs", _PROMPTS),
        Published(65.45, "roberta-large", "crows-pairs", _PROMPTS),
        Published(67.04, "albert-xxlarge-v2", "crows-pairs", _PROMPTS),
        Published(58.62, "bert-base-cased", "crows-pairs", _KANEKO),
        Published(65.45, "roberta-large", "crows-pairs", _KANEKO),
        Published(60.41, "albert-large-v2", "crows-pairs", _KANEKO),
    ),
)
CPS_EXACT = replace(
    CPS, name="cps-exact", title="CrowS-Pairs score, compared without rounding", decimals=None, published=()
)
