"""PPD: the probability of a man's pronoun less a woman's, in a template's slot (GBEF thesis, 2023)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unmask.measures import ll, sss
from unmask.types import Measure, Pair, Probe, Probes, Reader, Reading, SentenceScore


def probes(pair: Pair, lm: Reader) -> Probes:
    """The pronoun hidden; a causal model reads both sentences whole and is asked which is likelier."""
    if lm.kind == "masked":
        return sss.diagonal_probes(pair, lm)
    both = ll.probes(pair, lm)
    return {"more": (*both["more"], *both["less"]), "less": (*both["less"], *both["more"])}


def score(probes: Sequence[Probe], readings: Sequence[Reading]) -> SentenceScore:
    """A probability: of the pronoun at its place, or of the sentence against the other one."""
    logprobs = readings[0].logprobs
    logit = float(logprobs.sum())
    if len(readings) == 1:
        value, places = np.exp(logit), [place for place, _ in probes[0].reads]
    else:
        value, places = _share(logit - float(readings[1].logprobs.sum())), [p + 1 for p, _ in probes[0].reads]
    return SentenceScore(float(value), tuple(places), logprobs, np.ones(len(logprobs)))


def _share(logit: float) -> float:
    return float(1 / (1 + np.exp(-logit))) if logit > 0 else float(np.exp(logit) / (1 + np.exp(logit)))


MEASURES = (
    Measure(
        name="ppd",
        title="Average pronoun probability difference",
        reads="probability of the masculine word in the slot less that of the feminine one, on average",
        kinds=("masked", "causal"),
        probes=probes,
        score=score,
        citation="gbef-2023",
        summary="lean",
        null=0.0,
        needs=("slot",),
    ),
)
