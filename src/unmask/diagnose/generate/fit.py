"""Does a replacement fit? Asked of the model: in both sentences, beside the word it replaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unmask.audit.session import Session
from unmask.core.errors import Unscorable
from unmask.core.types import Pair, Probe
from unmask.diagnose.generate.states import WordInText, unit_vectors
from unmask.diagnose.generate.targets import Span, Target
from unmask.models import Lm

SIDES = ("more", "less")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A word that may take a target's place, and where it comes from."""

    pair: Pair
    target: Target
    word: str
    source: str  # wordnet, wordnet-near, model

    def with_replacement(self, side: str) -> WordInText:
        """The sentence with the word in the target's place, and where it stands."""
        text, span = self.original(side)
        return _with(text, span, self.word)

    def original(self, side: str) -> WordInText:
        """The sentence as it was, and where the target stands."""
        pair, target = self.pair, self.target
        return (pair.more, target.more) if side == "more" else (pair.less, target.less)


def plausibility(session: Session, candidates: Sequence[Candidate], what: str) -> list[float]:
    """How much likelier each word is than the one it replaces, in nats, where it fits less well.

    All tokens of a word are hidden together, so words of equally many tokens share a question.
    """
    words = {
        word
        for candidate in candidates
        for side in SIDES
        for word in (candidate.with_replacement(side), candidate.original(side))
    }
    session.lm.prime(sorted({text for text, _ in words}))
    probes = {word: _probe(*word, session.lm) for word in sorted(words)}
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
    """Cosine of the hidden states of a word and of the one it replaces, where they are less alike.

    Words are compared inside their sentences: the mean over a whole sentence hardly moves by one word.
    """
    words = {
        word
        for candidate in candidates
        for side in SIDES
        for word in (candidate.with_replacement(side), candidate.original(side))
    }
    order = sorted(words)
    vector = dict(zip(order, unit_vectors(lm, order), strict=True))
    return [
        min(
            float(vector[candidate.with_replacement(side)] @ vector[candidate.original(side)])
            for side in SIDES
        )
        for candidate in candidates
    ]


def _with(text: str, span: Span, word: str) -> WordInText:
    return text[: span[0]] + word + text[span[1] :], (span[0], span[0] + len(word))


def _probe(text: str, span: Span, lm: Lm) -> Probe | None:
    """The word's tokens, all hidden; None where the sentence has grown too long for the model."""
    positions = lm.token_positions(text, *span)
    try:
        ids = lm.encode(text).ids
    except Unscorable:
        return None
    masked = tuple(lm.mask_id if position in positions else token for position, token in enumerate(ids))
    return Probe(masked, tuple((position, ids[position]) for position in positions))
