"""Plausibility and similarity of a replacement under the model, in both sentences of a pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask.audit.session import Session
from unmask.core.errors import Unscorable
from unmask.core.types import Floats, Pair, Probe
from unmask.data.occurrences import Span
from unmask.diagnose.generate.targets import Target
from unmask.models import Lm
from unmask.models.states import mean_states
from unmask.vectors.contextual import WordInText

SIDES = ("more", "less")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A replacement candidate for a target, and its source."""

    pair: Pair
    target: Target
    word: str
    source: str  # wordnet, wordnet-near, model

    def with_replacement(self, side: str) -> WordInText:
        """The sentence with the target replaced, and the character span of the replacement."""
        text, (begin, end) = self.original(side)
        return text[:begin] + self.word + text[end:], (begin, begin + len(self.word))

    def original(self, side: str) -> WordInText:
        """The original sentence, and the character span of the target."""
        pair, target = self.pair, self.target
        return (pair.more, target.more) if side == "more" else (pair.less, target.less)


def plausibility(session: Session, candidates: Sequence[Candidate], what: str) -> list[float]:
    """Log-probability of each word minus that of the original word; the lower of the two sentences.

    All tokens of a word are masked together, so words of equally many tokens share an input.
    """
    words = _words(candidates)
    session.lm.prime(sorted({text for text, _ in words}))
    probes = {word: _probe(*word, session.lm) for word in words}
    answers = session.read([probe for probe in probes.values() if probe is not None], what)
    totals = {
        word: float("-inf") if probe is None else float(answers[probe].logprobs.sum())
        for word, probe in probes.items()
    }
    return [
        min(totals[candidate.with_replacement(side)] - totals[candidate.original(side)] for side in SIDES)
        for candidate in candidates
    ]


def similarity(lm: Lm, candidates: Sequence[Candidate]) -> list[float]:
    """Cosine of the hidden states of a word and the original word; the lower of the two sentences.

    Words are compared in context: the mean over a whole sentence hardly changes with one word.
    """
    words = _words(candidates)
    vector = dict(zip(words, unit_vectors(lm, words), strict=True))
    return [
        min(
            float(vector[candidate.with_replacement(side)] @ vector[candidate.original(side)])
            for side in SIDES
        )
        for candidate in candidates
    ]


def unit_vectors(lm: Lm, words: Sequence[WordInText]) -> list[Floats]:
    """Mean hidden state over the tokens of each word in its sentence, normalised to length one."""
    rows = [lm.encode(text).ids for text, _ in words]
    positions = [lm.token_positions(text, *span) for text, span in words]
    return [vector / np.linalg.norm(vector) for vector in mean_states(lm, rows, positions)]


def _words(candidates: Sequence[Candidate]) -> list[WordInText]:
    """All replacements and all original words, in their sentences."""
    both = [(each.with_replacement(side), each.original(side)) for each in candidates for side in SIDES]
    return sorted({word for pair in both for word in pair})


def _probe(text: str, span: Span, lm: Lm) -> Probe | None:
    """Probe of the word with all its tokens masked; None if the sentence is too long for the model."""
    positions = lm.token_positions(text, *span)
    try:
        ids = lm.encode(text).ids
    except Unscorable:
        return None
    masked = tuple(lm.mask_id if position in positions else token for position, token in enumerate(ids))
    return Probe(masked, tuple((position, ids[position]) for position in positions))
