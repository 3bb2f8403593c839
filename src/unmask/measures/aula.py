"""AULA: all unmasked likelihood with attention weights (Kaneko & Bollegala, 2022)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from unmask.core.types import Floats, Measure, Pair, Probe, Probes, Published, Reader, Reading, SentenceScore
from unmask.measures.probes import pair_probes, unmasked_probe, weighted_score

_TABLE = "Kaneko & Bollegala 2022, Table 5"


def probes(pair: Pair, lm: Reader) -> Probes:
    """Nothing masked; reads every content token and the attention each position receives."""
    return pair_probes(pair, lm, partial(unmasked_probe, attention=True))


def score(probes: Sequence[Probe], readings: Sequence[Reading]) -> SentenceScore:
    """Mean of attention × log-probability; attention is not renormalised over the content, as published."""
    positions, attention = _attention(probes[0], readings[0])
    return weighted_score(positions, readings[0].logprobs, attention / len(positions))


def normalised_score(probes: Sequence[Probe], readings: Sequence[Reading]) -> SentenceScore:
    """Mean of log-probabilities weighted by attention, weights summing to one over the content."""
    positions, attention = _attention(probes[0], readings[0])
    return weighted_score(positions, readings[0].logprobs, attention / attention.sum())


def _attention(probe: Probe, reading: Reading) -> tuple[tuple[int, ...], Floats]:
    assert reading.attention_received is not None
    positions = tuple(position for position, _ in probe.reads)
    return positions, reading.attention_received[np.array(positions)]


AULA = Measure(
    name="aula",
    title="All unmasked likelihood with attention weights",
    reads="share of pairs whose stereotyping sentence the model reproduces better, weighted by attention",
    kinds=("masked",),
    probes=probes,
    score=score,
    citation="kaneko-bollegala-2022-unmasking",
    published=(
        Published(54.05, "bert-base-cased", "crows-pairs", _TABLE),
        Published(59.48, "roberta-large", "crows-pairs", _TABLE),
        Published(53.05, "albert-large-v2", "crows-pairs", _TABLE),
        Published(51.38, "bert-base-cased", "stereoset", _TABLE),
        Published(55.98, "roberta-large", "stereoset", _TABLE),
        Published(58.31, "albert-large-v2", "stereoset", _TABLE),
    ),
)
AULA_NORMALISED = replace(
    AULA,
    name="aula-normalised",
    title="All unmasked likelihood with attention weights that sum to one",
    score=normalised_score,
    published=(),
)
