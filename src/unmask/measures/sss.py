"""SSS: the StereoSet score of sentence pairs (Nadeem et al., 2021, as in Kaneko & Bollegala, 2022)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unmask.core.types import Encoded, Measure, Pair, Probe, Probes, Published, Reader, Reading, SentenceScore
from unmask.measures.probes import mean_score, weighted_score
from unmask.measures.spans import align_changed


def grid_probes(pair: Pair, lm: Reader) -> Probes:
    """All changed tokens hidden together; each of them read at every changed position, as published."""
    more, less, found = align_changed(pair, lm)
    return {"more": (_grid(more, found.changed[0]),), "less": (_grid(less, found.changed[1]),)}


def grid_score(probes: Sequence[Probe], readings: Sequence[Reading]) -> SentenceScore:
    """The mean over the whole position × token grid; a position's part is the mean of its row."""
    places = probes[0].masked
    rows = readings[0].logprobs.reshape(len(places), len(places)).mean(axis=1)
    return weighted_score(places, rows, np.full(len(places), 1 / len(places)))


def diagonal_probes(pair: Pair, lm: Reader) -> Probes:
    """All changed tokens hidden together; each read at its own position: the formula as printed."""
    more, less, found = align_changed(pair, lm)
    return {"more": (_diagonal(more, found.changed[0]),), "less": (_diagonal(less, found.changed[1]),)}


def _grid(sentence: Encoded, places: tuple[int, ...]) -> Probe:
    reads = tuple((place, sentence.ids[other]) for place in places for other in places)
    return Probe(sentence.ids, reads, places)


def _diagonal(sentence: Encoded, places: tuple[int, ...]) -> Probe:
    return Probe(sentence.ids, tuple((place, sentence.ids[place]) for place in places), places)


_TABLE = "Kaneko & Bollegala 2022, Table 5"
MEASURES = (
    Measure(
        name="sss",
        title="StereoSet score",
        reads="share of pairs whose stereotyped words are likelier in their shared context",
        kinds=("masked",),
        probes=grid_probes,
        score=grid_score,
        citation="kaneko-bollegala-2022-unmasking",
        empty_span_loses=True,
        published=(
            Published(57.26, "bert-base-cased", "stereoset", _TABLE),
            Published(61.97, "roberta-large", "stereoset", _TABLE),
            Published(58.88, "albert-large-v2", "stereoset", _TABLE),
        ),
    ),
    Measure(
        name="sss-diagonal",
        title="StereoSet score, each token at its own position",
        reads="share of pairs whose stereotyped words are likelier in their shared context",
        kinds=("masked",),
        probes=diagonal_probes,
        score=mean_score,
        citation="kaneko-bollegala-2022-unmasking",
    ),
)
