"""PPD: the probability of a man's word less a woman's, in a template's slot (GBEF thesis, 2023).

`ppd` takes the probabilities as they are, as the thesis does; `ppd-normalised` divides them by what the two
words have together. A template with a third word (they) has its probability read too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unmask.core.types import Measure, Pair, Probe, Probes, Reader, Reading, SentenceScore, Side
from unmask.measures import ll, sss


def probes(pair: Pair, lm: Reader) -> Probes:
    """The word hidden; a causal model reads the sentences whole and is asked which is likelier."""
    asked = _each(pair, lm)
    return {side: (own,) for side, own in asked.items()} if lm.kind == "masked" else _against(asked)


def normalised_probes(pair: Pair, lm: Reader) -> Probes:
    """Every word's own probe, then those of the words it is set against."""
    return _against(_each(pair, lm))


def score(probes: Sequence[Probe], readings: Sequence[Reading]) -> SentenceScore:
    """A probability: of the word at its place, or its share of what all that were asked have together."""
    logprobs = readings[0].logprobs
    totals = np.array([float(reading.logprobs.sum()) for reading in readings])
    alone = len(totals) == 1
    value = np.exp(totals[0]) if alone else np.exp(totals[0] - np.logaddexp.reduce(totals))
    shift = 0 if probes[0].masked else 1  # a causal model's read speaks of the token after its place
    places = tuple(place + shift for place, _ in probes[0].reads)
    return SentenceScore(float(value), places, logprobs, np.ones(len(logprobs)))


def _each(pair: Pair, lm: Reader) -> dict[Side, Probe]:
    """One probe for each sentence; the third sentence's slot is where it differs from the first."""
    ask = sss.diagonal_probes if lm.kind == "masked" else ll.probes
    both = ask(replace(pair, unrelated=None), lm)
    asked: dict[Side, Probe] = {side: both[side][0] for side in ("more", "less")}
    if pair.unrelated is not None:
        third = replace(pair, more=pair.unrelated, less=pair.more, unrelated=None)
        asked["unrelated"] = ask(third, lm)["more"][0]
    return asked


def _against(asked: dict[Side, Probe]) -> Probes:
    """The pair's words against each other; the third against both."""
    more, less = asked["more"], asked["less"]
    found: dict[Side, tuple[Probe, ...]] = {"more": (more, less), "less": (less, more)}
    return found | ({"unrelated": (asked["unrelated"], more, less)} if "unrelated" in asked else {})


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
    Measure(
        name="ppd-normalised",
        title="Average pronoun probability difference, of the two words' total",
        reads="share of the masculine word less that of the feminine one, of what both have, on average",
        kinds=("masked", "causal"),
        probes=normalised_probes,
        score=score,
        citation="gbef-2023",
        summary="lean",
        null=0.0,
        needs=("slot",),
    ),
)
