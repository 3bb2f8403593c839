"""LPBS: how much a word raises the probability of a man's or a woman's word (Kurita et al., 2019)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from unmask.core.errors import Unscorable
from unmask.core.types import Measure, Pair, Probe, Probes, Reader, Reading, SentenceScore
from unmask.measures import ll
from unmask.measures.spans import align_changed

NEUTRAL = "person"  # replaces the word for causal models, to estimate the prior


def probes(pair: Pair, lm: Reader) -> Probes:
    """The target masked; then target and word both masked, which gives the target's prior."""
    if lm.kind == "causal":
        return _sentences(pair, lm)
    more, less, spans = align_changed(pair, lm)
    both = ((pair.more, more, spans.changed[0]), (pair.less, less, spans.changed[1]))
    sides = [
        _target_probes(encoded.ids, target, lm.token_positions(text, *_span(text, pair)))
        for text, encoded, target in both
    ]
    return {"more": sides[0], "less": sides[1]}


def score(probes: Sequence[Probe], readings: Sequence[Reading]) -> SentenceScore:
    """The log-ratio of P(target | the word) and P(target | no word), token by token of the target."""
    import numpy as np

    if not probes[0].masked:
        own, before = (reading.logprobs for reading in readings)
        after = tuple(position + 1 for position, _ in probes[0].reads)
        return SentenceScore(float(own.sum() - before.sum()), after, own, np.ones(len(own)))
    half = len(readings) // 2
    first = np.array([float(reading.logprobs[0]) for reading in readings])
    ratios = first[:half] - first[half:]
    positions = tuple(probe.reads[0][0] for probe in probes[:half])
    return SentenceScore(float(ratios.sum()), positions, ratios, np.ones(half))


def _target_probes(ids: tuple[int, ...], target: tuple[int, ...], word: tuple[int, ...]) -> tuple[Probe, ...]:
    """Tokens of a target are read from left to right; those already read stay visible."""
    if not word or set(word) & set(target):
        raise Unscorable("no word: it has no tokens apart from those of the target")
    steps = [(*target[step:], *extra) for extra in ((), word) for step in range(len(target))]
    return tuple(Probe(ids, ((masked[0], ids[masked[0]]),), tuple(sorted(masked))) for masked in steps)


def _span(text: str, pair: Pair) -> tuple[int, int]:
    """Character span of the word in the sentence."""
    match = re.search(rf"(?<!\w){re.escape(pair.groups['word'])}(?!\w)", text, re.IGNORECASE)
    if match is None:
        raise Unscorable("no word: it does not occur in the sentence as spelt")
    return match.span()


def _sentences(pair: Pair, lm: Reader) -> Probes:
    """Both sentences, and both with the word replaced by `NEUTRAL`."""
    plain = Pair(pair.id, _with_neutral_word(pair.more, pair), _with_neutral_word(pair.less, pair))
    own, prior = ll.probes(pair, lm), ll.probes(plain, lm)
    return {"more": (*own["more"], *prior["more"]), "less": (*own["less"], *prior["less"])}


def _with_neutral_word(text: str, pair: Pair) -> str:
    begin, end = _span(text, pair)
    before = re.sub(r"\b([Aa])n (?=$)", r"\1 ", text[:begin])
    return before + NEUTRAL + text[end:]


LPBS = Measure(
    name="lpbs",
    title="Log-probability bias score",
    reads="how much more a word raises the probability of the slot's first word than of the second",
    kinds=("masked", "causal"),
    probes=probes,
    score=score,
    citation="kurita-etal-2019-measuring",
    summary="association",
    null=0.0,
    needs=("slot", "word"),
)
