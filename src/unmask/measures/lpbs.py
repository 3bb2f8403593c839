"""LPBS: how much a word raises the probability of a man's or a woman's word (Kurita et al., 2019)."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from unmask.core.errors import Unscorable
from unmask.core.types import Encoded, Measure, Pair, Probe, Probes, Reader, Reading, SentenceScore
from unmask.measures import ll
from unmask.measures.spans import align_changed

NEUTRAL = "person"  # what a causal model reads in the place of the word


def probes(pair: Pair, lm: Reader) -> Probes:
    """The target hidden; and again with the word hidden too, which gives the target's prior."""
    if lm.kind == "causal":
        return _sentences(pair, lm)
    more, less, found = align_changed(pair, lm)
    both = ((pair.more, more, found.changed[0]), (pair.less, less, found.changed[1]))
    made = [_asked(one, target, lm.token_positions(text, *_span(text, pair))) for text, one, target in both]
    return {"more": made[0], "less": made[1]}


def score(probes: Sequence[Probe], readings: Sequence[Reading]) -> SentenceScore:
    """The log-ratio of P(target | the word) and P(target | no word), token by token of the target."""
    if not probes[0].masked:
        return _compared(probes, readings)
    half = len(readings) // 2
    ratios = np.array(
        [
            float(seen.logprobs[0] - prior.logprobs[0])
            for seen, prior in zip(readings[:half], readings[half:], strict=True)
        ]
    )
    places = tuple(probe.reads[0][0] for probe in probes[:half])
    return SentenceScore(float(ratios.sum()), places, ratios, np.ones(half))


def _asked(sentence: Encoded, target: tuple[int, ...], word: tuple[int, ...]) -> tuple[Probe, ...]:
    """A target of several tokens is asked from left to right: those already read are shown."""
    if not word or set(word) & set(target):
        raise Unscorable("no word: it has no tokens apart from those of the target")
    steps = [target[step:] for step in range(len(target))]
    return tuple(_read(sentence, hidden) for extra in ((), word) for hidden in _with(steps, extra))


def _with(steps: Sequence[tuple[int, ...]], word: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [(*step, *word) for step in steps]


def _read(sentence: Encoded, hidden: tuple[int, ...]) -> Probe:
    """The first of the hidden places is read."""
    return Probe(sentence.ids, ((hidden[0], sentence.ids[hidden[0]]),), tuple(sorted(hidden)))


def _span(text: str, pair: Pair) -> tuple[int, int]:
    """Where the word stands in the sentence."""
    found = re.search(rf"(?<!\w){re.escape(pair.groups['word'])}(?!\w)", text, re.IGNORECASE)
    if found is None:
        raise Unscorable("no word: the sentence does not have it as it is spelt")
    return found.span()


def _sentences(pair: Pair, lm: Reader) -> Probes:
    """Both sentences whole, and both about a person instead."""
    plain = Pair(pair.id, _about_a_person(pair.more, pair), _about_a_person(pair.less, pair))
    own, prior = ll.probes(pair, lm), ll.probes(plain, lm)
    return {"more": (*own["more"], *prior["more"]), "less": (*own["less"], *prior["less"])}


def _about_a_person(text: str, pair: Pair) -> str:
    begin, end = _span(text, pair)
    before = re.sub(r"\b([Aa])n (?=$)", r"\1 ", text[:begin])
    return before + NEUTRAL + text[end:]


def _compared(probes: Sequence[Probe], readings: Sequence[Reading]) -> SentenceScore:
    own, prior = (reading.logprobs for reading in readings)
    places = tuple(place + 1 for place, _ in probes[0].reads)
    return SentenceScore(float(own.sum() - prior.sum()), places, own, np.ones(len(own)))


MEASURES = (
    Measure(
        name="lpbs",
        title="Log-probability bias score",
        reads="how much more a word raises the probability of the masculine target than of the feminine one",
        kinds=("masked", "causal"),
        probes=probes,
        score=score,
        citation="kurita-etal-2019-measuring",
        summary="association",
        null=0.0,
        needs=("slot", "word"),
    ),
)
