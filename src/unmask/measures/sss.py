"""SSS: the StereoSet score of sentence pairs (Nadeem et al., 2021, as in Kaneko & Bollegala, 2022)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from unmask.core.types import Encoded, Measure, Pair, Probe, Probes, Published, Reader, Reading, SentenceScore
from unmask.measures.probes import TokenSum, mean_score, shares
from unmask.measures.spans import changed_probes


def grid_probes(pair: Pair, lm: Reader) -> Probes:
    """All changed tokens masked together; each read at every changed position, as published."""
    return changed_probes(pair, lm, _grid)


class GridMean(TokenSum):
    """The mean over the whole position × token grid; a position's part is the mean of its row."""

    def __call__(self, probes: Sequence[Probe], readings: Sequence[Reading]) -> SentenceScore:
        """The score of one sentence and the positions it is made of."""
        import numpy as np

        positions, value = probes[0].masked, super().__call__(probes, readings).value
        rows = readings[0].logprobs.reshape(len(positions), len(positions)).mean(axis=1)
        return SentenceScore(value, positions, rows, np.full(len(positions), 1 / len(positions)))


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
    score=GridMean(shares),
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
