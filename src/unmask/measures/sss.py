"""SSS: the StereoSet score of sentence pairs (Nadeem et al., 2021, as in Kaneko & Bollegala, 2022)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unmask.core.types import Encoded, Measure, Pair, Probe, Probes, Published, Reader, Reading, SentenceScore
from unmask.measures.probes import mean_score, weighted_score
from unmask.measures.spans import changed_probes


def grid_probes(pair: Pair, lm: Reader) -> Probes:
    """All changed tokens masked together; each read at every changed position, as published."""
    return changed_probes(pair, lm, _grid)


def grid_score(probes: Sequence[Probe], readings: Sequence[Reading]) -> SentenceScore:
    """The mean over the whole position × token grid; a position's part is the mean of its row."""
    positions = probes[0].masked
    rows = readings[0].logprobs.reshape(len(positions), len(positions)).mean(axis=1)
    return weighted_score(positions, rows, np.full(len(positions), 1 / len(positions)))


def diagonal_probes(pair: Pair, lm: Reader) -> Probes:
    """All changed tokens masked together; each read at its own position: the formula as printed."""
    return changed_probes(pair, lm, _diagonal)


def _grid(sentence: Encoded, positions: tuple[int, ...]) -> Probe:
    reads = tuple((position, sentence.ids[other]) for position in positions for other in positions)
    return Probe(sentence.ids, reads, positions)


def _diagonal(sentence: Encoded, positions: tuple[int, ...]) -> Probe:
    return Probe(sentence.ids, tuple((position, sentence.ids[position]) for position in positions), positions)


_TABLE = "Kaneko & Bollegala 2022, Table 5"
SSS = Measure(
    name="sss",
    title="StereoSet score",
    reads="share of pairs whose stereotyped words are likelier in their shared context",
    kinds=("masked",),
    probes=grid_probes,
    score=grid_score,
    reads_spans=True,
    citation="kaneko-bollegala-2022-unmasking",
    empty_span_loses=True,
    published=(
        Published(57.26, "bert-base-cased", "stereoset", _TABLE),
        Published(61.97, "roberta-large", "stereoset", _TABLE),
        Published(58.88, "albert-large-v2", "stereoset", _TABLE),
    ),
)
SSS_DIAGONAL = replace(
    SSS,
    name="sss-diagonal",
    title="StereoSet score, each token at its own position",
    probes=diagonal_probes,
    score=mean_score,
    empty_span_loses=False,
    published=(),
)
