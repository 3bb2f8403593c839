"""PPD: probability of the masculine word minus the feminine one in a template's slot (GBEF thesis, 2023).

`ppd` uses raw probabilities, as the thesis does; `ppd-normalised` divides them by the sum over the two words.
If a template has a third word (they), its probability is read too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from unmask.core.types import Measure, Pair, Probe, Probes, Reader, Reading, SentenceScore, Side
from unmask.measures import ll
from unmask.measures.sss import diagonal_probes


def probes(pair: Pair, lm: Reader) -> Probes:
    """The word masked; a causal model scores the whole sentences instead."""
    by_side = _each(pair, lm)
    return {side: (own,) for side, own in by_side.items()} if lm.kind == "masked" else _against(by_side)


def normalised_probes(pair: Pair, lm: Reader) -> Probes:
    """Each word's own probe, followed by those of the words it is compared with."""
    return _against(_each(pair, lm))


def score(probes: Sequence[Probe], readings: Sequence[Reading]) -> SentenceScore:
    """The word's probability, or with several probes its share of their total probability."""
    import numpy as np

    logprobs = readings[0].logprobs
    totals = np.array([float(reading.logprobs.sum()) for reading in readings])
    alone = len(totals) == 1
    value = np.exp(totals[0]) if alone else np.exp(totals[0] - np.logaddexp.reduce(totals))
    shift = 0 if probes[0].masked else 1  # a causal model's read at position i scores token i + 1
    positions = tuple(position + shift for position, _ in probes[0].reads)
    return SentenceScore(float(value), positions, logprobs, np.ones(len(logprobs)))


def _each(pair: Pair, lm: Reader) -> dict[Side, Probe]:
    """One probe per sentence; the third sentence's slot is where it differs from the first."""
    ask = diagonal_probes if lm.kind == "masked" else ll.probes
    both = ask(replace(pair, unrelated=None), lm)
    by_side: dict[Side, Probe] = {side: both[side][0] for side in ("more", "less")}
    if pair.unrelated is not None:
        third = replace(pair, more=pair.unrelated, less=pair.more, unrelated=None)
        by_side["unrelated"] = ask(third, lm)["more"][0]
    return by_side


def _against(by_side: dict[Side, Probe]) -> Probes:
    """The pair's words against each other, the third word against both."""
    more, less = by_side["more"], by_side["less"]
    compared: dict[Side, tuple[Probe, ...]] = {"more": (more, less), "less": (less, more)}
    return compared | ({"unrelated": (by_side["unrelated"], more, less)} if "unrelated" in by_side else {})


PPD = Measure(
    name="ppd",
    title="Average pronoun probability difference",
    reads="probability of the slot's first word minus that of the second, on average",
    kinds=("masked", "causal"),
    probes=probes,
    score=score,
    citation="gbef-2023",
    summary="lean",
    null=0.0,
    needs=("slot",),
)
PPD_NORMALISED = replace(
    PPD,
    name="ppd-normalised",
    title="Average pronoun probability difference, of the two words' total",
    reads="share of the slot's first word minus that of the second, of what both have, on average",
    probes=normalised_probes,
)
