"""AUL: all unmasked likelihood (Kaneko & Bollegala, 2022)."""

from __future__ import annotations

from unmask.core.types import Measure, Pair, Probes, Published, Reader
from unmask.measures.probes import mean_score, pair_probes, unmasked_probe

_TABLE = "Kaneko & Bollegala 2022, Table 5"


def probes(pair: Pair, lm: Reader) -> Probes:
    """Nothing masked; every content token is read at its own position."""
    return pair_probes(pair, lm, unmasked_probe)


AUL = Measure(
    name="aul",
    title="All unmasked likelihood",
    reads="share of pairs whose stereotyping sentence the model reproduces better, nothing masked",
    kinds=("masked",),
    probes=probes,
    score=mean_score,
    citation="kaneko-bollegala-2022-unmasking",
    published=(
        Published(52.92, "bert-base-cased", "crows-pairs", _TABLE),
        Published(62.40, "roberta-large", "crows-pairs", _TABLE),
        Published(53.25, "albert-large-v2", "crows-pairs", _TABLE),
        Published(50.28, "bert-base-cased", "stereoset", _TABLE),
        Published(59.07, "roberta-large", "stereoset", _TABLE),
        Published(58.07, "albert-large-v2", "stereoset", _TABLE),
    ),
)
